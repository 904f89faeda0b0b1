"""Alerting, the pure part."""
