"""A real Prometheus of a test's own, on a free loopback port, in a folder of its own."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.needs import tool
from tests.support.processes import end_with_us, wait_until

_READY = "Server is ready to receive web requests"
_LISTENS = re.compile(r'msg="Listening on" address=(\S+)')
_LOADED = "Completed loading of configuration file"
_END_SECONDS = 30.0


class Prometheus:
    """A running server; its data stay in `folder`."""

    def __init__(self, folder: Path, flags: tuple[str, ...], scheme: str) -> None:
        self._binary = tool("prometheus")
        self._folder = folder
        self._flags = flags
        self._scheme = scheme
        self._log = folder / "prometheus.log"
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"{self._scheme}://{self._listen}"

    def start(self) -> None:
        """Start it and wait until it answers; a second time on the port of the first."""
        before = self._count(_READY)
        command = [
            self._binary,
            f"--config.file={self._folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            "--storage.tsdb.retention.time=10y",
            f"--web.listen-address={self._listen}",
            *self._flags,
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=end_with_us,  # noqa: PLW1509 it calls into the C library only
            )
        wait_until(lambda: self._ended() or self._count(_READY) > before, "Prometheus", self._log)
        assert not self._ended(), self._words()
        self._listen = _LISTENS.findall(self._words())[-1]

    def stop(self) -> None:
        """End it as an operator does; what it holds is on disk then."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def restart(self) -> None:
        """End it and start it again on the same port and data."""
        self.stop()
        self.start()

    def reload(self, configuration: str) -> None:
        """Make it read a new configuration while it runs."""
        assert self._process is not None
        before = self._count(_LOADED)
        (self._folder / "prometheus.yml").write_text(configuration, "utf-8")
        self._process.send_signal(signal.SIGHUP)
        wait_until(lambda: self._count(_LOADED) > before, "the new configuration", self._log)

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _words(self) -> str:
        return self._log.read_text("utf-8", errors="replace")

    def _count(self, words: str) -> int:
        return self._words().count(words) if self._log.exists() else 0


@contextmanager
def running_prometheus(folder: Path, configuration: str = "{}", *flags: str, web: str = "") -> Iterator[Prometheus]:
    """A server in this folder; the test is skipped where there is none installed.

    Args:
        configuration: YAML with `scrape_configs` and the like.
        flags: more flags, such as `--query.max-samples=100`.
        web: YAML of its `--web.config.file` (TLS, users); empty: plain HTTP for everyone.
    """
    (folder / "prometheus.yml").write_text(configuration, "utf-8")
    if web:
        (folder / "web.yml").write_text(web, "utf-8")
        flags = (*flags, f"--web.config.file={folder / 'web.yml'}")
    server = Prometheus(folder, flags, "https" if "tls_server_config" in web else "http")
    try:
        server.start()
        yield server
    finally:
        server.stop()


def load_openmetrics(folder: Path, text: str) -> None:
    """Put samples with timestamps (OpenMetrics, ending with `# EOF`) into the data of a server not yet started."""
    file = folder / "samples.om"
    file.write_text(text, "utf-8")
    load_openmetrics_file(file, folder / "data")


def load_openmetrics_file(file: Path, data: Path) -> None:
    """The same for a file, and the folder of the data."""
    command = [tool("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(file), str(data)]
    subprocess.run(command, check=True, capture_output=True)
