"""Quantities of Kubernetes, such as `16Gi` and `500m`, as numbers."""

from __future__ import annotations

from decimal import Decimal

from kubernetes.utils import quantity as upstream


def quantity(value: object) -> Decimal | None:
    """None where it is no quantity, or a negative one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        return None
    try:
        number: Decimal = upstream.parse_quantity(value)  # type: ignore[no-untyped-call]
    except (ValueError, ArithmeticError):
        return None
    return number if number.is_finite() and 0 <= number < Decimal(10) ** 30 else None


def bytes_of(value: object) -> int | None:
    """A size in bytes; what is a fraction of a byte is cut."""
    number = quantity(value)
    return None if number is None else int(number)


def amount(value: object) -> float | None:
    """A number of cores or devices."""
    number = quantity(value)
    return None if number is None else float(number)
