"""How an alert lives: pending, firing, resolved; when it flaps; and which alerts silence which. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from tierdeck.alerts.alert import Alert, AlertState, Subject
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.rule import Rule, Scope
from tierdeck.alerts.rules import BY_NAME, RULES
from tierdeck.fleet import POOL

Key = tuple[str, Subject]
FLAPPING = "flapping"
ENDED = "over_because"
"""In the evidence of an alert that is over, or of the judgement that ends it: why, where it did not simply get well."""
_ORDER = {rule.name: place for place, rule in enumerate(RULES)}


@dataclass(frozen=True, slots=True)
class LifeLimits:
    """What all rules share.

    Attributes:
        flaps: an alert that fires for the this-many-th time within `flap_seconds` is flapping.
        steady_seconds: one that has fired this long without a break flaps no more, and is said.
        gap_seconds: a hold that was interrupted this long by minutes of which nothing is known begins anew.
        after_seconds: an alert silences what follows from it for this long after it resolved, since what
            follows takes longer to look well again.
    """

    flaps: int = 4
    flap_seconds: float = 3600.0
    steady_seconds: float = 1800.0
    gap_seconds: float = 600.0
    after_seconds: float = 900.0


LIMITS = LifeLimits()


def advance(
    alert: Alert | None, judgement: Judgement, rule: Rule, now: float, *, limits: LifeLimits = LIMITS
) -> Alert | None:
    """The alert of a key after one more judgement of it.

    Args:
        alert: the newest of that key. A resolved one is not touched: it only lends `flips` to its successor.
        now: epoch seconds; never before an earlier call's.

    Returns:
        The open alert, the one that resolved by this judgement, or None: there is none (a pending one whose
        condition no longer holds is gone, and a resolved one stays what the caller has of it).
    """
    if alert is None or not alert.is_open:
        return _begun(alert, judgement, rule, now, limits) if judgement.is_bad else None
    if alert.state is AlertState.PENDING:
        if judgement.is_bad is False:
            return None
        if judgement.is_bad:
            if now - alert.pending_at > rule.hold_seconds + limits.gap_seconds:
                alert = replace(alert, pending_at=now, depth=None)
            alert = _held(_described(alert, judgement), rule, now, limits)
    elif judgement.is_bad is not None:
        alert = _fired_on(alert, judgement, rule, now)
    return replace(alert, suppressed_by=_suppressed_by(alert, judgement, now, limits)) if alert.is_open else alert


def is_flapping(alert: Alert, now: float, limits: LifeLimits = LIMITS) -> bool:
    """It fired too often lately, and has not been steady since."""
    lately = _lately(alert.flips, now, limits)
    return len(lately) >= limits.flaps and now - lately[-1] < limits.steady_seconds


def inhibited(
    alerts: Collection[Alert], now: float, *, bad: Collection[Key] | None = None, limits: LifeLimits = LIMITS
) -> list[Alert]:
    """The same alerts in the same order, each with `suppressed_by` as the others' rules have it.

    Of two rules that inhibit each other the one that fired first silences the other; of several that silence
    an alert it names the one that fired first. A mute and flapping go
    before inhibition. Resolved ones in `alerts` silence for `after_seconds`, and are not touched.

    Args:
        bad: keys whose condition holds now: only these begin to be said when nothing silences them any more,
            since others are on their way to resolve. None: all of them.
    """
    silencing: dict[tuple[str, ...], list[Alert]] = {}
    for alert in alerts:
        if BY_NAME[alert.rule].inhibits and _silences(alert, now, limits):
            silencing.setdefault(_reach(alert), []).append(alert)
    return [
        _inhibited(alert, silencing, is_bad=bad is None or alert.key in bad) if alert.is_open else alert
        for alert in alerts
    ]


def _begun(before: Alert | None, judgement: Judgement, rule: Rule, now: float, limits: LifeLimits) -> Alert:
    alert = Alert(
        rule=rule.name,
        subject=judgement.subject,
        state=AlertState.PENDING,
        severity=rule.severity,
        pending_at=now,
        flips=_lately(before.flips, now, limits) if before else (),
    )
    alert = _held(_described(alert, judgement), rule, now, limits)
    return replace(alert, suppressed_by=_suppressed_by(alert, judgement, now, limits))


def _held(alert: Alert, rule: Rule, now: float, limits: LifeLimits) -> Alert:
    """Firing, if its condition has held long enough."""
    if now - alert.pending_at < rule.hold_seconds:
        return alert
    return replace(alert, state=AlertState.FIRING, fired_at=now, flips=(*_lately(alert.flips, now, limits), now))


def _fired_on(alert: Alert, judgement: Judgement, rule: Rule, now: float) -> Alert:
    """One that fires, after a judgement that tells something."""
    if judgement.is_bad:
        return _described(replace(alert, clear_since=None), judgement)
    if not judgement.is_clear:
        return replace(alert, clear_since=None)
    since = now if alert.clear_since is None else alert.clear_since
    if now - since < rule.clear_seconds:
        return replace(alert, clear_since=since)
    why = {name: told for name, told in judgement.evidence.items() if name == ENDED}
    evidence = {**alert.evidence, **why}
    return replace(alert, state=AlertState.RESOLVED, resolved_at=now, clear_since=since, evidence=evidence)


def _described(alert: Alert, judgement: Judgement) -> Alert:
    """With the judgement's figures; they are those of the last bad minute, and the depth of the worst."""
    depths = [depth for depth in (alert.depth, judgement.depth) if depth is not None]
    return replace(
        alert,
        value=judgement.value,
        expected=judgement.expected,
        depth=max(depths, default=None),
        words=judgement.words,
        evidence=judgement.evidence,
        spared=judgement.spared,
        # a process that is started again no longer knows
        changed_at=alert.changed_at if judgement.changed_at is None else judgement.changed_at,
    )


