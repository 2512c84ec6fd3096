"""Random clusters in which room is scattered: small nodes, pods of several owners, budgets, labels, anti-affinity."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import strategies as st
from tests.oracle.preemption_clusters import World

from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder

HOSTNAME = "kubernetes.io/hostname"
APPS = ("web", "db", "log")
CORES = 4
SPARE = (0, 1, 1, 2)  # cores that are left on a node


def _node(draw: st.DrawFn, number: int) -> Node:
    name = f"n{number}"
    built = make.node(name).capacity(cpu=str(CORES), memory="8Gi", pods="10").label(HOSTNAME, name)
    return built.label("disk", draw(st.sampled_from(["ssd", "ssd", "hdd"]))).obj()


def _constrained(draw: st.DrawFn, pod: PodBuilder, app: str) -> PodBuilder:
    kind = draw(st.sampled_from(["", "", "", "ssd", "apart", "spread"]))
    if kind == "ssd":
        return pod.node_selector(disk="ssd")
    if kind == "apart":
        return pod.pod_anti_affinity(HOSTNAME, {"app": app})
    if kind == "spread":
        return pod.spread(HOSTNAME, {"app": app}, max_skew=2)
    return pod


def _pods(draw: st.DrawFn, nodes: list[Node]) -> list[Pod]:
    found: list[Pod] = []
    for node in nodes:
        left, spare = CORES, draw(st.sampled_from(SPARE))
        while left > spare:
            cores = draw(st.integers(1, min(left - spare, 2)))
            left -= cores
            app = draw(st.sampled_from(APPS))
            built = make.pod(f"p{len(found)}").labels(app=app).cpu(str(cores)).running(node.metadata.name)
            built = built.condition("Ready").priority(draw(st.sampled_from([0, 0, 10])))
            if draw(st.integers(0, 5)):
                built = built.owner(make.replica_set(app))
            found.append(_constrained(draw, built, app).obj())
    return found


def _budgets(draw: st.DrawFn) -> list[PodDisruptionBudget]:
    apps = [app for app in APPS if draw(st.booleans())]
    return [make.budget(app).selects(app=app).allows(draw(st.integers(0, 1))).obj() for app in apps]


@st.composite
def fragmented(draw: st.DrawFn) -> World:
    """Also a pod that wants a place, of an owner of its own, or of one of those that run."""
    nodes = [_node(draw, number) for number in range(draw(st.integers(2, 4)))]
    wanting = make.pod("wanting").labels(app="new").cpu(str(draw(st.sampled_from([2, 3, 3, 4])))).never_preempts()
    if draw(st.booleans()):
        wanting = wanting.owner(make.replica_set(draw(st.sampled_from([*APPS, "new"]))))
    pods, budgets = _pods(draw, nodes), _budgets(draw)
    return World(nodes, deepcopy(pods), [], [], budgets, [], wanting.obj())
