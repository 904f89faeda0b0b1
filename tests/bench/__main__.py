"""`python -m tests.bench [MODULE …]`: run the benchmarks and print one table; exit code 1 where a limit is missed."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence

from tests.bench import Measure

_HEAD = ("measure", "value", "peer", "ratio", "limit", "")


def main(wanted: Sequence[str], package: str = "tests.bench") -> int:
    """Run the wanted modules of a package, all by default."""
    folders = importlib.import_module(package).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(folders) if not module.name.startswith("_"))
    unknown = set(wanted) - set(names)
    if unknown:
        sys.stderr.write(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(names) or 'none'}\n")
        return 2
    measures: list[Measure] = []
    for name in wanted or names:
        run = getattr(importlib.import_module(f"{package}.{name}"), "run", None)
        if run is not None:
            sys.stderr.write(f"measuring {name} …\n")
            measures += run()
    print(table(measures))
    return 0 if all(measure.ok for measure in measures) else 1


def table(measures: Sequence[Measure]) -> str:
    """The measures as aligned columns."""
    rows = [_HEAD, *(_row(measure) for measure in measures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(measure: Measure) -> tuple[str, ...]:
    peer = "" if measure.peer_value is None else f"{measure.peer_value:,.4g} {measure.unit} ({measure.peer_name})"
    return (
        measure.name,
        f"{measure.value:,.4g} {measure.unit}",
        peer,
        "" if measure.ratio is None else f"{measure.ratio:.3g}",
        measure.limit,
        "PASS" if measure.ok else "MISS",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
