"""A real Kubernetes control plane of a test's own on loopback: etcd, API server, controllers, scheduler; no nodes."""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
import yaml
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration

from tests.cluster.build import ControlPlane, built, found
from tests.cluster.go_program import CannotBuildError
from tests.needs import missing
from tests.support.cluster_keys import ADMIN_TOKEN, CONTROLLER_TOKEN, SCHEDULER_TOKEN, Keys, make_keys
from tests.support.cluster_programs import Program, free_port
from tests.support.kube_rest import Manifest, Rest
from tests.support.processes import PATIENCE_SECONDS

_ISSUER = "https://kubernetes.default.svc"


class Cluster:
    """A running control plane.

    Attributes:
        url: The API server's address.
        ca: The file of the certificate that clients trust.
        kubeconfig: The file that makes a client the administrator.
        rest: The administrator, for plain dicts.
        api_server, controllers, scheduler, etcd: The programs, to be stopped, held and started by tests of faults.
    """

    def __init__(self, folder: Path, control_plane: ControlPlane, flags: tuple[str, ...] = ()) -> None:
        self._folder = folder
        self._keys: Keys = make_keys(folder)
        self.ca = self._keys.ca
        store, peers, port = free_port(), free_port(), free_port()
        self.url = f"https://127.0.0.1:{port}"

        def program(name: str, arguments: list[str]) -> Program:
            return Program(name, [*control_plane.command(name), *arguments], folder)

        self.etcd = program("etcd", _etcd_flags(store, peers))
        self.api_server = program("kube-apiserver", [*_api_flags(store, port, self._keys), *flags])
        self.controllers = program("kube-controller-manager", self._controller_flags())
        self.scheduler = program("kube-scheduler", self._scheduler_flags())
        self.kubeconfig = self._write_kubeconfig("admin", ADMIN_TOKEN)
        self.rest = Rest(self.url, self.ca, ADMIN_TOKEN)

    def start(self) -> None:
        """Start all programs; returns when pods can be made."""
        self.etcd.start()
        self.start_api_server()
        self.controllers.start()
        self.scheduler.start()
        self.wait_until(lambda: self.rest.find("ServiceAccount", "default", "default") is not None, "the controllers")

    def start_api_server(self) -> None:
        """Start the API server, again on the same port; returns when it is ready."""
        self.api_server.start()
        self.wait_until(self.is_ready, "the API server")

    def is_ready(self) -> bool:
        """Whether the API server says so."""
        try:
            return requests.get(f"{self.url}/readyz", verify=str(self.ca), timeout=5).text == "ok"
        except requests.RequestException:
            return False

    def stop(self) -> None:
        """End all programs."""
        self.rest.close()
        for one in (self.scheduler, self.controllers):
            one.kill()
        for one in (self.api_server, self.etcd):
            one.kill()

    def wait_until(self, ready: Callable[[], bool], what: str) -> None:
        """Poll a condition; fails with the programs' last words when it does not come true, or one of them ends."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not ready():
            for one in self._programs():
                one.check()
            if time.monotonic() > end:
                words = "\n".join(one.words() for one in self._programs())
                raise AssertionError(f"waited {PATIENCE_SECONDS:.0f} s for {what}\n{words}")
            time.sleep(0.1)

    def client(self) -> ApiClient:
        """The Kubernetes client as the administrator."""
        return self.client_with(ADMIN_TOKEN)

    def client_with(self, token: str) -> ApiClient:
        """The Kubernetes client as whoever has this token."""
        configuration = Configuration(host=self.url)
        configuration.ssl_ca_cert = str(self.ca)
        configuration.api_key = {"authorization": f"Bearer {token}"}
        return ApiClient(configuration)

    def rest_with(self, token: str) -> Rest:
        """Plain dicts as whoever has this token; the caller closes it."""
        return Rest(self.url, self.ca, token)

    def token_for(self, namespace: str, name: str, seconds: int = 3600) -> str:
        """A real token of this service account, which must be there; 600 s is the shortest that it may live."""
        path = self.rest.path("ServiceAccount", name, namespace) + "/token"
        body: Manifest = {"spec": {"expirationSeconds": seconds}}
        return str(self.rest.request("POST", path, body)["status"]["token"])

    def kubeconfig_for(self, namespace: str, name: str, seconds: int = 3600) -> Path:
        """A kubeconfig file that makes a client this service account."""
        return self._write_kubeconfig(f"{namespace}-{name}", self.token_for(namespace, name, seconds), namespace)

    def _programs(self) -> tuple[Program, ...]:
        return (self.etcd, self.api_server, self.controllers, self.scheduler)

    def _write_kubeconfig(self, user: str, token: str, namespace: str = "default") -> Path:
        authority = base64.b64encode(self.ca.read_bytes()).decode()
        context = {"cluster": "test", "user": user, "namespace": namespace}
        made = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {"name": "test", "cluster": {"server": self.url, "certificate-authority-data": authority}},
            ],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": context}],
        }
        file = self._folder / f"{user.replace(':', '-')}.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(made), "utf-8")
        return file

    def _controller_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self._write_kubeconfig('system:kube-controller-manager', CONTROLLER_TOKEN)}",
            f"--service-account-private-key-file={self._keys.signing}",
            f"--root-ca-file={self.ca}",
            "--controllers=*",
            "--leader-elect=false",
            "--secure-port=0",
            "--node-monitor-period=1s",
        ]

    def _scheduler_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self._write_kubeconfig('system:kube-scheduler', SCHEDULER_TOKEN)}",
            "--leader-elect=false",
            "--secure-port=0",
        ]


def _etcd_flags(store: int, peers: int) -> list[str]:
    return [
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        f"--listen-client-urls=http://127.0.0.1:{store}",
        f"--advertise-client-urls=http://127.0.0.1:{store}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=default=http://127.0.0.1:{peers}",
    ]


def _api_flags(store: int, port: int, keys: Keys) -> list[str]:
    certificate, key = keys.serving
    return [
        f"--etcd-servers=http://127.0.0.1:{store}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--token-auth-file={keys.tokens}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={keys.signing}",
        f"--service-account-signing-key-file={keys.signing}",
        f"--service-account-issuer={_ISSUER}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--endpoint-reconciler-type=none",
        "--profiling=false",
        "--shutdown-delay-duration=0s",
    ]


def control_plane() -> ControlPlane:
    """The programs; without them the test is skipped, and where everything is required they are built."""
    try:
        here = built() if os.environ.get("TIERDECK_REQUIRE_ALL") == "1" else found()
    except CannotBuildError as error:
        missing(f"the control plane ({error})")
        raise
    if here is None:
        missing("the control plane (make control-plane)")
    assert here is not None
    return here


@contextmanager
def running_cluster(*api_flags: str) -> Iterator[Cluster]:
    """A control plane of one's own; everything of it is gone at the end.

    Args:
        api_flags: More flags of the API server.
    """
    programs = control_plane()
    folder = Path(tempfile.mkdtemp(prefix="tierdeck-cluster-"))
    cluster: Cluster | None = None
    try:
        cluster = Cluster(folder, programs, api_flags)
        cluster.start()
        yield cluster
    finally:
        if cluster is not None:
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
