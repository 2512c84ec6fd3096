"""What a new object becomes, and which ones are refused in which words."""

from __future__ import annotations

from copy import deepcopy

import msgspec
import pytest
from msgspec.structs import replace

from bayplan.model.cluster import Namespace, PriorityClass
from bayplan.model.kinds import Object
from bayplan.model.meta import LabelSelector, ObjectMeta, RawQuantity
from bayplan.model.node import Node
from bayplan.model.pod import (
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.time_units import SECOND
from bayplan.model.watch_types import ADDED
from bayplan.model.workloads import Deployment
from bayplan.store import AlreadyExists, ApiError, NotFound, Store
from bayplan.store.arriving import SPECS_MAX
from bayplan.testing.builders import budget, claim, deployment, namespace, node, pod, priority_class, storage_class

NOON = 1_767_268_800 * SECOND + 999_999_999


def test_a_pod_is_completed_and_stamped() -> None:
    """Identity, birthday, defaults, priority and phase are the server's, whatever the client wrote."""
    store = Store()
    given = pod("a", "shop").manifest().labels(app="x").phase("Running").uid("mine").created(5).obj()
    stored = store.create(given, NOON)
    meta = stored.metadata
    assert (meta.uid, meta.resource_version, meta.generation) == ("pod-shop-a-1", "1", 1)
    assert meta.creation_timestamp == "2026-01-01T12:00:00Z"
    assert stored.status.phase == "Pending"
    assert stored.spec.priority == 0
    assert stored.spec.scheduler_name == "default-scheduler"
    assert stored.spec.termination_grace_period_seconds == 30
    assert [toleration.toleration_seconds for toleration in stored.spec.tolerations] == [300, 300]
    assert store.get(Pod, "shop", "a") is stored
    assert store.resource_version == 1
    (change,) = store.log.since(0)
    assert (change.type, change.kind, change.old, change.resource_version, change.at) == (ADDED, "Pod", None, 1, NOON)
    assert change.new is stored


def test_the_given_object_keeps_its_own_identity() -> None:
    """The same struct may be sent again under another name: what the server wrote is not in it."""
    store = Store()
    given = pod("a").manifest().obj()
    store.create(given, 0)
    second = store.create(replace(given, metadata=replace(given.metadata, name="b")), 0)
    assert given.metadata == ObjectMeta(name="a", namespace="default")
    assert (given.spec.priority, given.spec.tolerations) == (None, [])
    assert second.metadata.uid == "pod-default-b-2"
    assert len(second.spec.tolerations) == len(store.get(Pod, "default", "a").spec.tolerations) == 2


def test_pods_with_equal_specs_share_what_became_of_them() -> None:
    """Nothing is made for the second but its identity."""
    store = Store()
    first = store.create(pod("a").manifest().cpu(1).labels(app="x").obj(), 0)
    second = store.create(pod("b").manifest().cpu(1).labels(app="y").obj(), 0)
    assert second.spec is first.spec
    assert (second.metadata.name, second.metadata.labels) == ("b", {"app": "y"})
    store.bind("default", "a", "n1", "", 0)
    assert (first.spec.node_name, second.spec.node_name) == ("", "")


def _asking(requests: dict[str, RawQuantity], limits: dict[str, RawQuantity] | None = None) -> list[Container]:
    return [Container(resources=ResourceRequirements(requests=requests, limits=limits or {}))]


_BY_VERSION = TopologySpreadConstraint(label_selector=LabelSelector(), match_label_keys=["version"])
_ALMOST_ALIKE = [
    Pod(),
    *(Pod(metadata=ObjectMeta(labels={"version": version})) for version in ("1", "2")),
    Pod(spec=PodSpec(containers=_asking({"cpu": "1", "memory": "1Gi"}))),
    Pod(spec=PodSpec(containers=_asking({"memory": "1Gi", "cpu": "1"}))),
    Pod(spec=PodSpec(containers=_asking({"memory": "1Gi", "cpu": 1}))),
    Pod(spec=PodSpec(containers=_asking({}, limits={"memory": "1Gi", "cpu": "1"}))),
    Pod(
        spec=PodSpec(
            containers=_asking({}, limits={"memory": "1Gi"}), resources=ResourceRequirements(limits={"cpu": 1})
        )
    ),
    Pod(spec=PodSpec(node_name="n1")),
    Pod(spec=PodSpec(priority_class_name="system-node-critical")),
    Pod(spec=PodSpec(tolerations=[Toleration(operator="Exists")])),
    *(
        Pod(metadata=ObjectMeta(labels={"version": version}), spec=PodSpec(topology_spread_constraints=[_BY_VERSION]))
        for version in ("1", "2")
    ),
]


def test_what_becomes_of_a_pod_does_not_depend_on_those_before_it() -> None:
    """Down to the order of what it asks for."""
    store = Store()
    for number, pattern in enumerate([*_ALMOST_ALIKE, *reversed(_ALMOST_ALIKE), *_ALMOST_ALIKE]):
        given = deepcopy(pattern)
        given.metadata.name = f"pod-{number}"
        alone = Store().create(deepcopy(given), 0)
        assert msgspec.json.encode(store.create(given, 0).spec) == msgspec.json.encode(alone.spec)


def test_a_part_that_others_change_is_not_passed_on() -> None:
    """A client may use one container for several pods, and what that becomes depends on the pod."""
    store = Store()

    def port_of(name: str, container: Container, *, host_network: bool) -> int:
        spec = PodSpec(containers=[container], host_network=host_network)
        made = store.create(Pod(metadata=ObjectMeta(name=name), spec=spec), 0)
        return made.spec.containers[0].ports[0].host_port

    def container() -> Container:
        return Container(ports=[ContainerPort(container_port=80)])

    used_twice = container()
    assert port_of("a", used_twice, host_network=False) == 0
    assert port_of("b", used_twice, host_network=True) == 80
    assert port_of("c", container(), host_network=False) == 0


def test_more_kinds_of_pods_than_are_remembered() -> None:
    store = Store()
    for round_ in range(2):
        for number in range(SPECS_MAX + 1):
            made = store.create(pod(f"{round_}-{number}").manifest().cpu(f"{number}m").obj(), 0)
            assert made.spec.containers[0].resources.requests == {"cpu": f"{number}m"}


def test_a_gated_pod_says_so() -> None:
    store = Store()
    stored = store.create(pod("a").manifest().gate("example.com/x").obj(), NOON)
    (condition,) = stored.status.conditions
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "SchedulingGated")
    assert condition.message == "Scheduling is blocked due to non-empty scheduling gates"
    assert condition.last_transition_time == "2026-01-01T12:00:00Z"


