"""Constraints that no node can meet, however empty: tried by placing each workload alone into the empty cluster.

Workloads whose pods certainly fit there (see `certain_fits`) need no trial. Whatever does not fit there never will: a
node selector or affinity that no node matches, a taint that is not tolerated, a request larger than any node, a volume
in the wrong zone, more replicas than their spreading or anti-affinity leaves room for. Required affinity to other pods
is judged on its own, by who is there to be near to. Where pod groups are on, each is placed with all of its pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy

from bayplan.analysis.answers.audit.audited import Audited, is_recreated, name_of
from bayplan.analysis.answers.audit.cascade import can_be_decided, renewed
from bayplan.analysis.answers.audit.certain_fits import CertainFits
from bayplan.analysis.answers.audit.group_rules import whole_groups
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.analysis.placement import PlacedPod, Placer
from bayplan.analysis.references import POD
from bayplan.controllers.ownership import Workload, controller_reference, is_active
from bayplan.core.cache import Cache
from bayplan.core.columns.terms import AffinityTerm, compile_affinity
from bayplan.core.diagnosis import without_preemption
from bayplan.core.groups.member import Member
from bayplan.core.groups.status import UNSCHEDULABLE_GROUP
from bayplan.core.groups.waiting import in_order
from bayplan.core.plugins.volume_binding import UNBOUND_IMMEDIATE
from bayplan.model.cluster import Namespace
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod, group_key
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import replace
from bayplan.model.workloads import DaemonSet


def impossible_findings(audited: Audited) -> Iterator[Finding]:
    """Needs nodes."""
    if not audited.nodes:
        return
    workloads = list(_workloads(audited))
    cache = _empty(audited)
    placer, certain_fits = audited.asking.placer(cache, tries_gated=True), CertainFits(audited.asking, cache)
    for name, pods in workloads:
        alone = pods if not cache.gates.generic_workload else [pod for pod in pods if not group_key(pod)]
        with _new_pods(audited, cache, alone) as new:
            fits = certain_fits.all_fit([cache.info(pod) for pod in new])
            finding = None if fits else _said(name, new, placer.place)
        if finding is not None:
            yield finding
    if cache.gates.generic_workload:
        yield from _impossible_groups(audited, cache, placer)
    yield from _near_to_nobody(audited, workloads)


def _impossible_groups(audited: Audited, cache: Cache, placer: Placer) -> Iterator[Finding]:
    """Groups for which nothing else is missing, each alone in the empty cluster, with all of its pods."""
    together = audited.asking.group_placer(cache, placer)
    for key, (group, pods) in whole_groups(audited).items():
        with _new_pods(audited, cache, [renewed(pod) for pod in pods]) as new:
            members = [Member(pod, cache.info(pod), queued_at=number) for number, pod in enumerate(new)]
            placed = together.place(key, in_order(members))
        left = [each for each in placed if each.node is None]
        if left and len(left) == len(placed):
            yield Finding("group-never-fits", name_of(group), without_preemption(_own_reason(left)))
        elif left:
            yield _in_part(name_of(group), len(placed) - len(left), len(placed), _own_reason(left))


def _own_reason(left: Sequence[PlacedPod]) -> str:
    """What the first member was told that fits on no node itself; of a group that is too large, any."""
    return next((each.message for each in left if not each.message.startswith(UNSCHEDULABLE_GROUP)), left[0].message)


@contextmanager
def _new_pods(audited: Audited, cache: Cache, pods: Iterable[Pod]) -> Iterator[list[Pod]]:
    """The pods as they are when they are new, with the claims that are made for them; then all is put back."""
    new = [audited.with_new_claims(_without_affinity(pod)) for pod in pods]
    with cache.trial():
        for _, claims in new:
            for claim in claims:
                cache.add(claim)
        yield [pod for pod, _ in new]


def _workloads(audited: Audited) -> Iterator[tuple[str, list[Pod]]]:
    """The pods of each workload, those that are there and those to come, and pods that wait without one."""
    for workload in audited.workloads:
        if not isinstance(workload, DaemonSet):
            pods = _pods_of(audited, workload)
            if pods:
                yield name_of(workload), pods
    for pod in audited.pods:
        if (
            controller_reference(pod.metadata) is None
            and not pod.spec.node_name
            and can_be_decided(audited.asking, pod)
        ):
            yield name_of(pod), [pod]


def _pods_of(audited: Audited, workload: Workload) -> list[Pod]:
    there = [renewed(pod) for pod in audited.ownership.pods_of(workload) if is_active(pod) and is_recreated(pod)]
    keys = audited.planned.by_workload.get(id(workload), ())
    pods = [*there, *(audited.planned.by_key[key].pod for key in keys)]
    return [pod for pod in pods if can_be_decided(audited.asking, pod)]


def _empty(audited: Audited) -> Cache:
    """The cluster without its pods and the devices they have been given, with what workloads would create besides."""
    configuration = audited.asking.configuration
    cache = Cache(configuration.gates, audited.asking.own_schedulers)
    for obj in audited.cluster.objects:
        if not isinstance(obj, Pod) and not _is_made_for_a_pod(obj):
            cache.add(obj)
    for new in {id(new.origin): new.origin for new in audited.planned.by_key.values()}.values():
        for brought in new.along:
            cache.add(brought)
    return cache


def _is_made_for_a_pod(obj: Object) -> bool:
    """New pods get new claims."""
    return isinstance(obj, ResourceClaim) and any(owner.kind == POD for owner in obj.metadata.owner_references)


def _said(name: str, pods: Sequence[Pod], place: Callable[[Pod], PlacedPod]) -> Finding | None:
    """What is wrong with a workload that is alone in the cluster."""
    for number, pod in enumerate(pods):
        outcome = place(pod)
        if outcome.node is not None:
            continue
        if UNBOUND_IMMEDIATE in outcome.message:
            return None  # a provisioner will see to it, and until then nothing is known
        if not number:
            return Finding("never-fits", name, without_preemption(outcome.message))
        return _in_part(name, number, len(pods), outcome.message)
    return None


def _in_part(name: str, fitting: int, pods: int, message: str) -> Finding:
    fit = f"only {fitting:,} of its {pods:,} pods fit into the empty cluster"
    return Finding("too-many-replicas", name, f"{fit}; then: {without_preemption(message)}")


def _without_affinity(pod: Pod) -> Pod:
    """The pod without the wish to be near others, who are not there."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_affinity is None:
        return pod
    apart = copy(affinity)
    apart.pod_affinity = None
    return replace(pod, spec=replace(pod.spec, affinity=apart))


