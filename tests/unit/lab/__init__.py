"""Tests of the lab's pure parts."""
