"""Failing nodes against clusters built anew without them, and empty clusters against one attempt in them.

For every node of a random cluster: whoever the audit says fits nowhere else does not, nobody else is left over, and
those it says are evicted are. Whatever it says never fits does not fit into an empty cluster either.
"""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy

from hypothesis import event, given, settings
from tests.oracle.placing_slowly import PROFILE, Slowly, world_objects
from tests.oracle.preemption_clusters import World, key_of, worlds
from tests.support import cache_of

from bayplan.analysis.cluster import Cluster
from bayplan.core.cycle import attempt
from bayplan.model.kinds import Object
from bayplan.model.meta import OwnerReference
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus

OWNERS = 5  # of the pods; every fifth has none


def with_owners(world: World) -> list[Object]:
    objects = world_objects(world)
    for number, pod in enumerate(world.running()):
        if number % OWNERS:
            reference = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name=f"rs{number % OWNERS}")
            reference.controller = True
            pod.metadata.owner_references = [reference]
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


def fail_slowly(objects: list[Object], node: str) -> tuple[set[str], set[str]]:
    """The owners of pods that are left over once everybody has settled, and of those that have evicted others."""
    gone = [obj for obj in objects if isinstance(obj, Pod) and obj.spec.node_name == node]
    left = [
        obj
        for obj in objects
        if not (isinstance(obj, Pod) and obj in gone) and not (isinstance(obj, Node) and obj.metadata.name == node)
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


@settings(max_examples=60)
@given(worlds())
def test_who_is_left_over_when_a_node_fails(world: World) -> None:
    cluster = Cluster(deepcopy(with_owners(world)))
    expected: dict[str, defaultdict[str, list[str]]] = {"strands": defaultdict(list), "evicts": defaultdict(list)}
    if len(world.nodes) > 1:
        for node in world.nodes:
            stranded, evicting = fail_slowly(cluster.objects, node.metadata.name)
            for owner in stranded:
                expected["strands"][owner].append(node.metadata.name)
            for owner in evicting:
                expected["evicts"][owner].append(node.metadata.name)
    for owner in expected["strands"]:
        expected["evicts"].pop(owner, None)  # the worse of the two is said
    found: dict[str, dict[str, list[str]]] = {"strands": {}, "evicts": {}}
    for finding in cluster.audit().findings:
        if finding.rule.startswith("node-failure-"):
            found[finding.rule.removeprefix("node-failure-")][finding.object] = list(finding.nodes)
    assert found == expected
    event(f"stranded: {len(found['strands'])}, evicting: {len(found['evicts'])}")


@settings(max_examples=60)
@given(worlds())
def test_what_never_fits_does_not_fit_into_an_empty_cluster(world: World) -> None:
    objects = [*world.nodes, *world.others, *world.budgets]
    wanting = deepcopy(world.wanting)
    if wanting.spec.affinity is not None:
        wanting.spec.affinity.pod_affinity = None
    cache = cache_of(*objects)
    fits = attempt(PROFILE, cache.info(wanting), cache.view()).scored is not None
    found = {finding.rule for finding in Cluster(deepcopy([*world_objects(world), world.wanting])).audit().findings}
    assert ("never-fits" in found) is not fits
    event("fits" if fits else "never fits")
