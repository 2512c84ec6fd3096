"""Manifests that people use, run through time: what becomes of their pods, and why of those that wait.

Each story takes files as they were published, gives them nodes, and sometimes does something to them later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.default_storage_class import EXPLANATION
from bayplan.analysis.simulation.inputs.commands import Apply, Command, Drain, PlannedCommand
from bayplan.analysis.simulation.running import simulate
from bayplan.cli.main import run as command
from bayplan.model.kinds import Object
from bayplan.model.reading import read
from bayplan.testing import builders as make
from bayplan.testing.builders import NodeBuilder

MINUTE = 60
Plain: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[..., list[Object]]


@pytest.fixture
def manifests(shared: Path) -> Reader:
    """Reads published files by name."""
    folder = shared / "data" / "manifests"
    if not folder.is_dir():
        pytest.skip("no manifests among the reference data")
    return lambda *names: read([folder / f"{name}.yaml" for name in names]).objects


def workers(number: int, zones: str = "a") -> list[NodeBuilder]:
    """Linux machines of eight CPUs, spread over the zones."""
    return [
        make.node(f"worker-{place}")
        .capacity({"cpu": "8", "memory": "32Gi", "pods": 110, "ephemeral-storage": "100Gi"})
        .labels({"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"})
        .zone(zones[place % len(zones)])
        for place in range(number)
    ]


def play(
    objects: Iterable[Object], nodes: list[NodeBuilder], *plans: PlannedCommand, until: int = 20 * MINUTE
) -> Plain:
    machines = [one.manifest().obj() for one in nodes]
    return simulate(Cluster([*machines, *objects]), plans, until=until).to_dict()


def at(minutes: float, command: Command) -> PlannedCommand:
    return PlannedCommand(round(minutes * MINUTE) * 1_000_000_000, command, "test")


def workload(objects: Iterable[Object], name: str) -> Any:
    return next(one for one in objects if one.metadata.name == name and type(one).__name__ != "Service")


def with_new_image(deployment: Any) -> Any:
    """The same with another template, as a release would bring it."""
    spec = deployment.spec.template.spec
    containers = [replace(spec.containers[0], image="example.com/next:2"), *spec.containers[1:]]
    template = replace(deployment.spec.template, spec=replace(spec, containers=containers))
    return replace(deployment, spec=replace(deployment.spec, template=template))


def of(run: Plain, owner: str) -> list[Plain]:
    """The pods of a workload, in order of creation."""
    return [pod for pod in run["pods"] if pod["owner"] == owner]


def running(run: Plain) -> Counter[str]:
    """How many pods run at the end, by workload."""
    return Counter(pod["owner"] for pod in run["pods"] if pod["end"] == "running" and pod["started"] is not None)


def reasons(run: Plain) -> dict[str, int]:
    """Why pods wait at the end, without what preemption could not do about it; and how many."""
    return {one["message"].split(". ")[0]: len(one["pods"]) for one in run["waiting"]}


def most_at_once(pods: list[Plain], begin: str, end: str) -> int:
    changes = [(pod[begin], 1) for pod in pods if pod[begin] is not None]
    changes += [(pod[end], -1) for pod in pods if pod[begin] is not None and pod[end] is not None]
    level = peak = 0
    for _, step in sorted(changes):
        level += step
        peak = max(peak, level)
    return peak


def test_online_boutique_runs_and_rolls(manifests: Reader) -> None:
    """Twelve Deployments start; a release replaces its pod only when the new one is ready."""
    objects = manifests("online-boutique")
    release = with_new_image(workload(objects, "frontend"))
    run = play(objects, workers(3), at(10, Apply((release,))))
    assert running(run) == dict.fromkeys(
        (f"Deployment default/{one.metadata.name}" for one in objects if type(one).__name__ == "Deployment"), 1
    )
    assert (len(running(run)), run["waiting"], run["notes"]) == (12, [], [])
    before, after = of(run, "Deployment default/frontend")
    assert after["created"] == pytest.approx(600, abs=1)
    assert (before["end"], after["end"]) == ("deleted", "running")
    assert before["ended"] > after["started"]


def test_bookinfo_on_too_small_a_node(manifests: Reader) -> None:
    """The one thing a node without room for pods can say."""
    run = play(manifests("istio-bookinfo"), [make.node("small").capacity(pods=4)])
    assert running(run).total() == 4
    assert reasons(run) == {"0/1 nodes are available: 1 Too many pods": 2}


def test_wordpress_has_storage_made_and_is_recreated(manifests: Reader) -> None:
    """Its claim names no class; a default one stands in and is told. Recreate means: first the old pod goes."""
    objects = manifests("k8s-docs-wordpress")
    run = play(objects, workers(2), at(10, Apply((with_new_image(workload(objects, "wordpress")),))))
    assert [note["message"] for note in run["notes"]] == [EXPLANATION]
    before, after = of(run, "Deployment default/wordpress")
    assert before["ended"] <= after["created"]
    assert after["end"] == "running"
    assert running(run) == {"Deployment default/wordpress": 1}


def test_wordpress_where_volumes_are_given(manifests: Reader) -> None:
    """Nothing is made up beside volumes of the user's own: one that is too small will not do."""
    small = make.volume("disk").storage("1Gi").manifest().obj()
    run = play([*manifests("k8s-docs-wordpress"), small], workers(2))
    assert run["notes"] == []
    assert reasons(run) == {"0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims": 1}


