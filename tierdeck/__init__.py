"""The vocabulary: pure types and arithmetic that every process shares; no I/O but reading settings."""
