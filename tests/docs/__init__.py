"""Tests that hold the documents against the code, and the generators of those that are made from it."""