@pytest.mark.parametrize(
    ("hosts", "waiting"), [(3, {}), (2, {"0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules": 1})]
)
def test_zookeeper_needs_three_hosts(manifests: Reader, hosts: int, waiting: dict[str, int]) -> None:
    """One server after another, each on a host of its own; the third waits where there are two."""
    run = play(manifests("k8s-docs-zookeeper"), workers(hosts))
    pods = of(run, "StatefulSet default/zk")
    assert [pod["key"] for pod in pods] == ["default/zk-0", "default/zk-1", "default/zk-2"]
    assert all(later["created"] >= earlier["started"] for earlier, later in pairwise(pods))
    assert len({pod["node"] for pod in pods if pod["node"]}) == hosts
    assert reasons(run) == waiting


def test_zookeeper_as_a_gate(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same from the command line: it fails where a pod waits, and says why and what it assumed."""
    file = shared / "data" / "manifests" / "k8s-docs-zookeeper.yaml"
    if not file.is_file():
        pytest.skip("no manifests among the reference data")
    machine = tmp_path / "node.yaml"
    machine.write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: w}, status: {capacity: {cpu: 4, memory: 8Gi, pods: 9}}}"
    )
    asked = ["simulate", "-f", str(file), "--until", "10m", "--fail-on", "pending", "--nodes"]
    assert command([*asked, f"{machine}=2"]) == 1
    said = capsys.readouterr()
    assert "Pending at the end: default/zk-2" in said.out
    assert "2 node(s) didn't match pod anti-affinity rules" in said.out
    assert EXPLANATION in " ".join(said.out.split())  # long lines are wrapped
    assert command([*asked, f"{machine}=3"]) == 0


def test_zookeeper_keeps_its_quorum_through_drains(manifests: Reader) -> None:
    """Two hosts are drained at once: the second server goes when the first runs elsewhere, and then has to wait."""
    run = play(manifests("k8s-docs-zookeeper"), workers(4), at(10, Drain(("worker-0", "worker-1"))))
    *first, moved, waiting = of(run, "StatefulSet default/zk")
    gone = [pod for pod in first if pod["end"] == "deleted"]
    assert run["summary"]["evictions"] == {"drain": 2}
    assert {pod["node"] for pod in gone} == {"worker-0", "worker-1"}
    assert min(pod["ended"] for pod in gone) < moved["started"] < max(pod["ended"] for pod in gone)
    assert waiting["end"] == "pending"
    assert reasons(run) == {
        "0/4 nodes are available: 2 node(s) didn't match pod anti-affinity rules, 2 node(s) were unschedulable": 1
    }


def test_mysql_stands_in_three_zones(manifests: Reader) -> None:
    """Spread over zones and hosts, each with a disk of its class, made where the pod went."""
    objects = manifests("gke-samples-mysql-statefulset", "gke-samples-mysql-storageclass", "gke-samples-mysql-pdb")
    run = play(objects, workers(6, "abc"))
    pods = of(run, "StatefulSet default/dbc1")
    assert running(run) == {"StatefulSet default/dbc1": 3}
    assert {int(pod["node"][-1]) % 3 for pod in pods} == {0, 1, 2}
    assert run["notes"] == []


def test_mysql_waits_for_a_class_that_is_missing(manifests: Reader) -> None:
    """No class is made up for a claim that names one."""
    run = play(manifests("gke-samples-mysql-statefulset"), workers(6, "abc"))
    assert reasons(run) == {"0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims": 1}
    assert run["notes"] == []


def gpu_machines(number: int) -> list[NodeBuilder]:
    return [
        make.node(f"gpu-{place}")
        .capacity({"cpu": "24", "memory": "96Gi", "nvidia.com/gpu": "2", "ephemeral-storage": "300Gi", "pods": 110})
        .label("cloud.google.com/gke-accelerator", "nvidia-l4")
        for place in range(number)
    ]


def test_inference_takes_the_place_of_training(manifests: Reader) -> None:
    """A suspended Job has no pods; released, it takes all GPUs, until inference of higher priority needs two."""
    classes = manifests("gke-samples-ai-high-priorityclass", "gke-samples-ai-low-priorityclass")
    training, inference = manifests("gke-samples-ai-fine-tune-job"), manifests("gke-samples-ai-inference-high-priority")
    job = workload(training, "finetune-gemma-l4")
    release = replace(job, spec=replace(job.spec, suspend=False))
    run = play([*classes, *training], gpu_machines(2), at(5, Apply((release,))), at(10, Apply(tuple(inference))))
    tuning = of(run, "Job default/finetune-gemma-l4")
    assert min(pod["created"] for pod in tuning) == pytest.approx(300, abs=1)
    (preemption,) = run["preemptions"]
    assert preemption["t"] == pytest.approx(600, abs=1)
    assert [victim["priority"] for victim in preemption["victims"]] == [20]
    assert running(run) == {"Job default/finetune-gemma-l4": 1, "Deployment default/tgi-gemma-deployment": 1}
    assert reasons(run) == {"0/2 nodes are available: 2 Insufficient nvidia.com/gpu": 1}


def test_inference_without_its_priority_class(manifests: Reader) -> None:
    """No pod can be created, and the run says why instead of showing nothing."""
    run = play(manifests("gke-samples-ai-inference-high-priority"), gpu_machines(1))
    assert run["summary"]["pods"]["created"] == 0
    (note,) = run["notes"]
    assert note["source"] == "replicaset-controller"
    assert note["message"].startswith("default/tgi-gemma-deployment-")
    assert note["message"].endswith("is forbidden: no PriorityClass with name high-priority-preempting was found")


def test_placeholders_make_room(manifests: Reader) -> None:
    """The capacity reservation of the documentation: real work evicts it, and it comes back to wait."""
    objects = manifests("k8s-docs-capacity-reservation", "k8s-docs-low-priority-class")
    work = make.deployment("work").replicas(1).selects(app="work")
    work = work.template(make.pod("work").labels(app="work").memory("32400Mi"))
    run = play(objects, workers(1), at(5, Apply((work.manifest().obj(),))))
    held = of(run, "Deployment default/capacity-reservation")
    assert [pod["end"] for pod in held] == ["preempted", "pending"]
    assert running(run) == {"Deployment default/work": 1}


def test_spread_over_hosts_and_zones(manifests: Reader) -> None:
    """Fifty pods, hosts within two of each other and zones within five, until there is no room."""
    run = play(manifests("karpenter-spread-hostname-zone"), workers(5, "ab"))
    hosts = Counter(pod["node"] for pod in run["pods"] if pod["node"])
    zones = Counter(int(node[-1]) % 2 for node in hosts.elements())
    assert max(hosts.values()) - min(hosts.values()) <= 2
    assert abs(zones[0] - zones[1]) <= 5
    assert hosts.total() + run["summary"]["pods"]["pending"] == 50
    assert hosts.total() >= 35
    assert all(message.startswith("0/5 nodes are available: ") for message in reasons(run))


def test_a_drain_heeds_a_budget_of_shares(manifests: Reader) -> None:
    """Of ten pods eight must stay: at no time are more than two away."""
    run = play(manifests("karpenter-disruption-budget"), workers(3), at(10, Drain(("worker-0",))))
    pods = of(run, "Deployment default/pdb")
    evicted = [pod for pod in pods if pod["end"] == "deleted"]
    assert len(evicted) == run["summary"]["evictions"]["drain"] > 2
    assert running(run) == {"Deployment default/pdb": 10}
    replacements = pods[10:]
    downtimes = [{"from": old["ended"], "to": new["started"]} for old, new in zip(evicted, replacements, strict=True)]
    assert most_at_once(downtimes, "from", "to") <= 2


def test_daemons_on_every_node(manifests: Reader) -> None:
    """One pod of each DaemonSet on each node that its selectors and tolerations allow, also on one that comes later."""
    objects = manifests("kube-flannel", "kube-prometheus-node-exporter-daemonset", "nvidia-device-plugin")
    tainted = workers(3)
    tainted[0].taint("node-role.kubernetes.io/control-plane")
    late = make.node("late").capacity(cpu="4", memory="8Gi", pods=110)
    late.labels({"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"})
    run = play(objects, tainted, at(5, Apply((late.manifest().obj(),))))
    assert running(run) == {
        "DaemonSet kube-flannel/kube-flannel-ds": 4,
        "DaemonSet monitoring/node-exporter": 4,
        "DaemonSet kube-system/nvidia-device-plugin-daemonset": 3,
    }
    assert [pod["created"] for pod in run["pods"] if pod["node"] == "late"] == pytest.approx([300.0] * 3, abs=1)


@pytest.mark.parametrize(("hosts", "waiting"), [(3, 0), (2, 2)])
def test_argo_cd_is_highly_available_on_three_hosts(manifests: Reader, hosts: int, waiting: int) -> None:
    """The third redis server and the third proxy find no host of their own on two."""
    run = play(manifests("argocd-ha-namespace-install"), workers(hosts))
    assert run["summary"]["pods"]["pending"] == waiting
    if waiting:
        assert reasons(run) == {
            f"0/{hosts} nodes are available: {hosts} node(s) didn't match pod anti-affinity rules": 2
        }
        assert {pod["owner"] for pod in run["pods"] if pod["end"] == "pending"} == {
            "Deployment default/argocd-redis-ha-haproxy",
            "StatefulSet default/argocd-redis-ha-server",
        }


def test_longhorn(manifests: Reader) -> None:
    """Its own priority class comes with it; a manager on every node."""
    run = play(manifests("longhorn"), workers(3))
    assert run["summary"]["pods"]["pending"] == 0
    assert running(run)["DaemonSet longhorn-system/longhorn-manager"] == 3
    assert run["classes"]["longhorn-critical"] == 1_000_000_000


def test_descheduler_runs_every_two_minutes(manifests: Reader) -> None:
    """A CronJob: ten runs of half a minute, each started a tenth of a second after its time."""
    (cron_job,) = manifests("descheduler-cronjob")
    assert type(cron_job).__name__ == "CronJob"
    cron_job.spec.job_template.spec.template.metadata.annotations["bayplan/run-seconds"] = "30"  # type: ignore[union-attr]
    run = play([cron_job], workers(1), until=21 * MINUTE)
    assert [pod["created"] for pod in run["pods"]] == pytest.approx(
        [120 * turn + 0.1 for turn in range(1, 11)], abs=0.05
    )
    assert Counter(pod["end"] for pod in run["pods"]) == {"finished": 10}


def test_descheduler_that_hangs_is_not_started_again(manifests: Reader) -> None:
    run = play(manifests("descheduler-cronjob"), workers(1), until=60 * MINUTE)
    assert [pod["end"] for pod in run["pods"]] == ["running"]


def test_indexed_job(manifests: Reader) -> None:
    """Five pieces of work, three at a time."""
    (job,) = manifests("k8s-docs-indexed-job")
    job.spec.template.metadata.annotations["bayplan/run-seconds"] = "60"  # type: ignore[union-attr]
    run = play([job], workers(2))
    assert Counter(pod["end"] for pod in run["pods"]) == {"finished": 5}
    assert most_at_once(run["pods"], "created", "ended") == 3


def test_a_gated_pod_is_never_tried(manifests: Reader) -> None:
    run = play(manifests("k8s-docs-scheduling-gates"), workers(2))
    assert run["waiting"] == [{"message": "", "pods": ["default/test-pod"]}]


def test_affinity_waits_for_its_friend(manifests: Reader) -> None:
    """The pod of the documentation waits until a pod with the label S1 runs in some zone, and joins it there."""
    friend = make.pod("friend").labels(security="S1").node_selector({"topology.kubernetes.io/zone": "b"})
    run = play(manifests("k8s-docs-pod-affinity"), workers(2, "ab"), at(5, Apply((friend.manifest().obj(),))))
    waited, joined = run["pods"]
    assert (waited["node"], joined["node"]) == ("worker-1", "worker-1")
    assert waited["bound"] > joined["bound"] > 300


def test_all_of_them_in_one_cluster(shared: Path, manifests: Reader) -> None:
    """With zones and GPUs everything runs but what lacks something: a gate's opening, a friend, a label, a release."""
    names = sorted(file.stem for file in (shared / "data" / "manifests").glob("*.yaml"))
    run = play(manifests(*names), [*workers(15, "abc"), *gpu_machines(3)], until=60 * MINUTE)
    assert {key: group["message"].partition(". ")[0] for group in run["waiting"] for key in group["pods"]} == {
        "default/test-pod": "",
        "default/with-pod-affinity": "0/18 nodes are available: 18 node(s) didn't match pod affinity rules",
        "default/mypod": "0/18 nodes are available: 18 node(s) didn't match pod topology spread constraints "
        "(missing required label)",
    }
    assert of(run, "Job default/finetune-gemma-l4") == []
    assert running(run)["Deployment default/host-zone-spread"] == 50
    assert running(run)["DaemonSet kube-system/nvidia-device-plugin-daemonset"] == 18
    assert run["preemptions"] == []
    assert {note["source"] for note in run["notes"]} == {"storage", "jobs"}
