"""Tests over real HTTP, real databases and real processes."""