def test_a_pod_created_on_a_node_is_new_all_the_same() -> None:
    """It starts pending, gets its priority from its class, and the labels of where it is."""
    store = Store()
    store.create(node("n1").manifest().zone("z1").obj(), 0)
    store.create(priority_class("high", 1000).manifest().obj(), 0)
    stored = store.create(pod("a").manifest().node("n1").priority_class("high").obj(), 0)
    assert (stored.status.phase, stored.spec.priority, stored.spec.node_name) == ("Pending", 1000, "n1")
    assert stored.metadata.labels == {"topology.kubernetes.io/zone": "z1"}
    assert store.pods_on_node("n1") == [stored]
    elsewhere = store.create(pod("b").manifest().node("nowhere").obj(), 0)
    assert elsewhere.metadata.labels == {}


@pytest.mark.parametrize(
    ("given", "uid", "generation"),
    [
        pytest.param(node("n1"), "node-n1-1", 0, id="node"),
        pytest.param(deployment("d"), "deployment-default-d-1", 1, id="deployment"),
        pytest.param(budget("b"), "poddisruptionbudget-default-b-1", 1, id="budget"),
        pytest.param(priority_class("high", 10), "priorityclass-high-1", 1, id="priority class"),
        pytest.param(claim("c"), "persistentvolumeclaim-default-c-1", 0, id="claim"),
        pytest.param(namespace("shop"), "namespace-shop-1", 0, id="namespace"),
    ],
)
def test_identity_by_kind(given: object, uid: str, generation: int) -> None:
    stored = Store().create(given.manifest().obj(), 0)  # type: ignore[attr-defined]
    assert (stored.metadata.uid, stored.metadata.generation) == (uid, generation)


def test_a_new_status_is_the_servers_but_for_nodes() -> None:
    store = Store()
    assert store.create(budget("b").manifest().allows(3).obj(), 0).status.disruptions_allowed == 0  # type: ignore[union-attr]
    made = deployment("d").manifest().obj()
    made.status.replicas = 7
    assert store.create(made, 0).status.replicas == 0
    assert made.status.replicas == 7
    shop = Namespace(metadata=ObjectMeta(name="shop"))
    assert store.create(shop, 0).status.phase == "Active"
    assert shop.metadata.labels == {}
    assert store.create(claim("c").manifest().obj(), 0).status.phase == "Pending"
    assert store.create(node("n").manifest().obj(), 0).status.allocatable["cpu"] == "4"


