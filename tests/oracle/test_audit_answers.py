"""Failing nodes against clusters built anew without them, and empty clusters against one attempt in them.

For every node of a random cluster: whoever the audit says fits nowhere else does not, nobody else is left over, and
those it says are evicted are. Whatever it says never fits does not fit into an empty cluster either.
"""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy
from typing import Any
from unittest.mock import patch

from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracle.placing_slowly import PROFILE, Slowly, world_objects
from tests.oracle.preemption_clusters import (
    EXCLUSIVE_CLAIM,
    HOST,
    SHARED_CLAIMS,
    ZONE,
    World,
    key_of,
    storage,
    worlds,
)
from tests.support.caches import cache_of
from tests.support.examples import examples

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.audit.audited import Audited
from bayplan.analysis.answers.audit.certain_fits import CertainFits
from bayplan.analysis.answers.audit.certain_misfits import CertainMisfits
from bayplan.analysis.answers.audit.impossible import impossible_findings
from bayplan.analysis.answers.audit.node_failures import node_failure_findings
from bayplan.analysis.cluster import Cluster
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.model.kinds import Object
from bayplan.model.meta import OwnerReference
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus
from bayplan.testing.builders import deployment, node, pod
from bayplan.testing.pods import PodBuilder

OWNERS = 5  # of the pods; every fifth has none


def with_owners(world: World) -> list[Object]:
    objects = world_objects(world)
    for number, each in enumerate(world.running()):
        if number % OWNERS:
            reference = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name=f"rs{number % OWNERS}")
            reference.controller = True
            each.metadata.owner_references = [reference]
    return objects


def owner_of(pod: Pod) -> str:
    return f"ReplicaSet {pod.metadata.namespace}/{pod.metadata.owner_references[0].name}"


def is_recreated(pod: Pod) -> bool:
    is_owned = bool(pod.metadata.owner_references) and pod.metadata.deletion_timestamp is None
    return is_owned and pod.spec.scheduler_name == "default-scheduler"


def new(pod: Pod) -> Pod:
    made = deepcopy(pod)
    made.spec.node_name, made.status, made.metadata.uid = "", PodStatus(), ""
    return made


def fail_slowly(objects: list[Object], failing: str) -> tuple[set[str], set[str]]:
    """The owners of pods that are left over once everybody has settled, and of those that have evicted others."""
    gone = [obj for obj in objects if isinstance(obj, Pod) and obj.spec.node_name == failing]
    left = [
        obj
        for obj in objects
        if not (isinstance(obj, Pod) and obj in gone) and not (isinstance(obj, Node) and obj.metadata.name == failing)
    ]
    slowly, stranded, evicting = Slowly(left), set(), set()
    waiting = [new(pod) for pod in gone if is_recreated(pod)]
    everybody = {key_of(obj): obj for obj in objects if isinstance(obj, Pod)}
    while waiting:
        pod = max(waiting, key=lambda each: each.spec.priority or 0)  # of equals the first
        waiting.remove(pod)
        found, victims = slowly.place(pod)
        if not found:
            stranded.add(owner_of(pod))
        if victims:
            evicting.add(owner_of(pod))
        waiting += [new(everybody[key]) for key in victims if is_recreated(everybody[key])]
    return stranded, evicting


@examples(60)
@given(worlds())
def test_who_is_left_over_when_a_node_fails(world: World) -> None:
    cluster = Cluster(deepcopy(with_owners(world)))
    expected: dict[str, defaultdict[str, list[str]]] = {"strands": defaultdict(list), "evicts": defaultdict(list)}
    if len(world.nodes) > 1:
        for failing in world.nodes:
            stranded, evicting = fail_slowly(cluster.objects, failing.metadata.name)
            for owner in stranded:
                expected["strands"][owner].append(failing.metadata.name)
            for owner in evicting:
                expected["evicts"][owner].append(failing.metadata.name)
    for owner in expected["strands"]:
        expected["evicts"].pop(owner, None)  # the worse of the two is said
    found: dict[str, dict[str, list[str]]] = {"strands": {}, "evicts": {}}
    for finding in cluster.audit().findings:
        if finding.rule.startswith("node-failure-"):
            found[finding.rule.removeprefix("node-failure-")][finding.object] = list(finding.nodes)
    assert found == expected
    event(f"stranded: {len(found['strands'])}, evicting: {len(found['evicts'])}")


def _add_dependence(draw: st.DrawFn, built: PodBuilder) -> None:
    """One of the ways in which a pod may depend on others."""
    key, apps = draw(st.sampled_from([ZONE, ZONE, HOST])), draw(st.sampled_from(["app=x", "app=y", "app"]))
    kind = draw(st.sampled_from(["none", "spread", "affinity", "affinity", "anti-affinity", "claim"]))
    if kind == "spread":
        built.spread(key, apps, min_domains=draw(st.sampled_from([None, 2, 3])))
    elif kind == "affinity":
        built.pod_affinity(key, apps)
    elif kind == "anti-affinity":
        built.pod_anti_affinity(key, apps)
    elif kind == "claim":
        built.claim(draw(st.sampled_from([*SHARED_CLAIMS, EXCLUSIVE_CLAIM])))


