"""Tests of the vocabulary of changes."""