def test_a_claim_gets_the_default_class() -> None:
    store = Store()
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    store.create(storage_class("fast").manifest().annotations(marked).obj(), 0)
    stored = store.create(PersistentVolumeClaim(metadata=ObjectMeta(name="c", namespace="default")), 0)
    assert stored.spec.storage_class_name == "fast"


def test_names_are_generated() -> None:
    """Five letters after the base, never one that is taken, and the same ones in another run."""
    names = []
    for _ in range(2):
        store = Store()
        made = [store.create(Pod(metadata=ObjectMeta(generate_name="web-")), 0).metadata.name for _ in range(200)]
        assert len(set(made)) == 200
        assert all(len(name) == len("web-") + 5 for name in made)
        names.append(made)
    assert names[0] == names[1]
    store = Store()
    store.create(Pod(metadata=ObjectMeta(name=names[0][1])), 0)
    again = [store.create(Pod(metadata=ObjectMeta(generate_name="web-")), 0).metadata.name for _ in range(3)]
    assert len({*again, names[0][1]}) == 4
    long = store.create(Pod(metadata=ObjectMeta(generate_name="x" * 100)), 0)
    assert len(long.metadata.name) == 63


def test_without_a_namespace_it_is_the_default_one() -> None:
    store = Store()
    store.create(Pod(metadata=ObjectMeta(name="a")), 0)
    assert store.find("Pod", "default", "a") is not None
    store.create(Node(metadata=ObjectMeta(name="n", namespace="ignored")), 0)
    assert store.find("Node", "", "n") is not None


REFUSALS = [
    pytest.param(pod("a").manifest(), 409, "AlreadyExists", 'pods "a" already exists', id="exists"),
    pytest.param(
        deployment("web").manifest(),
        409,
        "AlreadyExists",
        'deployments.apps "web" already exists',
        id="exists, grouped",
    ),
    pytest.param(
        pod("").manifest(),
        422,
        "Invalid",
        'Pod "" is invalid: metadata.name: Required value: name or generateName is required',
        id="no name",
    ),
    pytest.param(
        pod("p").manifest().priority_class("absent"),
        403,
        "Forbidden",
        'pods "p" is forbidden: no PriorityClass with name absent was found',
        id="no class",
    ),
    pytest.param(
        pod("p").manifest().priority(5, class_name="low"),
        403,
        "Forbidden",
        'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 10 from the given PriorityClass name",
        id="other priority",
    ),
    pytest.param(
        pod("p").manifest().node("n1").priority(5, class_name="low"),
        403,
        "Forbidden",
        'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 10 from the given PriorityClass name",
        id="other priority, on a node",
    ),
    pytest.param(
        pod("p").manifest().node("n1").gate("example.com/x"),
        422,
        "Invalid",
        'Pod "p" is invalid: spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
        id="node and gate",
    ),
    pytest.param(
        pod("p").manifest().pod_limit(cpu="x", memory="1").cpu("oops"),
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        id="quantity",
    ),
    pytest.param(
        priority_class("system-mine", 5).manifest(),
        422,
        "Invalid",
        'PriorityClass.scheduling.k8s.io "system-mine" is invalid: metadata.name: Forbidden: priority class names '
        "with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority "
        "class",
        id="system class",
    ),
    pytest.param(
        priority_class("huge", 2_000_000_000).manifest(),
        422,
        "Invalid",
        'PriorityClass.scheduling.k8s.io "huge" is invalid: value: Forbidden: maximum allowed value of a user defined '
        "priority is 1000000000",
        id="too high a class",
    ),
    pytest.param(
        priority_class("second", 5, default=True).manifest(),
        403,
        "Forbidden",
        'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass low is already marked as default. '
        "Only one default can exist",
        id="second default",
    ),
    pytest.param(
        pod("p", "ending").manifest(),
        403,
        "Forbidden",
        'pods "p" is forbidden: unable to create new content in namespace ending because it is being terminated',
        id="ending namespace",
    ),
]


