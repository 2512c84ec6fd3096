"""Every rule: a cluster that breaks it, and one like it that does not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of

from bayplan import Cluster
from bayplan.analysis.answers.audit.rules import RULES, Level
from bayplan.config.releases import release_named
from bayplan.model.kinds import Object
from bayplan.model.policy import PodDisruptionBudgetStatus
from bayplan.model.volumes import PersistentVolumeClaimSpec
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder
from bayplan.testing.selecting import selector

GROUPS = "GenericWorkload=true"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
NODES = [make.node("a"), make.node("b")]


def sized(name: str = "t") -> PodBuilder:
    """A pod that says what it needs."""
    return make.pod(name).labels(app=name).cpu("1").memory("1Gi")


def web(replicas: int = 2, pattern: PodBuilder | None = None) -> Any:
    return make.deployment("web").replicas(replicas).template((pattern or sized()).labels(app="web"))


def owned(name: str, node: str, owner: str = "web", kind: str = "ReplicaSet") -> PodBuilder:
    return sized(name).labels(app=owner).running(node).owner(kind, owner)


def broken(*built: Any, gates: str = "") -> dict[str, list[str]]:
    """Rule -> the objects that break it."""
    found: dict[str, list[str]] = {}
    cluster = Cluster([each.obj() for each in built]).under(release_named("1.37" if gates else "1.36"))
    for finding in cluster.audit(feature_gates=gates or None).findings:
        found.setdefault(finding.rule, []).append(finding.object)
    return found


def classes(*values: int, **settings: Any) -> list[Any]:
    return [make.priority_class(f"c{at}", value, **settings) for at, value in enumerate(values)]


def users(count: int) -> list[Any]:
    """Pods that use the classes, so that none of these is unused."""
    return [sized(f"u{at}").priority(None).priority_class(f"c{at}").manifest() for at in range(count)]


def daemon(cpu: str, priority: int = 0) -> list[Any]:
    agent = make.daemon_set("agent").template(sized().cpu(cpu).labels(app="agent"))
    running = sized("agent-a").cpu(cpu).priority(priority).running("a").owner(agent)
    return [agent, running, sized("high").priority(9).cpu("1")]


LOW_VALUE = make.priority_class("now", 5)


def gang(*pods: PodBuilder, min_count: int = 2, whole: bool = False, cpu: str = "1") -> list[Any]:
    group = make.pod_group("g").gang(min_count)
    return [group.disrupted_as_a_whole() if whole else group, *(pod.cpu(cpu) for pod in pods)]


def halves(name: str, node: str) -> list[Any]:
    """A gang of two that has one pod on a node, which nobody else can share."""
    pods = [sized(f"{name}{at}").cpu("3").in_group(name) for at in range(2)]
    return [make.pod_group(name).gang(2), pods[0].running(node), pods[1]]


def members(*names: str) -> list[PodBuilder]:
    return [sized(name).in_group("g") for name in names]


CASES: dict[str, tuple[list[Any], str, list[Any]]] = {
    "two-default-classes": (
        [*classes(5, default=True), make.priority_class("other", 7, default=True)],
        "PriorityClass other",
        [*classes(5, default=True), make.priority_class("other", 7)],
    ),
    "unknown-class": (
        [make.deployment("web").template(sized().priority(0, class_name="gone")), *classes(5)],
        "Deployment default/web",
        [make.deployment("web").template(sized().priority(5, class_name="c0")), *classes(5)],
    ),
    "system-class-for-users": (
        [
            make.deployment("web", "shop").template(
                sized().priority(2_000_000_000, class_name="system-cluster-critical")
            )
        ],
        "Deployment shop/web",
        [
            make.deployment("dns", "kube-system").template(
                sized().priority(2_000_000_000, class_name="system-cluster-critical")
            )
        ],
    ),
    "group-missing": (
        [make.pod_group("other").gang(1), *members("m")],
        "Pod default/m",
        gang(*members("m"), min_count=1),
    ),
    "group-differs": (
        gang(*members("m"), sized("n").in_group("g").priority(3)),
        "PodGroup default/g",
        gang(*members("m", "n")),
    ),
    "group-too-small": (gang(*members("m")), "PodGroup default/g", gang(*members("m", "n"))),
    "group-on-missing-node": (
        [*NODES, *gang(sized("m").in_group("g").running("a"), sized("n").in_group("g").running("gone"), whole=True)],
        "PodGroup default/g",
        [*NODES, *gang(*members("m"), sized("n").in_group("g").running("gone"), whole=True)],
    ),
    "group-never-fits": (
        [*NODES, *gang(*members("m", "n", "o"), min_count=3, cpu="3")],
        "PodGroup default/g",
        [*NODES, *gang(*members("m", "n", "o"), min_count=2, cpu="3")],
    ),
    "groups-deadlocked": (
        [*NODES, *halves("x", "a"), *halves("y", "b")],
        "PodGroup default/x",
        [*NODES, make.node("c"), *halves("x", "a"), *halves("y", "b")],
    ),
    "equal-classes": ([*classes(5, 5), *users(2)], "PriorityClass c1", [*classes(5, 500), *users(2)]),
    "no-room-between-classes": ([*classes(5, 6), *users(2)], "PriorityClass c1", [*classes(5, 7), *users(2)]),
    "unused-class": (classes(5), "PriorityClass c0", [*classes(5), *users(1)]),
    "stale-priority": (
        [
            LOW_VALUE,
            make.replica_set("web").replicas(1).template(sized().priority(5, class_name="now").labels(app="web")),
            owned("web-1", "a").priority(3),
        ],
        "ReplicaSet default/web",
        [
            LOW_VALUE,
            make.replica_set("web").replicas(1).template(sized().priority(5, class_name="now").labels(app="web")),
            owned("web-1", "a").priority(5),
        ],
    ),
    "no-requests": ([web(1, make.pod("t").cpu("1"))], "Deployment default/web", [web(1)]),
    "limits-only": (
        [web(1, make.pod("t").limit(cpu="1", memory="1Gi"))],
        "Deployment default/web",
        [web(1, sized().limit(cpu="1"))],
    ),
    "budget-selects-nothing": (
        [make.budget("b").selects(app="gone").min_available(1)],
        "PodDisruptionBudget default/b",
        [make.budget("b").selects(app="web").min_available(1), web(0)],
    ),
    "budget-allows-nothing": (
        [make.budget("b").selects(app="web").max_unavailable(0), web()],
        "PodDisruptionBudget default/b",
        [make.budget("b").selects(app="web").max_unavailable(1), web()],
    ),
    "budget-cannot-be-kept": (
        [make.budget("b").selects(app="web").min_available(3), web()],
        "PodDisruptionBudget default/b",
        [make.budget("b").selects(app="web").min_available(2), web()],
    ),
    "budgets-overlap": (
        [*(make.budget(name).selects(app="web").max_unavailable(1) for name in "bc"), web()],
        "PodDisruptionBudget default/c",
        [*(make.budget(name, name).selects(app="web").max_unavailable(1) for name in "bc"), web()],
    ),
    "node-failure-strands": (
        [*NODES, owned("web-1", "a").cpu("3"), sized("other").running("b").cpu("3")],
        "ReplicaSet default/web",
        [*NODES, owned("web-1", "a").cpu("2"), sized("other").running("b").cpu("2")],
    ),
    "node-failure-evicts": (
        [*NODES, owned("web-1", "a").cpu("3").priority(9), sized("other").running("b").cpu("3")],
        "ReplicaSet default/web",
        [*NODES, owned("web-1", "a").cpu("3").priority(9), sized("other").running("b").cpu("1")],
    ),
    "one-node-holds-all": (
        [*NODES, owned("web-1", "a"), owned("web-2", "a")],
        "ReplicaSet default/web",
        [*NODES, owned("web-1", "a"), owned("web-2", "b")],
    ),
    "pod-without-controller": ([*NODES, sized("x").running("a")], "Pod default/x", [*NODES, owned("x", "a")]),
    "never-fits": (
        [*NODES, web(1, sized().node_selector(disk="ssd"))],
        "Deployment default/web",
        [make.node("c").label("disk", "ssd"), web(1, sized().node_selector(disk="ssd"))],
    ),
    "too-many-replicas": (
        [*NODES, web(3, sized().pod_anti_affinity(HOST, "app=web"))],
        "Deployment default/web",
        [*NODES, web(2, sized().pod_anti_affinity(HOST, "app=web"))],
    ),
    "affinity-to-nobody": (
        [*NODES, web(1, sized().pod_affinity(HOST, "app=db"))],
        "Deployment default/web",
        [*NODES, web(1, sized().pod_affinity(HOST, "app=db")), sized("db").running("a")],
    ),
    "preemption-loop": (
        [
            make.node("a"),
            make.priority_class("now", 50),
            make.replica_set("web")
            .replicas(1)
            .template(sized().cpu("3").priority(50, class_name="now").labels(app="web")),
            owned("web-1", "a").cpu("3").priority(5),
            sized("x").cpu("3").priority(10),
        ],
        "ReplicaSet default/web",
        [
            make.node("a"),
            make.priority_class("now", 5),
            make.replica_set("web")
            .replicas(1)
            .template(sized().cpu("3").priority(5, class_name="now").labels(app="web")),
            owned("web-1", "a").cpu("3").priority(5),
            sized("x").cpu("3").priority(10),
        ],
    ),
    "foreign-victims": (
        [make.node("a"), owned("web-1", "a").cpu("3").scheduler("other"), sized("x").cpu("3").priority(10)],
        "Pod default/x",
        [make.node("a"), owned("web-1", "a").cpu("3"), sized("x").cpu("3").priority(10)],
    ),
    "evictable-daemon": ([make.node("a"), *daemon("1")], "DaemonSet default/agent", [make.node("a"), *daemon("1", 9)]),
}


#: What is found only where pod groups are on.
WITH_GROUPS = {"group-never-fits": GROUPS, "groups-deadlocked": GROUPS}


@pytest.mark.parametrize("rule", RULES)
def test_a_cluster_that_breaks_the_rule(rule: str) -> None:
    breaking, culprit, _ = CASES[rule]
    assert broken(*breaking, gates=WITH_GROUPS.get(rule, "")).get(rule) == [culprit]


@pytest.mark.parametrize("rule", RULES)
def test_a_cluster_like_it_that_does_not(rule: str) -> None:
    assert rule not in broken(*CASES[rule][2], gates=WITH_GROUPS.get(rule, ""))


def why(rule: str, *built: Any) -> str:
    found = Cluster([each.obj() for each in built]).audit().findings
    return next(finding.why for finding in found if finding.rule == rule)


@pytest.mark.parametrize(
    ("pattern", "nodes", "rule", "reason"),
    [
        (sized().cpu("64"), NODES, "never-fits", "0/2 nodes are available: 2 Insufficient cpu"),
        (sized(), [make.node("a").taint("gpu")], "never-fits", "1 node(s) had untolerated taint(s)"),
        (
            sized().spread(ZONE, "app=web"),
            NODES,
            "never-fits",
            "2 node(s) didn't match pod topology spread constraints",
        ),
        (
            sized().spread(ZONE, "app=web", min_domains=3),
            [make.node("a").zone("east"), make.node("b").zone("west")],
            "too-many-replicas",
            "only 2 of its 4 pods fit into the empty cluster; then: 0/2 nodes are available",
        ),
    ],
)
def test_reasons_are_the_schedulers(pattern: PodBuilder, nodes: list[Any], rule: str, reason: str) -> None:
    assert reason in why(rule, *nodes, web(4, pattern))


def test_a_failing_node_says_who_where_and_why() -> None:
    breaking = CASES["node-failure-strands"][0]
    assert why("node-failure-strands", *breaking) == (
        "if a fails, 1 of its pods fits nowhere: 0/1 nodes are available: 1 Insufficient cpu"
    )


def test_victims_of_a_failing_node_have_to_go_somewhere_too() -> None:
    urgent, humble = owned("web-1", "a").cpu("3").priority(9), owned("low-1", "b", "low").cpu("3")
    found = broken(*NODES, urgent, humble)
    assert found["node-failure-strands"] == ["ReplicaSet default/low"]
    assert found["node-failure-evicts"] == ["ReplicaSet default/web"]


def test_daemons_and_mirror_pods_go_with_their_node() -> None:
    fixed = [owned("d", "a", "agent", "DaemonSet").cpu("4"), owned("m", "b", "b", "Node").cpu("4")]
    assert "node-failure-strands" not in broken(*NODES, *fixed)


def test_a_volume_on_the_node_strands_its_pod() -> None:
    held = make.claim("data").bound("disk")
    disk = make.volume("disk").bound_to(held).node_affinity(f"{HOST} in (a)")
    stuck = owned("db-0", "a", "db", "StatefulSet").claim("data")
    assert broken(*NODES, held, disk, stuck)["node-failure-strands"] == ["StatefulSet default/db"]


def test_claims_that_go_with_a_pod_are_made_again() -> None:
    volume = owned("web-1", "a").ephemeral("tmp", PersistentVolumeClaimSpec(storage_class_name="late"))
    late = make.storage_class("late", mode="WaitForFirstConsumer")
    made = make.claim("web-1-tmp").storage_class("late").bound("pv").owner(volume)
    pinned = make.volume("pv").bound_to(made).node_affinity(f"{HOST} in (a)")
    found = broken(*NODES, late, made, pinned, volume)
    assert found.keys() & {"node-failure-strands", "never-fits"} == set()


def test_claims_that_a_provisioner_will_bind_are_no_constraint() -> None:
    soon = make.claim("data").storage_class("fast")
    waiting = web(1, sized().claim("data"))
    assert "never-fits" not in broken(*NODES, make.storage_class("fast"), soon, waiting)
    others = make.claim("other")
    assert broken(*NODES, others, waiting)["never-fits"] == ["Deployment default/web"]  # nobody has made the claim


def test_a_class_that_is_not_in_the_input_says_nothing_of_priorities() -> None:
    made = make.replica_set("web").replicas(1).template(sized().priority(5, class_name="gone").labels(app="web"))
    found = broken(*NODES, made, owned("web-1", "a").priority(5, class_name="gone"), *classes(7))
    assert "stale-priority" not in found
    assert found["unknown-class"] == ["ReplicaSet default/web"]


def test_a_daemon_that_takes_no_room_is_not_worth_evicting() -> None:
    agent = make.daemon_set("agent").template(make.pod("t").labels(app="agent"))
    running = make.pod("agent-a").labels(app="agent").running("a").owner(agent)
    assert "evictable-daemon" not in broken(make.node("a"), agent, running, sized("high").priority(9))


def test_pods_of_other_schedulers_can_be_spared() -> None:
    cluster = Cluster([each.obj() for each in CASES["foreign-victims"][0]])
    rules = {finding.rule for finding in cluster.audit(foreign_victims="never").findings}
    assert "foreign-victims" not in rules


def test_the_worst_comes_first_and_rules_can_be_left_out() -> None:
    cluster = Cluster([each.obj() for each in (*NODES, *classes(5), web(1, make.pod("t").node_selector(disk="ssd")))])
    levels = [finding.level for finding in cluster.audit().findings]
    assert levels == sorted(levels, key=list(Level).index)
    assert set(levels) == set(Level)
    left = {finding.rule for finding in cluster.audit(ignored=["never-fits", "unused-class"]).findings}
    assert left == {"no-requests"}
    with pytest.raises(ValueError, match="no rule 'nope'"):
        cluster.audit(ignored=["nope"])


def test_what_is_so_now_comes_before_what_a_failing_node_causes_and_high_priorities_before_low_ones() -> None:
    classes_ = [make.priority_class("low", 1), make.priority_class("top", 9)]
    nowhere = [
        make.deployment(name).template(make.pod("t").cpu("99").priority_class(cls))
        for name, cls in (("a", "low"), ("b", "top"))
    ]
    rs = make.replica_set("c")
    nodes = [make.node(name).capacity(cpu="4") for name in "xy"]
    full = [make.pod(f"c-{name}").owner(rs).cpu("3").running(name) for name in "xy"]
    found = cluster_of(*nodes, *classes_, *nowhere, rs, *full).audit().findings
    errors = [(each.rule, each.object, each.priority_class) for each in found if each.level is Level.ERROR]
    assert errors[:2] == [
        ("never-fits", "Deployment default/b", "top"),
        ("never-fits", "Deployment default/a", "low"),
    ]
    assert errors[2][0] == "node-failure-strands"


def test_a_cluster_without_nodes_or_pods() -> None:
    assert broken(*classes(5), *users(1)) == {}
    assert Cluster([]).audit().findings == ()


@pytest.mark.parametrize(("level", "reached"), [(Level.ERROR, False), (Level.WARNING, True), (Level.NOTE, True)])
def test_a_level_is_reached_by_itself_and_by_worse(level: Level, reached: bool) -> None:
    answer = Cluster([each.obj() for each in CASES["no-requests"][0]]).audit()
    assert answer.reaches(level) is reached


def test_budgets_of_workloads_that_are_not_in_the_input_are_not_judged() -> None:
    budget = make.budget("b").selects(app="web").max_unavailable(1)
    assert "budget-cannot-be-kept" not in broken(budget, owned("web-1", "a"), *NODES)


def test_a_budget_is_judged_by_what_its_controller_wrote_if_the_workload_is_not_in_the_input() -> None:
    budget = make.budget("b").selects(app="web").max_unavailable(0).obj()
    budget.status = PodDisruptionBudgetStatus(expected_pods=2, desired_healthy=2, current_healthy=2)
    objects: list[Object] = [budget, owned("web-1", "a").obj(), *(node.obj() for node in NODES)]
    assert "budget-allows-nothing" in {finding.rule for finding in Cluster(objects).audit().findings}


def with_claim(name: str, node: str) -> PodBuilder:
    return owned(name, node, "db", "StatefulSet").claim(f"data-{name}")


def test_claims_that_are_not_in_the_input_strand_nothing() -> None:
    assert "node-failure-strands" not in broken(with_claim("db-0", "a"), *NODES)


def test_a_claim_that_is_missing_among_others_strands_its_pod() -> None:
    found = broken(with_claim("db-0", "a"), make.claim("another"), *NODES)
    assert found["node-failure-strands"] == ["StatefulSet default/db"]


def test_what_does_not_fit_even_without_its_unknown_claims_is_stranded() -> None:
    """The room that it needs is known."""
    large = with_claim("db-0", "a").cpu("3")
    assert broken(large, make.node("a"), make.node("b").capacity(cpu="2"))["node-failure-strands"]


def test_a_class_is_not_unknown_if_the_input_has_no_classes_at_all() -> None:
    assert broken(make.deployment("web").template(sized().priority(0, class_name="gone"))) == {}


def test_pods_of_a_workload_that_is_not_in_the_input_are_judged_once() -> None:
    found = broken(*(make.pod(name).running("a").owner("ReplicaSet", "web") for name in ("web-1", "web-2")), *NODES)
    assert found["no-requests"] == ["ReplicaSet default/web"]


def test_affinity_across_namespaces_is_not_judged_without_the_namespaces() -> None:
    near = sized("web").pod_affinity(ZONE, {"app": "db"}, namespace_selector=selector({"team": "a"}))
    assert "affinity-to-nobody" not in broken(near, sized("db").namespace("other"), *NODES)
