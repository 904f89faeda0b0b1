"""Keeps the webhook's certificate: of our own in a Secret that all replicas share, or of files that another renews.

A replica serves a certificate only once its authority stands in the webhook's configuration and every API server has
had time to see it, so that a renewal is noticed by nobody.
"""

from __future__ import annotations

import base64
import contextlib
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog

from controller.api.client import Api, Sent
from controller.api.errors import ConflictError
from controller.injector import metrics
from controller.injector.certificates import Pair, bundle, read, renewed, served, written
from controller.reading.fields import items, text
from controller.resources import Resource, path_of
from health.pulse import Pulse
from tierdeck.errors import TierdeckError, UsageError

log = structlog.get_logger()

SECRETS = Resource("", ("v1",), "secrets", "Secret")
WEBHOOKS = Resource(
    "admissionregistration.k8s.io", ("v1",), "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
    is_namespaced=False,
)  # fmt: skip
_KEY = "pairs.json"
_JSON_PATCH = "application/json-patch+json"
_READ_SECONDS = 10.0
_MOST_PAUSE_SECONDS = 30.0


class Certificates(Protocol):
    """Where the certificate comes from."""

    def look(self) -> Pair | None:
        """The one to serve now; None while there is none.

        Raises:
            TierdeckError: it can't be told now; the last one is served on.
        """
        ...


@dataclass(slots=True)
class Files:
    """A certificate that another renews, such as cert-manager in a mounted Secret."""

    certificate: Path
    key: Path

    def look(self) -> Pair | None:
        try:
            return Pair(self.certificate.read_text("ascii"), self.key.read_text("ascii"), "", 0.0, float("inf"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the webhook's certificate can't be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Place:
    """Where certificates of our own are kept.

    Attributes:
        secret: `namespace/name`; it has to be there.
        webhook: name of the configuration that is told to trust them.
    """

    secret: str
    webhook: str


@dataclass(frozen=True, slots=True)
class Order:
    """What they are to be.

    Attributes:
        names: DNS names and addresses under which the API server calls.
        seconds: for how long one is good.
    """

    names: tuple[str, ...]
    seconds: float


class Shared:
    """Certificates of our own in one Secret, and their authorities in the webhook's configuration."""

    def __init__(self, api: Api, place: Place, order: Order, clock: Callable[[], float] = time.time) -> None:
        """
        Args:
            clock: epoch seconds.
        """
        namespace, _, name = place.secret.partition("/")
        self._api = api
        self._secret = path_of(SECRETS, namespace, name)
        self._webhook = path_of(WEBHOOKS, "", place.webhook)
        self._order = order
        self._clock = clock

    def look(self) -> Pair | None:
        pairs = self._pairs()
        self._publish(bundle(pairs))
        return served(pairs, self._clock())

    def _pairs(self) -> tuple[Pair, ...]:
        """Those of the Secret; the replica that is first renews them, the others take what it wrote."""
        while True:
            secret = self._api.get(self._secret, read_seconds=_READ_SECONDS)
            known = read(_decoded(text(secret, "data", _KEY)))
            pairs = renewed(known, self._order.names, self._clock(), self._order.seconds)
            if pairs == known:
                return pairs
            kept: dict[str, Any] = {**secret, "data": {_KEY: base64.b64encode(written(pairs).encode()).decode()}}
            with contextlib.suppress(ConflictError):
                self._api.send(self._secret, Sent("PUT", kept), read_seconds=_READ_SECONDS)
                log.info("certificate_made", certificates=len(pairs))
                return pairs

    def _publish(self, trusted: str) -> None:
        """Write the bundle where it is another; a webhook that was renamed meanwhile refuses the patch."""
        wanted = base64.b64encode(trusted.encode()).decode()
        found = self._api.get(self._webhook, read_seconds=_READ_SECONDS)
        steps: list[dict[str, str]] = []
        for at, one in enumerate(items(found, "webhooks")):
            if text(one, "clientConfig", "caBundle") != wanted:
                steps.append({"op": "test", "path": f"/webhooks/{at}/name", "value": text(one, "name")})
                steps.append({"op": "add", "path": f"/webhooks/{at}/clientConfig/caBundle", "value": wanted})
        if steps:
            self._api.send(self._webhook, Sent("PATCH", steps, _JSON_PATCH), read_seconds=_READ_SECONDS)
            log.info("authority_published")


class Keeper:
    """Loads whatever is to be served into the context of the server, again and again."""

    def __init__(self, source: Certificates, loaded: Callable[[], None], pause_seconds: float) -> None:
        """
        Args:
            loaded: called whenever another certificate was loaded.
        """
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._source = source
        self._loaded = loaded
        self._pause_seconds = min(pause_seconds, _MOST_PAUSE_SECONDS)
        self._certificate = ""
        self.trouble = ""

    @property
    def is_ready(self) -> bool:
        return bool(self._certificate)

    def run(self, stop: threading.Event, pulse: Pulse) -> None:
        """Until told to stop."""
        while not stop.is_set():
            pulse.beat("certificates")
            self.step()
            stop.wait(self._pause_seconds if self.is_ready else min(1.0, self._pause_seconds))

    def step(self) -> None:
        """Look once; what fails is said, and the last certificate is served on."""
        try:
            pair = self._source.look()
            if pair is not None and pair.certificate != self._certificate:
                self._load(pair)
        except TierdeckError as error:
            if not self.trouble:
                log.warning("certificate_failed", reason=error.line())
            self.trouble = f"the webhook's certificate: {error.line()}"
        else:
            self.trouble = ""

    def _load(self, pair: Pair) -> None:
        with tempfile.TemporaryDirectory(prefix="tierdeck-") as folder:  # only its owner may look into it
            certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
            certificate.write_text(pair.certificate, "ascii")
            key.write_text(pair.key, "ascii")
            try:
                self.context.load_cert_chain(certificate, key)
            except (ssl.SSLError, OSError) as error:
                raise UsageError(f"the webhook's certificate can't be used: {error}") from error
        self._certificate = pair.certificate
        metrics.CERTIFICATE_ENDS.set(pair.end_at)
        log.info("certificate_loaded")
        self._loaded()


def _decoded(written_in: str) -> str:
    try:
        return base64.b64decode(written_in).decode()
    except ValueError:
        return ""