def _near_to_nobody(audited: Audited, workloads: Sequence[tuple[str, Sequence[Pod]]]) -> Iterator[Finding]:
    others = {
        (pod.metadata.namespace, tuple(sorted(pod.metadata.labels.items())))
        for pods in (audited.pods, [new.pod for new in audited.planned.by_key.values()])
        for pod in pods
    }
    namespaces = {
        obj.metadata.name: obj.metadata.labels for obj in audited.cluster.objects if isinstance(obj, Namespace)
    }

    lacks_namespaces = audited.lacks(Namespace)

    def may_select(term: AffinityTerm, namespace: str) -> bool:
        if lacks_namespaces:
            return not term.namespace_selector.selects_nothing
        return term.namespace_selector.matches(namespaces.get(namespace, {}))

    def is_met(term: AffinityTerm) -> bool:
        return any(
            (namespace in term.namespaces or may_select(term, namespace)) and term.selector.matches(dict(labels))
            for namespace, labels in others
        )

    for name, pods in workloads:
        pod = pods[0]
        for position, term in enumerate(compile_affinity(pod.spec.affinity, pod.metadata.namespace).required):
            if not is_met(term):
                why = (
                    f"no pod, not even {object_key(pod)} itself, matches its required pod affinity term {position + 1}"
                )
                yield Finding("affinity-to-nobody", name, why)
                break
