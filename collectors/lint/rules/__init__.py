"""The rules, in the order in which faults are told and corrected."""

from collectors.lint.query import Rule
from collectors.lint.rules import hit_ratios, metric_names, quantiles, rates, surroundings

RULES: tuple[Rule, ...] = (
    *metric_names.RULES,
    *hit_ratios.RULES,
    *rates.RULES,
    *quantiles.RULES,
    *surroundings.RULES,
)

UNPARSABLE = "unparsable"
"""The code of a query that Prometheus would refuse; its sentence is the parser's."""
