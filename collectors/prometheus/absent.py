"""What to say where a Prometheus holds nothing of vLLM."""

from __future__ import annotations

from collectors.prometheus.asking import Answering
from collectors.prometheus.server import Series
from tierdeck.errors import TierdeckError

_SHOWN = 8
_HINT = "See docs/connect.md"


def nothing_found(server: Answering, at: float, match: str) -> TierdeckError:
    """The error that says what is there instead.

    Args:
        match: the matchers that every selector had (`TIERDECK_PROMETHEUS_MATCH`); empty for none.

    Raises:
        TierdeckError: the server does not answer.
    """
    matchers = ",".join(one for one in ('__name__=~"vllm.*|lmcache.*"', match) if one)
    named = _names(server.instant(f"group by (__name__) ({{{matchers}}})", at), "__name__")
    if named:
        what = f"has series named {named}, and none that Tierdeck reads"
        return TierdeckError(f"this Prometheus {what}", f"Recording rules or relabelling may be in the way. {_HINT}.")
    jobs = _names(server.instant("group by (job) (up)", at), "job")
    what = f"it scrapes the jobs {jobs}" if jobs else "it scrapes nothing at present"
    where = f" matching {match}" if match else ""
    hint = "Have the engines scraped" + (", or change TIERDECK_PROMETHEUS_MATCH" if match else "")
    return TierdeckError(f"this Prometheus has no vLLM series{where}: {what}", f"{hint}. {_HINT}.")


def _names(entries: list[Series], label: str) -> str:
    names = sorted({entry["metric"].get(label, "") for entry in entries} - {""})
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
