"""Every setting with unit, bounds and help: one frozen object, read once from `TIERDECK_*`, passed down.

docs/settings.md is made from this file and held against it by a test.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from tierdeck.account import WarmingLimits
from tierdeck.errors import UsageError
from tierdeck.resolution import Resolution
from tierdeck.server_address import ServerAddress

_DAY = 86400
DECK_FILE = "deck.env"
"""In the home folder: settings with which its deck was started, so that every command on it has the same."""


def default_home() -> Path:
    """The per-user data folder: `$XDG_DATA_HOME/tierdeck`, else `~/.local/share/tierdeck`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "tierdeck"


class Settings(BaseSettings):
    """Settings of all processes; the environment variable is `TIERDECK_` and the name in capitals."""

    model_config = SettingsConfigDict(env_prefix="TIERDECK_", frozen=True, extra="ignore")

    home: Path = Field(default_factory=default_home, description="Folder for the embedded store and local state.")
    database_url: SecretStr = Field(
        SecretStr(""), description="Store to use, as a SQLAlchemy URL; empty: SQLite in the home folder."
    )
    cluster: str = Field("default", min_length=1, description="Name of the cluster that this process observes.")
    config_file: Path | None = Field(None, description="YAML file with endpoints and their targets (docs/config.md).")
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$", description="Least level that is logged.")

    scrape_interval_seconds: float = Field(15.0, ge=1, le=300, description="Seconds between two scrapes of a target.")
    scrape_timeout_seconds: float = Field(
        10.0, ge=0.1, le=300, description="Seconds until a scrape is given up; below the interval."
    )
    scrape_concurrency: int = Field(64, ge=1, le=1024, description="Scrapes under way at the same time.")
    max_body_bytes: int = Field(16 * 2**20, ge=65536, description="Largest exposition that is read, in bytes.")
    max_cache_salts: int = Field(50, ge=1, le=10000, description="Cache salts (tenants) kept apart per endpoint.")
    metrics_port: int = Field(
        0, ge=0, le=65535, description="Port on which a process serves its own /metrics and /healthz; 0: none."
    )
    metrics_address: str = Field("127.0.0.1", description="Address on which a process serves these.")

    prometheus_url: SecretStr = Field(
        SecretStr(""),
        description="Address of a Prometheus, or of what speaks its API, to read instead of the targets themselves "
        "(docs/connect.md); may hold `user:password@`. Empty: none.",
    )
    prometheus_tenant: str = Field("", description="Tenant that is asked for (header `X-Scope-OrgID`); empty: none.")
    prometheus_username: str = Field("", description="User name there; needs the file with the password.")
    prometheus_password_file: Path | None = Field(None, description="File with the password of that user.")
    prometheus_token_file: Path | None = Field(None, description="File with a bearer token; read anew at each query.")
    prometheus_aws_region: str = Field(
        "", description="AWS region of an Amazon Managed Service for Prometheus: queries are signed for it."
    )
    prometheus_ca_file: Path | None = Field(None, description="PEM file with the authorities to trust there.")
    prometheus_cert_file: Path | None = Field(None, description="PEM file with the client certificate to show there.")
    prometheus_key_file: Path | None = Field(None, description="PEM file with the key of that client certificate.")
    prometheus_timeout_seconds: float = Field(30.0, ge=1, le=600, description="Seconds until a query is given up.")
    prometheus_match: str = Field(
        "", description='Label matchers added to each selector, such as `namespace="inference"`; empty: none.'
    )
    prometheus_backfill_seconds: int = Field(
        _DAY, ge=0, le=30 * _DAY, description="Seconds of the past that are read at the first start; 0: none."
    )
    prometheus_late_seconds: float = Field(
        10.0, ge=0, le=600, description="Seconds until a sample can be asked for there after it was scraped."
    )

    kubeconfig: Path | None = Field(
        None, description="kubeconfig file to use; empty: `KUBECONFIG` or the usual one, and inside a cluster its own."
    )
    kube_context: str = Field("", description="Context of the kubeconfig; empty: its current one.")
    kube_namespaces: str = Field(
        "", description="Namespaces to look into, separated by commas; empty: all of the cluster."
    )
    pod_proxy: str = Field(
        "",
        description="Address of a `kubectl proxy` by which the pods' metrics are read, and probes are sent, where "
        "their own addresses lead nowhere, such as `http://127.0.0.1:8001`; empty: none.",
    )

    drift_seconds: float = Field(
        60.0, ge=0, le=86400, description="Seconds that what runs may differ from what is configured until it is said."
    )

    changes_file: Path | None = Field(
        None,
        description="YAML file with what the controller may change (docs/changes.md); empty: nothing, it observes.",
    )
    changes_second_person: bool = Field(
        default=False, description="Whether a change has to be approved by somebody else than who proposed it."
    )
    changes_impersonate: bool = Field(
        default=False,
        description="Whether the controller writes in the approver's name, so that the cluster's own rights and audit "
        "log apply to that person.",
    )
    changes_by_hand: str = Field(
        "",
        description="Beginnings of names of field managers that write nothing back by themselves, such as a "
        "pipeline's, separated by commas: a change may take their fields over. kubectl, helm and the like are known.",
    )
    changes_rollout_seconds: float = Field(
        3600.0, ge=60, le=_DAY, description="Seconds that a change may take from its writes until every pod carries it."
    )
    probe_routing: bool = Field(
        default=True, description="Whether a strategy is proved by requests of the controller's own, 20 at most."
    )
    lab_url: str = Field(
        "", description="Address of a simulated fleet whose endpoints are changed through its own API; empty: none."
    )

    l2_file: Path | None = Field(
        None, description="YAML file with the endpoints that get L2 by the injector (docs/l2.md); empty: none."
    )
    injector_address: str = Field("127.0.0.1", description="Address on which the injector's webhook listens.")
    injector_port: int = Field(9443, ge=1, le=65535, description="Port of the injector's webhook, HTTPS.")
    injector_names: str = Field(
        "localhost",
        min_length=1,
        description="DNS names and addresses under which the API server calls the webhook, parted by commas.",
    )
    injector_secret: str = Field(
        "",
        pattern=r"^([a-z0-9.-]+/[a-z0-9.-]+)?$",
        description="`namespace/name` of the Secret in which the injector keeps certificates of its own; empty: none.",
    )
    injector_webhook: str = Field(
        "", description="Name of the MutatingWebhookConfiguration that is told to trust them; empty: none."
    )
    injector_certificate_seconds: float = Field(
        30.0 * _DAY, ge=20, le=365 * _DAY, description="Seconds that such a certificate is good; renewed at 2/3."
    )
    injector_cert_file: Path | None = Field(
        None, description="PEM file with the webhook's certificate, where another keeps it, such as cert-manager."
    )
    injector_key_file: Path | None = Field(None, description="PEM file with the key of that certificate.")

    alerts_file: Path | None = Field(
        None, description="YAML file with floors, objectives, and rules that are off (docs/alerts.md); empty: none."
    )

    warming_tokens: int = Field(1000, ge=0, description="Prompt tokens after a restart until a replica counts as warm.")
    warming_requests: int = Field(10, ge=0, description="Requests after a restart until a replica counts as warm.")

    notify_file: Path | None = Field(
        None, description="File with a channel a line, `name = address` (docs/notify.md); addresses are secrets."
    )
    notify_urls: SecretStr = Field(
        SecretStr(""), description="The same in the environment: `name=address`, several parted by spaces."
    )
    renotify_seconds: float = Field(
        4 * 3600.0, ge=60, description="Seconds until what still fires, and nobody acknowledged, is said again."
    )
    alertmanager_url: SecretStr = Field(
        SecretStr(""),
        description="Address of an Alertmanager to post alerts to; of a cluster of them all, parted by commas. "
        "May hold `user:password@`. Empty: none.",
    )
    alertmanager_username: str = Field("", description="User name there; needs the file with the password.")
    alertmanager_password_file: Path | None = Field(None, description="File with the password of that user.")
    alertmanager_token_file: Path | None = Field(None, description="File with a bearer token; read anew each time.")
    alertmanager_ca_file: Path | None = Field(None, description="PEM file with the authorities to trust there.")
    heartbeat_url: SecretStr = Field(
        SecretStr(""),
        description="Address that is asked each minute while rules are judged, of a service that warns when it is not; "
        "empty: none.",
    )
    console_url: str = Field(
        "", description="Where people reach the console, such as `https://deck.example`, for links; empty: no links."
    )

    docs_url: str = Field(
        "", description="Where people reach this project's docs folder, for links from alerts; empty: no links."
    )

    janitor_path: Path | None = Field(
        None, description="Mounted directory of the pool that the janitor cleans (docs/janitor.md); empty: none."
    )
    janitor_pool: str = Field("curvine", min_length=1, description="What that pool is called in the inventory.")
    janitor_delete: bool = Field(
        default=False, description="Whether the janitor deletes; else it says what it would delete (dry run)."
    )
    janitor_filesystems: str = Field(
        "fuse.curvinefs,curvinefs",
        description="File systems that may be cleaned, separated by commas: types as in /proc/mounts, or sources.",
    )
    janitor_capacity_bytes: int = Field(
        0,
        ge=0,
        description="Bytes that the files under the path may take together; what they add up to counts as used then, "
        "which takes a walk for each look. 0: the file system tells both, which are the whole pool's.",
    )
    janitor_high_ratio: float = Field(
        0.85, gt=0, le=1, description="High-water mark, as a share of the capacity: the pool is kept below it."
    )
    janitor_low_ratio: float = Field(0.75, gt=0, lt=1, description="Low-water mark: so far down a round cleans.")
    janitor_grace_seconds: float = Field(
        600.0,
        ge=60,
        le=7 * _DAY,
        description="Seconds since a file was written, or read as far as the mount keeps it, by the file's own clock, "
        "within which it is never deleted.",
    )
    janitor_temporary_seconds: float = Field(
        3600.0, ge=600, le=30 * _DAY, description="Seconds until a temporary file counts as an orphan and goes."
    )
    janitor_files_per_second: float = Field(100.0, gt=0, le=10_000, description="Files deleted a second, at most.")
    janitor_bytes_per_second: float = Field(4 * 2.0**30, ge=2**20, description="Bytes deleted a second, at most.")
    janitor_files_per_round: int = Field(
        50_000,
        ge=1,
        le=1_000_000,
        description="Files deleted in one round, at most, orphans among them; memory grows with it.",
    )
    janitor_shares: str = Field(
        "",
        description="Shares of the capacity by identity directory, such as `qwen-7b=0.5,llama=0.3`: one that has more "
        "loses files before others do; together 1 at most. Empty: the oldest go, whoever they belong to.",
    )
    janitor_look_seconds: float = Field(10.0, ge=1, le=600, description="Seconds between two looks at the pool's room.")
    janitor_sweep_seconds: float = Field(
        6 * 3600.0,
        ge=600,
        description="Seconds after which a round comes without need: for orphans and for the record.",
    )

    raw_retention_seconds: int = Field(2 * _DAY, ge=3600, description="Seconds that raw rows are kept.")
    minute_retention_seconds: int = Field(14 * _DAY, ge=3600, description="Seconds that 1-minute rows are kept.")
    ten_minute_retention_seconds: int = Field(90 * _DAY, ge=_DAY, description="Seconds that 10-minute rows are kept.")
    hour_retention_seconds: int = Field(730 * _DAY, ge=_DAY, description="Seconds that 1-hour rows are kept.")
    event_retention_seconds: int = Field(90 * _DAY, ge=_DAY, description="Seconds that events are kept.")
    alert_retention_seconds: int = Field(
        90 * _DAY, ge=_DAY, description="Seconds that alerts are kept after their end, with what was said of them."
    )

    console_address: str = Field("127.0.0.1", description="Address on which the console listens.")
    console_port: Annotated[int, Field(ge=0, le=65535, description="Port of the console; 0: any free one.")] = 8501

    @model_validator(mode="after")
    def _timeout_below_interval(self) -> Self:
        if self.scrape_timeout_seconds >= self.scrape_interval_seconds:
            raise ValueError("scrape_timeout_seconds must be below scrape_interval_seconds")
        return self

    @model_validator(mode="after")
    def _marks_are_in_order(self) -> Self:
        if self.janitor_low_ratio >= self.janitor_high_ratio:
            raise ValueError("janitor_low_ratio must be below janitor_high_ratio")
        return self

    @model_validator(mode="after")
    def _pod_proxy_is_an_address(self) -> Self:
        if self.pod_proxy and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", self.pod_proxy):
            raise ValueError("pod_proxy can't be used: an address such as http://127.0.0.1:8001 is needed")
        return self

    @model_validator(mode="after")
    def _injector_has_one_certificate(self) -> Self:
        if (self.injector_cert_file is None) != (self.injector_key_file is None):
            raise ValueError("injector_cert_file and injector_key_file need each other")
        return self

    @model_validator(mode="after")
    def _console_can_be_linked(self) -> Self:
        for name, url in (("console_url", self.console_url), ("docs_url", self.docs_url)):
            if url and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", url):
                raise ValueError(f"{name} can't be used: an address such as https://deck.example is needed")
        return self

    @model_validator(mode="after")
    def _alertmanager_can_be_asked(self) -> Self:
        if bool(self.alertmanager_username) != (self.alertmanager_password_file is not None):
            raise ValueError("alertmanager_username and alertmanager_password_file need each other")
        if self.alertmanager_username and self.alertmanager_token_file:
            raise ValueError("alertmanager_username and alertmanager_token_file both say who is asking: keep one")
        return self

    @model_validator(mode="after")
    def _prometheus_can_be_asked(self) -> Self:
        text = self.prometheus_url.get_secret_value()
        try:
            address = ServerAddress.parse(text) if text else None
        except ValueError as error:
            raise ValueError(f"prometheus_url can't be used: {error}") from None
        kinds = {
            "a user in prometheus_url": address is not None and bool(address.username),
            "prometheus_username": bool(self.prometheus_username),
            "prometheus_token_file": self.prometheus_token_file is not None,
            "prometheus_aws_region": bool(self.prometheus_aws_region),
        }
        given = [name for name, is_given in kinds.items() if is_given]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} all say who is asking: keep one")
        if bool(self.prometheus_username) != (self.prometheus_password_file is not None):
            raise ValueError("prometheus_username and prometheus_password_file need each other")
        if not (self.prometheus_tenant.isascii() and self.prometheus_tenant.isprintable()):
            raise ValueError("prometheus_tenant can't be sent: letters, digits and marks of ASCII only")
        if self.prometheus_key_file is not None and self.prometheus_cert_file is None:
            raise ValueError("prometheus_key_file needs prometheus_cert_file")
        if (
            address is not None
            and address.url.startswith("http://")
            and (self.prometheus_ca_file or self.prometheus_cert_file)
        ):
            raise ValueError(
                "prometheus_ca_file and prometheus_cert_file need a prometheus_url that begins with https://"
            )
        return self

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Of Kubernetes, to look into; empty: all."""
        return tuple(filter(None, (name.strip() for name in self.kube_namespaces.split(","))))

    @property
    def managers_by_hand(self) -> tuple[str, ...]:
        """Beginnings of field managers' names whose fields a change may take over, besides those that are known."""
        return tuple(filter(None, (name.strip() for name in self.changes_by_hand.split(","))))

    @property
    def prometheus_address(self) -> str:
        """The address of the Prometheus without credentials, fit to be shown; empty if there is none."""
        text = self.prometheus_url.get_secret_value()
        return ServerAddress.parse(text).url if text else ""

    @property
    def store_url(self) -> str:
        """The store's SQLAlchemy URL; may hold a password: never log it."""
        return self.database_url.get_secret_value() or f"sqlite:///{self.home / 'tierdeck.db'}"

    @property
    def stale_after_seconds(self) -> float:
        """A replica whose last round is older than this counts as not answering: three intervals."""
        return 3 * self.scrape_interval_seconds

    @property
    def warming(self) -> WarmingLimits:
        return WarmingLimits(self.warming_tokens, self.warming_requests)

    @property
    def retention_seconds(self) -> dict[Resolution, int]:
        return {
            Resolution.RAW: self.raw_retention_seconds,
            Resolution.MINUTE: self.minute_retention_seconds,
            Resolution.TEN_MINUTES: self.ten_minute_retention_seconds,
            Resolution.HOUR: self.hour_retention_seconds,
        }


def load_settings(*, is_start: bool = False, **overrides: object) -> Settings:
    """Settings from the environment; what it does not say is as the deck of this home was started.

    Args:
        is_start: a deck is being started: how the last one was does not count.

    Raises:
        UsageError: a variable's value can't be used; the message names it.
    """
    home = Path(str(overrides.get("home") or os.environ.get("TIERDECK_HOME") or default_home()))
    try:
        # pydantic checks the values
        return Settings(_env_file=None if is_start else home / DECK_FILE, **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        where = "_".join(str(part) for part in first["loc"])
        name = f"TIERDECK_{where.upper()}" if where else "Settings"
        raise UsageError(f"{name}: {first['msg'].removeprefix('Value error, ')}", "See docs/settings.md.") from error
