"""A small fleet of real processes: vLLM on the CPU, LMCache, vllm-router, on a model made on the spot."""
