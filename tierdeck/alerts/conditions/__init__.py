"""Detectors that judge a state rather than a ratio: what is lost, full, failing, late, or silent."""
