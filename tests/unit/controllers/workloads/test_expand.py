"""What workloads would create: how many, called what, owned by whom, and what comes along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bayplan.admission import admit
from bayplan.controllers.ownership import Ownership
from bayplan.controllers.workloads.expand import PendingWorkload, next_to_create, pods_to_create
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.workloads import ReplicaSet, StatefulSetOrdinals
from bayplan.testing.builders import (
    claim,
    cron_job,
    daemon_set,
    deployment,
    job,
    node,
    pod,
    replica_set,
    replication_controller,
    stateful_set,
    storage_class,
)
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

TEMPLATE = pod("t").labels(app="x").cpu("1")


def expand(*given: Builder[Any] | Object) -> list[PendingWorkload]:
    return pods_to_create(admitted(*given))


def admitted(*given: Builder[Any] | Object) -> list[Object]:
    return admit([one.obj() if isinstance(one, Builder) else one for one in given])


def names(*given: Builder[Any] | Object) -> list[str]:
    return [one.metadata.name for pending in expand(*given) for one in pending.pods]


def owned(owner: Builder[Any], *built: str, change: Callable[[PodBuilder], Any] = lambda _: None) -> list[Object]:
    made: list[Object] = []
    for name in built:
        one = pod(name).labels(app="x").owner(owner).running("n1")
        change(one)
        made.append(one.obj())
    return made


WEB = deployment("web").replicas(3).template(TEMPLATE)
SET = replica_set("set").replicas(3).template(TEMPLATE)
DB = stateful_set("db").replicas(3).template(TEMPLATE)


# How many.


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([SET], ["set-new-1", "set-new-2", "set-new-3"], id="none there"),
        pytest.param([SET, *owned(SET, "a", "b")], ["set-new-1"], id="existing are taken off"),
        pytest.param([SET, *owned(SET, "a", "b", "c", "d")], [], id="more than wanted"),
        pytest.param(
            [SET, *owned(SET, "a", "b", "c", change=lambda p: p.phase("Failed"))],
            ["set-new-1", "set-new-2", "set-new-3"],
            id="ended ones do not count",
        ),
        pytest.param(
            [SET, *owned(SET, "a", "b"), *owned(SET, "c", change=lambda p: p.terminating())],
            ["set-new-1"],
            id="one that is being deleted is replaced at once",
        ),
        pytest.param(
            [SET, *owned(SET, "a", change=lambda p: p.namespace("other"))],
            ["set-new-1", "set-new-2", "set-new-3"],
            id="of another namespace",
        ),
        pytest.param(
            [SET, *owned(replica_set("set").uid("earlier"), "a")],
            ["set-new-1", "set-new-2", "set-new-3"],
            id="of an earlier set of the name",
        ),
        pytest.param([SET, *owned(replica_set("set").manifest(), "a", "b")], ["set-new-1"], id="uid not known"),
        pytest.param(
            [SET, pod("set-new-1")], ["set-new-2", "set-new-3", "set-new-4"], id="names in use are passed over"
        ),
        pytest.param([replica_set("set").template(TEMPLATE)], ["set-new-1"], id="replicas left out"),
        pytest.param([replica_set("set").replicas(0).template(TEMPLATE)], [], id="none wanted"),
        pytest.param(
            [replication_controller("rc").replicas(2).template(TEMPLATE)],
            ["rc-new-1", "rc-new-2"],
            id="replication controller",
        ),
        pytest.param([cron_job("nightly")], [], id="cron jobs create nothing"),
    ],
)
def test_replica_sets(objects: list[Builder[Any] | Object], expected: list[str]) -> None:
    assert names(*objects) == expected


def own_replica_set(name: str, template_hash: str, template: PodBuilder = TEMPLATE) -> Builder[ReplicaSet]:
    pattern = PodBuilder("t").labels(template.obj().metadata.labels).labels({"pod-template-hash": template_hash})
    pattern._object.spec = template.obj().spec
    return replica_set(name).replicas(3).template(pattern).owner(WEB)


def test_a_deployment_without_replica_sets_gets_one_made_up() -> None:
    (pending,) = expand(WEB)
    (made,) = pending.along
    assert isinstance(made, ReplicaSet)
    template_hash = made.metadata.labels["pod-template-hash"]
    assert made.metadata.name == f"web-{template_hash}"
    assert len(template_hash) == 10
    assert made.metadata.owner_references[0].kind == "Deployment"
    assert made.spec.selector is not None
    assert made.spec.selector.match_labels == {"app": "x", "pod-template-hash": template_hash}
    assert [one.metadata.name for one in pending.pods] == ["web-new-1", "web-new-2", "web-new-3"]
    for one in pending.pods:
        (reference,) = one.metadata.owner_references
        assert (reference.api_version, reference.kind, reference.name, reference.controller) == (
            "apps/v1",
            "ReplicaSet",
            made.metadata.name,
            True,
        )
        assert one.metadata.labels == {"app": "x", "pod-template-hash": template_hash}
    assert pending.objects() == [made, *pending.pods]
    assert [one.metadata.name for one in expand(WEB)[0].along] == [made.metadata.name], "the same every time"


def test_a_deployment_uses_the_replica_set_of_its_template() -> None:
    older = own_replica_set("web-old", "old", TEMPLATE_2)
    current = own_replica_set("web-now", "now")
    (pending,) = expand(WEB, older, current, *owned(older, "a"), *owned(current, "b"))
    assert pending.along == []
    assert [one.metadata.name for one in pending.pods] == ["web-new-1"]
    assert pending.pods[0].metadata.owner_references[0].name == "web-now"
    assert pending.pods[0].metadata.labels == {"app": "x", "pod-template-hash": "now"}


TEMPLATE_2 = pod("t").labels(app="x").cpu("2")


def test_a_changed_template_means_a_new_replica_set_unless_paused() -> None:
    older = own_replica_set("web-old", "old", TEMPLATE_2)
    (pending,) = expand(WEB, older, *owned(older, "a"))
    assert len(pending.along) == 1
    assert pending.pods[0].metadata.owner_references[0].name == pending.along[0].metadata.name
    paused = deployment("web").replicas(3).template(TEMPLATE).set(paused=True)
    (pending,) = expand(paused, older, *owned(older, "a"))
    assert pending.along == []
    assert pending.pods[0].metadata.owner_references[0].name == "web-old"


def test_replica_sets_of_a_deployment_are_not_expanded_twice() -> None:
    current = own_replica_set("web-now", "now")
    assert [one.workload.metadata.name for one in expand(current, WEB)] == ["web"]
    assert [one.workload.metadata.name for one in expand(current)] == ["web-now"], "its Deployment is not there"


def test_pods_of_a_deployment_count_even_if_the_input_left_out_its_replica_set() -> None:
    left_out = replica_set("web-abc12").uid("rs-uid")
    pods = owned(left_out, "web-abc12-x", "web-abc12-y", change=lambda p: p.labels({"pod-template-hash": "abc12"}))
    (pending,) = expand(WEB, *pods)
    assert [one.metadata.name for one in pending.pods] == ["web-new-1"]
    (made,) = pending.along
    assert (made.metadata.name, made.metadata.uid) == ("web-abc12", "rs-uid")
    assert pending.pods[0].metadata.labels["pod-template-hash"] == "abc12"


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([DB], ["db-0", "db-1", "db-2"], id="none there"),
        pytest.param([DB, *owned(DB, "db-1")], ["db-0", "db-2"], id="gaps are filled"),
        pytest.param([DB, *owned(DB, "db-7")], ["db-0", "db-1", "db-2"], id="beyond the end"),
        pytest.param(
            [DB, *owned(DB, "db-1", change=lambda p: p.terminating())], ["db-0", "db-2"], id="going but not gone"
        ),
        pytest.param(
            [DB, *owned(DB, "db-1", change=lambda p: p.phase("Failed"))], ["db-0", "db-1", "db-2"], id="ended"
        ),
        pytest.param([DB, pod("db-0")], ["db-1", "db-2"], id="a stranger has the name"),
        pytest.param(
            [stateful_set("db").replicas(2).template(TEMPLATE).set(ordinals=StatefulSetOrdinals(start=5))],
            ["db-5", "db-6"],
            id="first ordinal",
        ),
    ],
)
def test_stateful_sets(objects: list[Builder[Any] | Object], expected: list[str]) -> None:
    assert names(*objects) == expected


def test_pods_of_a_stateful_set_know_their_place_and_their_claims() -> None:
    pattern = pod("t").labels(app="x").claim("data").claim("shared")
    data = claim("data").storage("5Gi").labels(kind="disk")
    owner = stateful_set("db").replicas(2).template(pattern).claim_template(data)
    (pending,) = expand(owner, claim("data-db-0"))
    first, second = pending.pods
    assert first.metadata.labels == {
        "app": "x",
        "statefulset.kubernetes.io/pod-name": "db-0",
        "apps.kubernetes.io/pod-index": "0",
    }
    mounted = [
        (volume.name, volume.persistent_volume_claim.claim_name)
        for volume in second.spec.volumes
        if volume.persistent_volume_claim
    ]
    assert mounted == [("data", "data-db-1"), ("shared", "shared")]
    (made,) = pending.along
    assert isinstance(made, PersistentVolumeClaim)
    assert (made.metadata.name, made.metadata.namespace) == ("data-db-1", "default")
    assert made.metadata.labels == {"kind": "disk", "app": "x"}
    assert made.spec.resources.requests == {"storage": "5Gi"}


def test_admitting_new_claims_leaves_their_template_alone() -> None:
    owner = stateful_set("db").template(TEMPLATE).claim_template(claim("data"))
    objects = admitted(owner, storage_class("fast", default=True))
    (pending,) = pods_to_create(objects)
    admit(pending.objects(), beside=objects)
    assert isinstance(pending.along[0], PersistentVolumeClaim)
    assert pending.along[0].spec.storage_class_name == "fast"
    assert owner.obj().spec.volume_claim_templates[0].spec.storage_class_name is None
    (again,) = pods_to_create(objects)
    assert isinstance(again.along[0], PersistentVolumeClaim)
    assert again.along[0].spec.storage_class_name is None


def test_ephemeral_volumes_bring_their_claims() -> None:
    pattern = pod("t").labels(app="x").ephemeral("scratch", claim("t").storage("3Gi").obj().spec)
    (pending,) = expand(replica_set("set").template(pattern))
    (made,) = pending.along
    assert isinstance(made, PersistentVolumeClaim)
    assert made.metadata.name == "set-new-1-scratch"
    assert made.metadata.owner_references[0].kind == "Pod"
    assert made.spec.resources.requests == {"storage": "3Gi"}


def done(builder: Builder[Any], condition: str) -> Object:
    made: Object = builder.obj()
    made.status.conditions.append(Condition(type=condition, status="True"))  # type: ignore[union-attr]
    return made


BATCH = job("batch").template(TEMPLATE)
FIVE = job("batch").template(TEMPLATE).set(parallelism=3, completions=5)
QUEUE = job("batch").template(TEMPLATE).set(parallelism=2)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([BATCH], 1, id="one by default"),
        pytest.param([FIVE], 3, id="parallelism"),
        pytest.param([FIVE, *owned(FIVE, "a")], 2, id="active are taken off"),
        pytest.param(
            [FIVE, *owned(FIVE, "a", "b", "c", "d", change=lambda p: p.phase("Succeeded"))], 1, id="what is left"
        ),
        pytest.param(
            [FIVE, *owned(FIVE, "a", "b", change=lambda p: p.phase("Failed"))], 3, id="failed are tried again"
        ),
        pytest.param([job("batch").template(TEMPLATE).set(suspend=True)], 0, id="suspended"),
        pytest.param([job("batch").template(TEMPLATE).set(parallelism=0)], 0, id="parallelism 0"),
        pytest.param([done(BATCH, "Complete")], 0, id="complete"),
        pytest.param([done(BATCH, "Failed")], 0, id="failed"),
        pytest.param([QUEUE], 2, id="work queue"),
        pytest.param(
            [QUEUE, *owned(QUEUE, "a", change=lambda p: p.phase("Succeeded"))], 0, id="work queue after a success"
        ),
    ],
)
def test_jobs(objects: list[Builder[Any] | Object], expected: int) -> None:
    assert names(*objects) == [f"batch-new-{i + 1}" for i in range(expected)]


def test_a_job_counts_successes_that_left_no_pod() -> None:
    made = FIVE.obj()
    made.status.succeeded = 4
    assert len(names(made)) == 1


def test_job_pods_carry_the_labels_of_their_job() -> None:
    (pending,) = expand(BATCH)
    assert pending.pods[0].metadata.labels == {
        "app": "x",
        "batch.kubernetes.io/job-name": "batch",
        "job-name": "batch",
        "batch.kubernetes.io/controller-uid": "job-default-batch",
        "controller-uid": "job-default-batch",
    }


def test_indexed_jobs_fill_open_indexes() -> None:
    label = "batch.kubernetes.io/job-completion-index"
    owner = job("batch").template(TEMPLATE).set(parallelism=4, completions=9, completion_mode="Indexed")
    made = owner.obj()
    made.status.completed_indexes = "0-2,4"
    made.status.succeeded = 4
    (pending,) = expand(made, *owned(owner, "a", change=lambda p: p.labels({label: "3"})))
    assert [one.metadata.name for one in pending.pods] == ["batch-5", "batch-6", "batch-7"]
    assert [one.metadata.labels[label] for one in pending.pods] == ["5", "6", "7"]


# DaemonSets.


AGENT = daemon_set("agent").template(pod("t").labels(app="x"))


def agent(change: Callable[[PodBuilder], Any]) -> Builder[Any]:
    pattern = pod("t").labels(app="x")
    change(pattern)
    return daemon_set("agent").template(pattern)


PRESSED = node("n1")
for why in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"):
    PRESSED.taint(f"node.kubernetes.io/{why}")
PRESSED.taint("node.kubernetes.io/not-ready", effect="NoExecute")
PRESSED.taint("node.kubernetes.io/unreachable", effect="NoExecute")
OFFLINE = node("n1").taint("node.kubernetes.io/network-unavailable")


@pytest.mark.parametrize(
    ("owner", "place", "expected"),
    [
        pytest.param(AGENT, node("n1"), True, id="plain"),
        pytest.param(AGENT, node("n1").taint("gpu"), False, id="taint"),
        pytest.param(AGENT, node("n1").taint("gpu", effect="NoExecute"), False, id="NoExecute"),
        pytest.param(AGENT, node("n1").taint("gpu", effect="PreferNoSchedule"), True, id="soft taint"),
        pytest.param(agent(lambda p: p.tolerates("gpu")), node("n1").taint("gpu"), True, id="tolerated"),
        pytest.param(AGENT, PRESSED, True, id="troubles that daemons bear"),
        pytest.param(AGENT, OFFLINE, False, id="no network"),
        pytest.param(agent(lambda p: p.host_network()), OFFLINE, True, id="no network on the host's"),
        pytest.param(AGENT, node("n1").unschedulable(), True, id="cordoned"),
        pytest.param(agent(lambda p: p.node_selector(disk="ssd")), node("n1"), False, id="selector"),
        pytest.param(
            agent(lambda p: p.node_selector(disk="ssd")), node("n1").labels(disk="ssd"), True, id="selector matches"
        ),
        pytest.param(
            agent(lambda p: p.node_affinity("disk in (ssd)", "metadata.name=n1")), node("n1"), True, id="any term"
        ),
        pytest.param(agent(lambda p: p.node_affinity("disk in (ssd)")), node("n1"), False, id="no term"),
        pytest.param(agent(lambda p: p.node_affinity("disk in (ssd)", weight=5)), node("n1"), True, id="preference"),
        pytest.param(agent(lambda p: p.node("n2")), node("n1"), False, id="meant for another node"),
        pytest.param(AGENT, node("n1").capacity(cpu=0, pods=0), True, id="room is not looked at"),
    ],
)
def test_where_daemons_run(owner: Builder[Any], place: Builder[Any], expected: bool) -> None:
    assert names(owner, place) == (["agent-n1"] if expected else [])


def test_daemons_are_pinned_and_tolerant() -> None:
    pattern = (
        pod("t")
        .labels(app="x")
        .node_affinity("a", "b")
        .node_affinity("c", weight=1)
        .tolerates("node.kubernetes.io/not-ready", effect="NoExecute", seconds=5)
    )
    owner = daemon_set("agent").template(pattern)
    (pending,) = expand(owner, node("n1").labels(a=""), node("n2").labels(b=""))
    assert [one.metadata.name for one in pending.pods] == ["agent-n1", "agent-n2"]
    for one, name in zip(pending.pods, ("n1", "n2"), strict=True):
        assert one.spec.node_name == ""
        affinity = one.spec.affinity and one.spec.affinity.node_affinity
        assert affinity
        assert affinity.required
        (term,) = affinity.required.node_selector_terms
        assert term.match_expressions == []
        assert [(f.key, f.operator, f.values) for f in term.match_fields] == [("metadata.name", "In", [name])]
        assert len(affinity.preferred) == 1
        tolerated = [(t.key.rpartition("/")[2], t.effect, t.toleration_seconds) for t in one.spec.tolerations]
        assert tolerated == [
            ("not-ready", "NoExecute", None),
            ("unreachable", "NoExecute", None),
            ("disk-pressure", "NoSchedule", None),
            ("memory-pressure", "NoSchedule", None),
            ("pid-pressure", "NoSchedule", None),
            ("unschedulable", "NoSchedule", None),
        ]


def test_nodes_that_have_their_daemon_get_no_other() -> None:
    nodes = [node(name) for name in ("n1", "n2", "n3", "n4")]
    pinned = pod("waiting").owner(AGENT).node_affinity("metadata.name=n2")
    going = pod("going").owner(AGENT).node("n3").terminating()
    ended = pod("ended").owner(AGENT).node("n4").phase("Failed")
    assert names(AGENT, *nodes, *owned(AGENT, "a"), pinned, going, ended) == ["agent-n4"]


# One more.


@pytest.mark.parametrize(
    ("objects", "kind", "name", "expected"),
    [
        pytest.param([SET, *owned(SET, "a", "b", "c")], "ReplicaSet", "set", "set-new-1", id="one more"),
        pytest.param([SET], "ReplicaSet", "set", "set-new-1", id="the first that is lacking"),
        pytest.param([WEB], "Deployment", "web", "web-new-1", id="deployment"),
        pytest.param([DB, *owned(DB, "db-0", "db-1", "db-2")], "StatefulSet", "db", "db-3", id="next ordinal"),
        pytest.param([DB, *owned(DB, "db-0", "db-2")], "StatefulSet", "db", "db-1", id="lacking ordinal"),
        pytest.param([done(BATCH, "Complete")], "Job", "batch", "batch-new-1", id="finished job"),
        pytest.param([AGENT, node("n1"), node("n2"), *owned(AGENT, "a")], "DaemonSet", "agent", "agent-n2", id="node"),
        pytest.param([AGENT, node("n1"), *owned(AGENT, "a")], "DaemonSet", "agent", "agent-new-1", id="any node"),
    ],
)
def test_next_pod(objects: list[Builder[Any] | Object], kind: str, name: str, expected: str) -> None:
    cluster = admitted(*objects)
    assert [pod.metadata.name for pod in next_to_create(cluster, kind, "default", name).pods] == [expected]


def test_the_next_pod_of_a_deployment_brings_its_replica_set() -> None:
    pending = next_to_create(admitted(WEB), "Deployment", "default", "web")
    assert len(pending.pods) == 1
    assert pending.pods[0].metadata.owner_references[0].name == pending.along[0].metadata.name


def test_unknown_workloads() -> None:
    with pytest.raises(LookupError, match="no Deployment prod/web"):
        next_to_create(admitted(WEB), "Deployment", "prod", "web")


# The pods themselves.


def test_new_pods_are_independent_of_each_other_and_of_the_template() -> None:
    owner = replica_set("set").replicas(2).template(TEMPLATE).obj()
    first, second = pods_to_create(admitted(owner))[0].pods
    first.metadata.labels["more"] = "1"
    first.spec.containers[0].resources.requests["cpu"] = "9"
    for untouched in (second, owner.spec.template):
        assert untouched.metadata.labels == {"app": "x"}
        assert untouched.spec.containers[0].resources.requests == {"cpu": "1"}


def test_new_pods_are_admitted_as_new_and_then_belong_to_their_workload() -> None:
    objects = admitted(deployment("web").replicas(2).template(TEMPLATE).manifest())
    pending = pods_to_create(objects)
    objects += admit(pending[0].objects(), beside=objects)
    created = [one for one in objects if isinstance(one, Pod)]
    assert [one.spec.priority for one in created] == [0, 0]
    assert [one.status.phase for one in created] == ["Pending", "Pending"]
    assert len(created[0].spec.tolerations) == 2
    assert Ownership(objects).pods_of(pending[0].workload) == created
    assert pods_to_create(objects) == []


def test_ten_thousand_pods_have_ten_thousand_names() -> None:
    objects = admitted(deployment("web").replicas(10_000).template(TEMPLATE))
    (pending,) = pods_to_create(objects)
    assert len({pod.metadata.name for pod in pending.pods}) == 10_000
