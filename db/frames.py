"""Rows as DataFrames with fixed columns, instants as UTC."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd


def frame(
    rows: Iterable[Sequence[Any]],
    columns: Sequence[str],
    *,
    instants: Collection[str] = ("at",),
    numbers: Collection[str] = (),
) -> pd.DataFrame:
    """A DataFrame with these columns, also without rows.

    Args:
        instants: columns in epoch seconds, which become datetime64[us, UTC]; None becomes NaT.
        numbers: columns of floats; None becomes NaN.
    """
    import pandas as pd  # noqa: PLC0415  # only who asks for frames pays: collectors never do

    found: dict[str, Any] = {}
    for name, values in zip(columns, list(zip(*rows, strict=True)) or [()] * len(columns), strict=True):
        if name in instants:
            found[name] = pd.DatetimeIndex(as_instants(values)).tz_localize("UTC")
        else:
            found[name] = np.array(values, dtype=np.float64) if name in numbers else list(values)
    return pd.DataFrame(found, columns=list(columns))


def as_instants(seconds: Sequence[float | None]) -> npt.NDArray[np.datetime64]:
    """Epoch seconds as instants, to the microsecond."""
    values = np.array(seconds, dtype=np.float64)
    known = np.isfinite(values)
    stamps = np.round(np.where(known, values, 0.0) * 1e6).astype("int64").astype("datetime64[us]")
    stamps[~known] = np.datetime64("NaT")
    return stamps
