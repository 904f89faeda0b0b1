"""Every setting with unit, bounds and help: one frozen object, read once from `TIERDECK_*`, passed down.

docs/settings.md is made from this file and held against it by a test.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from tierdeck.account import WarmingLimits
from tierdeck.errors import UsageError
from tierdeck.resolution import Resolution

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
        0, ge=0, le=65535, description="Loopback port on which a process serves its own /metrics; 0: none."
    )
    metrics_address: str = Field("127.0.0.1", description="Address on which a process serves its own /metrics.")

    warming_tokens: int = Field(1000, ge=0, description="Prompt tokens after a restart until a replica counts as warm.")
    warming_requests: int = Field(10, ge=0, description="Requests after a restart until a replica counts as warm.")

    raw_retention_seconds: int = Field(2 * _DAY, ge=3600, description="Seconds that raw rows are kept.")
    minute_retention_seconds: int = Field(14 * _DAY, ge=3600, description="Seconds that 1-minute rows are kept.")
    ten_minute_retention_seconds: int = Field(90 * _DAY, ge=_DAY, description="Seconds that 10-minute rows are kept.")
    hour_retention_seconds: int = Field(730 * _DAY, ge=_DAY, description="Seconds that 1-hour rows are kept.")

    console_address: str = Field("127.0.0.1", description="Address on which the console listens.")
    console_port: Annotated[int, Field(ge=0, le=65535, description="Port of the console; 0: any free one.")] = 8501

    @model_validator(mode="after")
    def _timeout_below_interval(self) -> Self:
        if self.scrape_timeout_seconds >= self.scrape_interval_seconds:
            raise ValueError("scrape_timeout_seconds must be below scrape_interval_seconds")
        return self

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
