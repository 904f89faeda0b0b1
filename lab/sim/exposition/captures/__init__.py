"""Expositions that were recorded or composed; the simulated processes take their shape from them."""
