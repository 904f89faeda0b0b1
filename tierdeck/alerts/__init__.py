"""Alerting's vocabulary: rules, what judges them, how an alert lives, what caused it, what is said of it. Pure."""
