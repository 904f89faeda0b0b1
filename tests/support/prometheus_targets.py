"""Scraped targets and their pages for tests of what is read from a Prometheus."""

from __future__ import annotations

from collectors.prometheus.asking import Asking
from collectors.prometheus.fleet import Observed, arrange
from collectors.prometheus.labels import Rule
from tests.support.expositions import lmcache_mp, vllm
from tests.support.memory_prometheus import MemoryPrometheus

T0 = 1_700_000_400
HASH = "6d4cf56db6"
Scraped = tuple[dict[str, str], str]


def in_pod(pod: str, port: int = 8000, job: str = "ns/vllm", namespace: str = "ns", **more: str) -> dict[str, str]:
    """Labels of a pod's target; the address goes by the pod's name, so that no two pods share one."""
    address = sum(pod.encode()) % 256
    return {"job": job, "namespace": namespace, "pod": pod, "instance": f"10.0.{address}.{len(pod)}:{port}", **more}


def on_host(host: str, port: int = 8000, job: str = "vllm", **more: str) -> dict[str, str]:
    return {"job": job, "instance": f"{host}:{port}", **more}


def an_engine(queries: float = 100.0, start: float = T0 - 1000.0, **labels: str) -> str:
    """A page with all that every vLLM exports."""
    page = vllm(queries, queries / 2, 0, 0, start=start, requests=1)
    page += 'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="+Inf"} 1\n'
    return page.replace('model_name="m"', f'model_name="{labels["model"]}"') if "model" in labels else page


def a_cache(tokens: float = 10.0) -> str:
    return lmcache_mp(tokens, tokens)


def a_router() -> str:
    return 'vllm_router_active_workers 2\nvllm:num_requests_running{server="http://10.0.0.1:8000"} 1\n'


def observed(*targets: Scraped, rules: tuple[Rule, ...] = (), seconds: int = 15, times: int = 3) -> Observed:
    """The fleet that a Prometheus with these targets shows."""
    return arrange(asked(*targets, seconds=seconds, times=times).catalogue.addresses, rules, "default")


def asked(*targets: Scraped, seconds: int = 15, times: int = 3) -> Asking:
    """What is known of targets that were scraped a few times, the last time at T0."""
    server = MemoryPrometheus()
    for number in range(times):
        for labels, page in targets:
            server.scrape(labels, T0 - seconds * (times - 1 - number), page)
    asking = Asking(server)
    asking.discover(T0)
    return asking


def places(fleet: Observed) -> dict[str, list[str]]:
    """`{"endpoint/replica": [target names]}`, pools included."""
    return {
        f"{one.key.endpoint}/{one.key.replica}": sorted(target.name for target in one.targets) for one in fleet.replicas
    }
