"""Sizes as Kubernetes writes them back (`36Gi`), and as LMCache takes them (`20`, a plain number of GiB)."""

from __future__ import annotations

from controller.reading.sizes import GIB

_BINARY = (("Ei", 1 << 60), ("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
_DECIMAL = (("E", 10**18), ("P", 10**15), ("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3))


def quantity_of(size_bytes: int, like: object = "") -> str:
    """The one spelling that the API server stores: the largest unit without a fraction.

    Source: k8s.io/apimachinery, pkg/api/resource, Quantity.CanonicalizeBytes.

    Args:
        like: a quantity whose kind of units is kept where the size allows it; binary for anything else.
    """
    is_decimal = isinstance(like, str) and like.strip()[-1:] in ("E", "P", "T", "G", "M", "k", "m")
    for units in (_DECIMAL, _BINARY) if is_decimal else (_BINARY, _DECIMAL):
        for unit, factor in units:
            if size_bytes and size_bytes % factor == 0:
                return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def gib_per_rank(size_bytes: int, ranks: int) -> str:
    """A replica's size as each of its ranks is told it: GiB as the shortest decimal that reads back as that size.

    For whole MiB per rank there always is one. Where no number of up to twelve digits does, the nearest of six.
    """
    share = size_bytes / ranks / GIB
    for digits in range(13):
        number = f"{share:.{digits}f}"
        if int(float(number) * GIB) * ranks == size_bytes:
            return number
    return f"{share:.6f}".rstrip("0").rstrip(".")
