"""Certificates of a test's own authority, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.needs import tool


def make_certificates(folder: Path, **names: str) -> Path:
    """The folder with `ca.pem`, and a `.pem` and `.key` for each name.

    Args:
        names: name of the file to what it is for, such as `IP:127.0.0.1` or `DNS:hooks.example`.
    """
    openssl = tool("openssl")

    def run(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], cwd=folder, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=our own authority")
    for name, alternatives in names.items():
        (folder / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
        run("req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext")
        run("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *signed)
    return folder
