"""What a control plane of a test's own is trusted by: a CA, a serving certificate, a signing key, static tokens."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.needs import tool

ADMIN_TOKEN = "admin-of-this-test"
CONTROLLER_TOKEN = "controllers-of-this-test"
SCHEDULER_TOKEN = "scheduler-of-this-test"
_TOKENS = f"""{ADMIN_TOKEN},admin,1,"system:masters"
{CONTROLLER_TOKEN},system:kube-controller-manager,2,"system:masters"
{SCHEDULER_TOKEN},system:kube-scheduler,3
"""
_NAMES = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
_NEW_KEY = ("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True, slots=True)
class Keys:
    """The files, in a folder of the test's own."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The certificate that clients trust."""
        return self.folder / "ca.crt"

    @property
    def serving(self) -> tuple[Path, Path]:
        """The API server's certificate and key."""
        return self.folder / "server.crt", self.folder / "server.key"

    @property
    def signing(self) -> Path:
        """The key that signs service accounts' tokens."""
        return self.folder / "accounts.key"

    @property
    def tokens(self) -> Path:
        """The API server's file of static tokens."""
        return self.folder / "tokens.csv"


def make_keys(folder: Path) -> Keys:
    """Make them all; the test is skipped where there is no openssl."""
    openssl = tool("openssl")

    def run(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], cwd=folder, check=True, capture_output=True)

    run(*_NEW_KEY, "-x509", "-days", "2", "-subj", "/CN=ca of a test", "-keyout", "ca.key", "-out", "ca.crt")
    run(*_NEW_KEY, "-subj", "/CN=kube-apiserver", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text(_NAMES, "utf-8")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    run("x509", "-req", "-in", "server.csr", "-out", "server.crt", *signed)
    run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "accounts.key")
    (folder / "tokens.csv").write_text(_TOKENS, "utf-8")
    return Keys(folder)
