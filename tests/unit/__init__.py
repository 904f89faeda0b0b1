"""Tests of pure code; the folders mirror the packages."""
