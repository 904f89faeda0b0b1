"""Tests against the real fleet: `make test-live`. A plain `make test` does not collect them."""
