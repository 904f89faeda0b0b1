"""The Alerts view's content: what fires, what is kept quiet, what is over, who is told, what is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from console.alert_card import AlertCard, alert_card, urgency
from console.alert_words import quiet_words, severity_words, since_words, title_of, whom
from console.channel_rows import ChannelRow, channel_rows
from console.headlines import Headline
from console.silence_rows import SilenceRow, silence_rows
from console.words import age_words
from tierdeck.alerts.alert import Alert, AlertState
from tierdeck.alerts.notice import Notice, Way
from tierdeck.alerts.silence import Silence

LOOK_BACK_SECONDS = 86400.0
"""How far back resolved alerts are listed."""


@dataclass(frozen=True, slots=True)
class Line:
    """One alert in a list; `why` says why nobody was told, or who has seen it."""

    id: int
    severity: str
    title: str
    whom: str
    when: str
    why: str


@dataclass(frozen=True, slots=True)
class AlertsPage:
    """Complete.

    Attributes:
        trouble: why nothing is judged now, a sentence; "": rules are judged.
        headlines: at most five.
        firing: those that people are told of, the most urgent first; `quiet`: those that they are not.
    """

    trouble: str
    headlines: tuple[Headline, ...]
    firing: tuple[AlertCard, ...]
    pending: tuple[Line, ...]
    quiet: tuple[Line, ...]
    resolved: tuple[Line, ...]
    silences: tuple[SilenceRow, ...]
    channels: tuple[ChannelRow, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What the store told.

    Attributes:
        lately: alerts of the last `LOOK_BACK_SECONDS`, the newest first.
        trouble: why nothing is judged, as `Judging.trouble`.
        notices: the newest first.
    """

    open: Sequence[Alert]
    lately: Sequence[Alert]
    silences: Sequence[Silence]
    trouble: str
    channels: Sequence[Way]
    notices: Sequence[Notice]


def alerts_page(told: Told, now: float) -> AlertsPage:
    """From what the store told."""
    fired = sorted((one for one in told.open if one.state is AlertState.FIRING), key=urgency)
    why = {one.id: quiet_words(one, told.silences, now, told.open) for one in told.open}
    loud = [one for one in fired if not why[one.id]]
    quiet = [one for one in fired if why[one.id]]
    pending = [one for one in told.open if one.state is AlertState.PENDING]
    over = [one for one in told.lately if not one.is_open and one.fired_at is not None]
    over.sort(key=_ended, reverse=True)
    silences = silence_rows(told.silences, now, fired)
    return AlertsPage(
        trouble=told.trouble,
        headlines=_headlines(loud, pending, quiet, over, sum(row.is_active for row in silences)),
        firing=tuple(alert_card(one, told.silences, now) for one in loud),
        pending=_lines(pending, why, now),
        quiet=_lines(quiet, why, now),
        resolved=_lines(over, {}, now),
        silences=silences,
        channels=channel_rows(told.channels, told.notices, now),
    )


def _ended(one: Alert) -> float:
    return one.resolved_at or 0.0


def _lines(alerts: Iterable[Alert], why: dict[int, str], now: float) -> tuple[Line, ...]:
    return tuple(
        Line(
            one.id,
            severity_words(one.severity),
            title_of(one),
            whom(one),
            since_words(one, now),
            why.get(one.id) or (f"acknowledged by {one.acknowledged.by}" if one.acknowledged else ""),
        )
        for one in alerts
    )


def _headlines(
    loud: Sequence[Alert], pending: Sequence[Alert], quiet: Sequence[Alert], over: Sequence[Alert], silences: int
) -> tuple[Headline, ...]:
    seen = sum(one.acknowledged is not None for one in loud)
    worst = severity_words(loud[0].severity) if loud else "nothing to do"
    took = [one.resolved_at - one.fired_at for one in over if one.resolved_at is not None and one.fired_at is not None]
    longest = f"longest {age_words(max(took))}" if took else "none fired"
    return (
        Headline("Firing", str(len(loud)), f"{seen} acknowledged" if seen else worst, "",
                 "Alerts whose condition has held for the rule's time, and of which channels are told."),
        Headline("Pending", str(len(pending)), "not for long enough", "",
                 "Conditions that hold, but not yet for as long as their rule asks. Nobody is told."),
        Headline("Kept quiet", str(len(quiet)), "each has its reason", "",
                 "Alerts that fire and are not said: they follow from another one, tiers are still filling, they came "
                 "and went too often, or somebody silenced them."),
        Headline("Silences", str(silences), "hold now", "",
                 "Silences and maintenance windows that hold now."),
        Headline("Resolved", str(len(over)), longest, "", "Alerts that fired and ended in the last 24 hours."),
    )  # fmt: skip
