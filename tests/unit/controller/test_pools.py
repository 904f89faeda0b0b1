"""Curvine pools: how large they are, and which claims lie in them."""

from __future__ import annotations

import copy

import pytest

from controller.backends.curvine import CURVINE
from controller.reading.pools import directories
from tests.support.manifests import documents, example, objects_of
from tierdeck.fleet import Replica

GIB = 1 << 30


@pytest.mark.parametrize(
    ("listed", "size_bytes", "text"),
    [
        ('["[SSD:200GB]/data"]', 200 * GIB, "200 GiB"),
        ('["[SSD:1TB]/a", "[MEM:512MB]/b"]', 1024 * GIB + GIB // 2, "(1024 GiB + 0.5 GiB)"),
        ('["[100GB]/data"]', 100 * GIB, "100 GiB"),
        ('["[SSD:0]/data"]', None, "[SSD:0]/data"),
        ('["/data"]', None, "/data"),
        ('["[SSD:lots]/data"]', None, "[SSD:lots]/data"),
        ("[]", None, ""),
        ("3", None, ""),
        ("[", None, ""),
    ],
)
def test_data_directories_are_added_up(listed: str, size_bytes: int | None, text: str) -> None:
    found = directories(f"[worker]\ndata_dir = {listed}\n", "here")
    assert (found.size_bytes, found.text) == (size_bytes, text)


def test_a_pool_is_its_workers_directories() -> None:
    pool = CURVINE.find(example("curvine"), ())[0].deployed
    # (200 + 100) GiB × 2 workers = 600 GiB
    assert pool.configured.l2.size_bytes == 600 * GIB
    assert pool.wanted == 2
    assert pool.effective.l2.size_bytes is None
    assert [claim.name for claim in pool.claims] == ["curvine-pvc"]
    assert pool.problems == ("Claim llm/curvine-pvc asks for 100 GiB, which Curvine does not hold it to.",)


def test_a_pool_has_targets_where_its_pods_have_addresses() -> None:
    observed = CURVINE.find(example("curvine"), ())[0].observed
    assert isinstance(observed, Replica)
    assert {target.name: target.url for target in observed.targets} == {
        "curvine-master.0": "http://10.3.0.1:9000/metrics",
        "curvine-master-api.0": "http://10.3.0.1:9000/api/workers",
        "curvine-worker.0": "http://10.3.0.2:9001/metrics",  # worker 1 is pending
        "curvine-fuse.1a2b3c4d-0f9e8": "http://172.16.0.1:9002/metrics",  # 0.4.1 and older: 9002
    }


def test_a_fuse_client_of_unknown_version_has_a_problem_instead_of_a_port() -> None:
    found = copy.deepcopy(documents("curvine"))
    fuse = next(one for one in found if "standalone" in one["metadata"]["name"])
    fuse["spec"]["containers"][0]["image"] = "registry.example/curvineio/curvine-csi:latest"
    one = CURVINE.find(objects_of(found), ())[0]
    assert isinstance(one.observed, Replica)
    assert not any("fuse" in target.name for target in one.observed.targets)
    assert "neither --web-port nor its image's tag" in one.deployed.problems[0]


def test_workers_of_openkruise_are_a_pool_whose_size_is_not_known() -> None:
    found = [one for one in copy.deepcopy(documents("curvine")) if one["kind"] != "StatefulSet"]
    for one in found:
        for owner in one["metadata"].get("ownerReferences", ()):
            owner["apiVersion"] = "apps.kruise.io/v1beta1"
    pool = CURVINE.find(objects_of(found), ())[0].deployed
    assert pool.name == "curvine/curvine"
    assert pool.configured.l2.reason == "the number of its workers is not known"
    assert len(pool.pods) == 4
