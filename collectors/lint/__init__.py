"""Faults of Grafana boards and PromQL rule files: what reads them, the rules, and the corrected queries."""