@pytest.mark.parametrize(("given", "code", "reason", "message"), REFUSALS)
def test_refusals(given: object, code: int, reason: str, message: str) -> None:
    """Nothing is written, and the words are the real server's."""
    store = Store()
    store.create(priority_class("low", 10, default=True).manifest().obj(), 0)
    store.create(namespace("ending").manifest().obj(), 0)
    store.create(pod("a").manifest().obj(), 0)
    store.create(deployment("web").manifest().obj(), 0)
    store.delete(Namespace, "", "ending", 0)
    version = store.resource_version
    with pytest.raises(ApiError) as refused:
        store.create(given.obj(), 0)  # type: ignore[attr-defined]
    assert (refused.value.code, refused.value.reason, str(refused.value)) == (code, reason, message)
    assert store.resource_version == version


def test_a_version_may_not_be_given() -> None:
    given = pod("a").manifest().obj()
    given.metadata.resource_version = "3"
    with pytest.raises(ApiError, match=r"^resourceVersion should not be set on objects to be created$") as refused:
        Store().create(given, 0)
    assert (refused.value.code, refused.value.reason) == (500, "")


def test_namespaces_may_have_to_exist() -> None:
    store = Store(checks_namespaces=True)
    with pytest.raises(NotFound, match=r'^namespaces "default" not found$'):
        store.create(pod("a").manifest().obj(), 0)
    store.create(namespace("default").manifest().obj(), 0)
    store.create(pod("a").manifest().obj(), 0)
    store.create(node("n").manifest().obj(), 0)
    assert store.count(Pod) == store.count("Node") == 1


def test_classes_count_from_their_creation_to_their_deletion() -> None:
    """Pods that exist keep the priority they got."""
    store = Store()
    before = store.create(pod("before").manifest().obj(), 0)
    store.create(priority_class("usual", 50, default=True).manifest().obj(), 0)
    during = store.create(pod("during").manifest().obj(), 0)
    store.delete(PriorityClass, "", "usual", 0)
    after = store.create(pod("after").manifest().obj(), 0)
    assert [one.spec.priority for one in (before, during, after)] == [0, 50, 0]
    assert store.get(Pod, "default", "during").spec.priority_class_name == "usual"


def test_a_status_says_what_went_wrong() -> None:
    """The body of an HTTP answer, field by field as recorded."""
    store = Store()
    store.create(namespace("ending").manifest().obj(), 0)
    store.delete("Namespace", "", "ending", 0)
    with pytest.raises(ApiError) as refused:
        store.create(deployment("late", "ending").manifest().obj(), 0)
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "late" is forbidden: unable to create new content in namespace ending because '
        "it is being terminated",
        "reason": "Forbidden",
        "details": {
            "name": "late",
            "group": "apps",
            "kind": "deployments",
            "causes": [
                {
                    "reason": "NamespaceTerminating",
                    "message": "namespace ending is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        },
        "code": 403,
    }


def test_loading_takes_what_was_stored_as_it_is_and_creates_the_rest() -> None:
    """In any order: classes and namespaces come before what needs them."""
    store = Store()
    objects: list[Object] = [
        pod("running").running("n1", since=7).priority(99).obj(),
        pod("new").manifest().priority_class("high").phase("Running").obj(),
        budget("b").allows(2).obj(),
        node("n1").obj(),
        priority_class("high", 1000).manifest().obj(),
    ]
    store.load(objects, NOON)
    running = store.get(Pod, "default", "running")
    assert (running.metadata.uid, running.spec.priority, running.status.phase) == ("pod-default-running", 99, "Running")
    assert running.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert running.metadata.generation == 1
    new = store.get(Pod, "default", "new")
    assert (new.spec.priority, new.status.phase, new.metadata.uid) == (1000, "Pending", "pod-default-new-3")
    kept = store.get(PodDisruptionBudget, "default", "b").status
    assert kept is not None
    assert kept.disruptions_allowed == 2
    assert store.resource_version == 5
    with pytest.raises(AlreadyExists):
        store.load([node("n1").obj()], NOON)


def test_loading_fills_in_what_a_written_pod_lacks() -> None:
    """A pod written down as running, without uid or priority, gets both."""
    store = Store()
    store.load([pod("a").manifest().running("n1").obj()], NOON)
    stored = store.get(Pod, "default", "a")
    assert (stored.metadata.uid, stored.spec.priority, stored.status.phase) == ("pod-default-a-1", 0, "Running")
    assert stored.metadata.creation_timestamp == "2026-01-01T12:00:00Z"


def test_unknown_kinds_are_no_resource() -> None:
    with pytest.raises(NotFound, match=r"^the server could not find the requested resource$"):
        Store().get("Widget", "", "x")
    with pytest.raises(NotFound, match=r'^deployments.apps "x" not found$'):
        Store().get(Deployment, "default", "x")
