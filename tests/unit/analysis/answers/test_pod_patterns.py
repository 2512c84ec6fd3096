"""What `--pod` and `--workload` mean, and the pods that are made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan import Cluster, InvalidObject
from bayplan.analysis.answers.pod_patterns import PodPattern, patterns
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.volumes import PersistentVolumeClaimSpec
from bayplan.testing import builders as make


def cluster_of(*built: Any) -> Cluster:
    return Cluster([each.obj() for each in built])


def requests_of(pattern: PodPattern) -> dict[str, Any]:
    return dict(pattern.pod.spec.containers[0].resources.requests)


@pytest.mark.parametrize(
    ("text", "requests", "share"),
    [
        ("cpu=500m,memory=1Gi", {"cpu": "500m", "memory": "1Gi"}, 1),
        ("cpu=2", {"cpu": "2"}, 1),
        ("cpu=2=3", {"cpu": "2"}, 3),
        ("cpu=1, nvidia.com/gpu=4=2", {"cpu": "1", "nvidia.com/gpu": "4"}, 2),
    ],
)
def test_requests_in_words_are_a_pod(text: str, requests: dict[str, str], share: int) -> None:
    (found,) = patterns(cluster_of(make.node("a")), [text], [])
    assert (requests_of(found), found.share) == (requests, share)


def test_a_file_of_a_workload_stands_for_its_next_pod(tmp_path: Path) -> None:
    file = tmp_path / "web.json"
    web = make.deployment("web").replicas(2).template(make.pod("t").labels(app="web").cpu("1")).manifest()
    file.write_bytes(msgspec.json.encode(web.obj()))
    (found,) = patterns(cluster_of(make.node("a")), [f"{file}=2"], [])
    assert (found.name, found.share, requests_of(found)) == (str(file), 2, {"cpu": "1"})
    assert [type(obj).__name__ for obj in found.along] == ["ReplicaSet"]


def test_a_pod_that_runs_is_a_pattern_without_its_node() -> None:
    running = make.pod("x").cpu("1").running("a")
    (found,) = patterns(cluster_of(make.node("a"), running), [], ["x"])
    assert (found.pod.spec.node_name, found.pod.status.phase) == ("", "")


def test_replicas_have_names_that_no_pod_has() -> None:
    taken = [make.pod("x").cpu("1"), make.pod("x-1").running("a")]
    one, other = patterns(cluster_of(make.node("a"), *taken), [], ["x", "x"])
    names = {pattern.replica(number)[0].metadata.name for pattern in (one, other) for number in (1, 2)}
    assert len(names) == 4
    assert names.isdisjoint({"x", "x-1"})


def test_each_replica_of_a_stateful_set_has_claims_of_its_own() -> None:
    db = make.stateful_set("db").template(make.pod("t").labels(app="db")).claim_template(make.claim("data"))
    (found,) = patterns(cluster_of(make.node("a"), db), [], ["sts/db"])
    made = [found.replica(number) for number in (1, 2)]
    claims = [claim.metadata.name for _, along in made for claim in along if isinstance(claim, PersistentVolumeClaim)]
    assert len(set(claims)) == 2
    mounted = [pod.spec.volumes[0].persistent_volume_claim for pod, _ in made]
    assert [source.claim_name for source in mounted if source is not None] == claims
    names = [pod.metadata.name for pod, _ in made]
    assert [pod.metadata.labels["statefulset.kubernetes.io/pod-name"] for pod, _ in made] == names


def test_an_ephemeral_volume_is_another_claim_for_each_replica() -> None:
    (found,) = patterns(
        cluster_of(make.node("a"), make.pod("x").ephemeral("tmp", PersistentVolumeClaimSpec())), [], ["x"]
    )
    (first,), (second,) = (found.replica(number)[1] for number in (1, 2))
    assert first.metadata.name != second.metadata.name


@pytest.mark.parametrize(
    ("pods", "workloads", "message"),
    [
        ((), (), "name a pod with --pod"),
        (("cpu",), (), "cpu: no such file or directory"),
        (("cpu:500m,memory:1Gi",), (), "'cpu:500m,memory:1Gi': expected a file, or requests: cpu=500m,memory=1Gi"),
        (("cpu=1,cpu=2",), (), "expected a file, or requests"),
        (("",), (), "expected a file, or requests"),
        (("cpu=much",), (), "quantities must match"),
        (("cpu=1=0",), (), "must be from 1 to 1,000"),
        ((), ("deployment/nope",), "Deployment default/nope: not found in the input"),
        ((), ("ds/agent",), "runs one pod on each node"),
        ((), ("nope",), "Pod default/nope: not found"),
        ((), ("x=5000",), "must be from 1 to 1,000"),
    ],
)
def test_what_cannot_be_understood(pods: tuple[str, ...], workloads: tuple[str, ...], message: str) -> None:
    cluster = cluster_of(make.node("a"), make.pod("x"), make.daemon_set("agent").template(make.pod("t")))
    with pytest.raises(InvalidObject) as caught:
        patterns(cluster, pods, workloads)
    assert message in str(caught.value)


def test_a_file_must_hold_one_pod_or_workload(tmp_path: Path) -> None:
    file = tmp_path / "two.json"
    file.write_bytes(b"\n".join(msgspec.json.encode(make.pod(name).manifest().obj()) for name in "ab"))
    with pytest.raises(InvalidObject, match="found 2"):
        patterns(cluster_of(make.node("n")), [str(file)], [])


def test_classes_in_the_file_count(tmp_path: Path) -> None:
    file = tmp_path / "pod.json"
    objects = [make.priority_class("top", 7).manifest().obj(), make.pod("a").manifest().priority_class("top").obj()]
    file.write_bytes(b"\n".join(msgspec.json.encode(each) for each in objects))
    (found,) = patterns(cluster_of(make.node("n")), [str(file)], [])
    assert found.pod.spec.priority == 7