@st.composite
def roomy_clusters(draw: st.DrawFn) -> list[Object]:
    """Nodes enough for pods to be sure of another place, if they did not depend on each other."""
    names = [f"n{number}" for number in range(draw(st.integers(3, 6)))]
    zones = draw(st.sampled_from(["ab", "ab", "abc"]))
    nodes = [node(name).capacity(cpu="2").zone(zones[at % len(zones)]) for at, name in enumerate(names)]
    pods = []
    for number in range(draw(st.integers(2, 6))):
        built = pod(f"p{number}").cpu(draw(st.sampled_from(["0", "500m", "1"]))).owner("ReplicaSet", f"rs{number}")
        built.labels(app=draw(st.sampled_from("xy"))).running(draw(st.sampled_from([names[0], names[0], *names])))
        _add_dependence(draw, built)
        pods.append(built)
    return [*(each.obj() for each in nodes), *(each.obj() for each in pods), *storage()]


@examples(150)
@given(roomy_clusters())
def test_nodes_that_need_no_trial_would_have_found_nothing(objects: list[Object]) -> None:
    audited = Audited(Asking.about(Cluster(objects)))
    quickly = list(node_failure_findings(audited))
    with patch.object(CertainFits, "may_be_sure", return_value=False) as asked:
        tried = list(node_failure_findings(audited))
    assert asked.called
    assert quickly == tried
    event(f"findings: {min(len(tried), 3)}")


@st.composite
def full_clusters(draw: st.DrawFn) -> list[Object]:
    """Nodes that are nearly full, with pods of few priorities that depend on each other."""
    names = [f"n{number}" for number in range(draw(st.integers(2, 5)))]
    nodes = [node(name).capacity(cpu="2", pods="4").zone("ab"[at % 2]) for at, name in enumerate(names)]
    if draw(st.booleans()):
        nodes.append(node("spare").capacity(cpu="2").zone("a").taint("dedicated", "x"))
    pods = []
    for number in range(draw(st.integers(3, 10))):
        built = pod(f"p{number}").cpu(draw(st.sampled_from(["0", "500m", "1", "1500m"])))
        built.owner("ReplicaSet", f"rs{number % OWNERS}").priority(draw(st.sampled_from([-10, -10, 0, 100])))
        built.labels(app=draw(st.sampled_from("xy"))).running(draw(st.sampled_from(names)))
        _add_dependence(draw, built)
        pods.append(built)
    return [*(each.obj() for each in nodes), *(each.obj() for each in pods), *storage()]


@examples(150)
@given(full_clusters())
def test_pods_that_need_no_try_would_have_found_no_place(objects: list[Object]) -> None:
    audited = Audited(Asking.about(Cluster(objects)))
    answers: list[bool] = []

    def note(self: CertainMisfits, info: PodInfo, without: str = "", is_sure: Any = CertainMisfits.is_sure) -> bool:
        answers.append(is_sure(self, info, without))
        return answers[-1]

    with patch.object(CertainMisfits, "is_sure", note):
        quickly = list(node_failure_findings(audited))
    with patch.object(CertainMisfits, "is_sure", return_value=False):
        tried = list(node_failure_findings(audited))
    assert quickly == tried
    event(f"sure: {min(sum(answers), 3)}, findings: {min(len(tried), 3)}")


@st.composite
def workloads(draw: st.DrawFn) -> list[Object]:
    """Nodes, and Deployments of which some are too large for them."""
    sizes = draw(st.lists(st.sampled_from(["1", "2", "3"]), min_size=1, max_size=4))
    nodes = [node(f"n{at}").capacity(cpu=size).zone("ab"[at % 2]) for at, size in enumerate(sizes)]
    made = []
    for number in range(draw(st.integers(1, 3))):
        pattern = pod("x").cpu(draw(st.sampled_from(["500m", "1", "2"]))).labels(app=draw(st.sampled_from("xy")))
        _add_dependence(draw, pattern)
        made.append(deployment(f"d{number}").replicas(draw(st.integers(1, 5))).template(pattern))
    return [*(each.obj() for each in nodes), *(each.obj() for each in made), *storage()]


@examples(150)
@given(workloads())
def test_workloads_that_need_no_trial_would_have_found_nothing(objects: list[Object]) -> None:
    audited = Audited(Asking.about(Cluster(objects)))
    quickly = list(impossible_findings(audited))
    with patch.object(CertainFits, "all_fit", return_value=False) as asked:
        tried = list(impossible_findings(audited))
    assert asked.called
    assert quickly == tried
    event(f"findings: {min(len(tried), 3)}")


@examples(60)
@given(worlds())
def test_what_never_fits_does_not_fit_into_an_empty_cluster(world: World) -> None:
    objects = [*world.nodes, *world.others, *world.budgets]
    wanting = deepcopy(world.wanting)
    if wanting.spec.affinity is not None:
        wanting.spec.affinity.pod_affinity = None
    cache = cache_of(*objects)
    fits = attempt(PROFILE, cache.info(wanting), cache.view()).scored is not None
    findings = Cluster(deepcopy([*world_objects(world), world.wanting])).audit().findings
    # Others that wait, such as nominated pods, may never fit either.
    found = {finding.rule for finding in findings if finding.object == "Pod default/wanting"}
    assert ("never-fits" in found) is not fits
    event("fits" if fits else "never fits")
