"""Tests: pure ones, contracts, real databases and HTTP, a real browser; documents and benchmarks."""
