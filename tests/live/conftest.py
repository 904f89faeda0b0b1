"""The real fleet, one for the whole run. Only `make test-live` collects what is here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.fleet import LiveFleet, running_fleet
from tests.live.window import Window

collect_ignore_glob = [] if os.environ.get("TIERDECK_LIVE") == "1" else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "live: needs the real fleet, which takes minutes and gigabytes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("live")


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveFleet]:
    """Two engines with cache servers, a coordinator, a router and the embedded engine; nobody sends anything."""
    with running_fleet(tmp_path_factory.mktemp("fleet")) as one:
        yield one


@pytest.fixture
def window(fleet: LiveFleet, tmp_path: Path) -> Window:
    """Two scrapes of the fleet, the first one taken now."""
    return Window.opened(fleet, tmp_path / "snapshot")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Takes a line of figures that is printed also where the test passes."""

    def line(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{text} ")
            sys.stdout.flush()

    return line