def _suppressed_by(alert: Alert, judgement: Judgement, now: float, limits: LifeLimits) -> str:
    """A mute, or flapping; what another alert did is `inhibited`'s to take back."""
    if judgement.muted_by:
        return judgement.muted_by
    is_muted = alert.suppressed_by not in ("", FLAPPING) and alert.suppressed_by not in BY_NAME
    if is_muted and not judgement.is_bad:
        # Between bad and well after a mute: what was never said does not begin to be while it heals.
        return alert.suppressed_by
    if alert.state is AlertState.FIRING and is_flapping(alert, now, limits):
        return FLAPPING
    return alert.suppressed_by if alert.suppressed_by in BY_NAME else ""


def _lately(flips: Iterable[float], now: float, limits: LifeLimits) -> tuple[float, ...]:
    return tuple(at for at in flips if now - at < limits.flap_seconds)


def _silences(alert: Alert, now: float, limits: LifeLimits) -> bool:
    if alert.suppressed_by == FLAPPING:
        return False  # nobody hears of it, and that may last; a mute has an end, and means that it heals
    if alert.state is AlertState.RESOLVED:
        return alert.resolved_at is not None and now - alert.resolved_at < limits.after_seconds
    return alert.state is AlertState.FIRING


def _reach(alert: Alert) -> tuple[str, ...]:
    """What the alerts that it can silence have in common with it: never more than it is about."""
    subject = alert.subject
    is_own = BY_NAME[alert.rule].scope is Scope.SUBJECT or subject.endpoint not in ("", POOL)
    return (subject.cluster, subject.endpoint) if is_own else (subject.cluster,)


def _inhibited(alert: Alert, silencing: dict[tuple[str, ...], list[Alert]], *, is_bad: bool) -> Alert:
    if alert.suppressed_by and alert.suppressed_by not in BY_NAME:
        return alert
    cluster, endpoint = alert.subject.cluster, alert.subject.endpoint
    others = [other for reach in ((cluster, endpoint), (cluster,)) for other in silencing.get(reach, ())]
    first = min((other for other in others if _goes_before(other, alert)), key=_rank, default=None)
    by = first.rule if first else "" if is_bad else alert.suppressed_by
    return alert if by == alert.suppressed_by else replace(alert, suppressed_by=by)


def _goes_before(other: Alert, alert: Alert) -> bool:
    if alert.subject.endpoint in other.spared:
        return False
    if alert.rule == other.rule:
        return len(_reach(other)) < len(_reach(alert))  # at an endpoint, what is known of all of the cluster
    if alert.rule not in BY_NAME[other.rule].inhibits:
        return False
    if other.rule not in BY_NAME[alert.rule].inhibits:
        return True
    return _rank(other) < _rank(alert)


def _rank(alert: Alert) -> tuple[float, int]:
    """Pending ones come last."""
    return float("inf") if alert.fired_at is None else alert.fired_at, _ORDER[alert.rule]
