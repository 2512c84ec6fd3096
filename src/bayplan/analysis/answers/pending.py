"""Which pods are pending, and why: one reason for all pods of a workload that look alike to the scheduler.

Each is tried on its own, in the cluster as it is: none takes room from another, and nothing is evicted. Where pod
groups are on, the pods of a group are tried together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.gangs.explaining import ExplainedGroup, explained_group
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.analysis.causes import causes_of
from bayplan.analysis.label_selection import LabelTest, selected_by
from bayplan.analysis.references import Reference
from bayplan.analysis.showing import Shown
from bayplan.controllers.ownership import Ownership
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodShape
from bayplan.core.cycle import attempt
from bayplan.core.explain import Explanation
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, group_key


@dataclass(frozen=True, slots=True)
class PendingGroup:
    """Pods with one reason."""

    workload: str  # as a command takes it: shop/deployment/web, or the pod itself
    pods: tuple[str, ...]
    priority: int
    gate: str = ""  # what keeps the scheduler from trying them
    message: str = ""  # the scheduler's own words
    fitting: int | None = None  # of a pod group: how many of these pods find a node, whether or not they are enough
    causes: tuple[tuple[int, str], ...] = ()  # number of nodes, and what keeps the pods off these
    fits_on: int = 0  # nodes that one of them fits on
    node: str = ""  # where preemption would make room, for a single pod
    victims: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "pods": list(self.pods),
            "priority": self.priority,
            "gate": self.gate or None,
            "message": self.message,
            **({"fitting": self.fitting} if self.fitting is not None else {}),
            "causes": [{"count": count, "cause": cause} for count, cause in self.causes],
            "feasible": self.fits_on,
            "preemption": {"node": self.node or None, "victims": list(self.victims)} if self.victims else None,
        }


@dataclass(frozen=True, slots=True, repr=False)
class PendingPods(Shown):
    """The answer; the groups in the order of the scheduler's queue."""

    groups: tuple[PendingGroup, ...]
    namespace: str  # "" for all
    selector: str

    @property
    def names(self) -> list[str]:
        return [key for group in self.groups for key in group.pods]

    def to_dict(self) -> dict[str, Any]:
        return {
            "namespace": self.namespace or None,
            "selector": self.selector or None,
            "pending": len(self.names),
            "groups": [group.to_dict() for group in self.groups],
        }


def pending_pods(asking: Asking, namespace: str = "", selector: str = "") -> PendingPods:
    """Of a namespace, or of all; raises InvalidObject for a selector that cannot be understood."""
    cluster = asking.cluster
    queue = cluster.queue_under(asking.profiles, asking.configuration.gates)
    foreign = {key: f"it waits for scheduler {name!r}" for key, name in queue.foreign.items()}
    wanted = selected_by(selector)
    cache = asking.cache()
    tried = _chosen(cluster.prepared(queue.keys, cache), namespace, wanted)
    held_back = {**queue.gated, **foreign}
    untried = _chosen((cluster.find_pod(key) for key in held_back), namespace, wanted)
    ownership = cluster.ownership
    together = [pod for pod in tried if group_key(pod)] if asking.configuration.gates.generic_workload else []
    single = [pod for pod in tried if pod not in together] if together else tried
    groups = [*_pod_groups(asking, together), *_tried_groups(asking, cache, single, ownership)]
    place = {object_key(pod): number for number, pod in enumerate(tried)}
    groups.sort(key=lambda group: min((place[key] for key in group.pods if key in place), default=len(place)))
    return PendingPods((*groups, *_untried_groups(untried, held_back, ownership)), namespace, selector)


def _pod_groups(asking: Asking, pods: Iterable[Pod]) -> Iterator[PendingGroup]:
    """Each pod group as if it were tried first."""
    for key in dict.fromkeys(map(group_key, pods)):
        yield _of_pod_group(explained_group(asking.cluster, asking.configuration, key))


def _of_pod_group(found: ExplainedGroup) -> PendingGroup:
    plain, shortfall = found.to_dict(), found.shortfall
    namespace, _, name = found.key.partition("/")
    reference = short_name(Reference("podgroup", namespace, name))
    priority = found.group.spec.priority or 0 if found.group is not None else 0
    held_back = plain.get("preEnqueue") or {}
    if shortfall is None:
        said = next((", ".join(status["reasons"]) for status in held_back.values()), "")
        condition = plain["condition"] or {"message": ""}
        keys = tuple(held_back) or tuple(plain["order"])
        return PendingGroup(reference, keys, priority, gate=said or condition["message"])
    unfit, preemption = shortfall.unfit, plain["preemption"]
    return PendingGroup(
        reference,
        tuple(plain["order"]),
        priority,
        message=plain["condition"]["message"] if plain["condition"] is not None else "",
        fitting=len(shortfall.fitting),
        causes=tuple((len(cause.nodes), cause.text) for cause in unfit.causes) if unfit is not None else (),
        fits_on=len(set(shortfall.fitting.values())) if found.fits else 0,
        victims=tuple(preemption["evicted"]) if preemption is not None else (),
    )


def _chosen(pods: Iterable[Pod], namespace: str, wanted: LabelTest) -> list[Pod]:
    return [pod for pod in pods if namespace in ("", pod.metadata.namespace) and wanted(pod.metadata.labels)]


def _tried_groups(asking: Asking, cache: Cache, pods: Iterable[Pod], ownership: Ownership) -> Iterable[PendingGroup]:
    groups: dict[tuple[str, PodShape], list[Pod]] = {}  # with the shapes themselves: they are forgotten otherwise
    for pod in pods:
        workload = short_name(workload_of(pod, ownership))
        groups.setdefault((workload, cache.info(pod).shape), []).append(pod)
    view = cache.view()  # after the pods, which may ask for what no node has
    for (workload, _), alike in groups.items():
        first = alike[0]
        profile, info = asking.profile_of(first), cache.info(first)
        yield _explained(
            PendingGroup(workload, tuple(map(object_key, alike)), first.spec.priority or 0),
            Explanation(attempt(profile, info, view), view, run_pre_enqueue(profile.pre_enqueue, info)),
        )


def _explained(group: PendingGroup, why: Explanation) -> PendingGroup:
    plain = why.to_dict()
    preemption = plain["preemption"]
    node = preemption["selected"][0] if preemption and preemption["selected"] else ""
    return replace(
        group,
        message=plain["message"],
        causes=tuple((len(cause.nodes), cause.text) for cause in causes_of(why)),
        fits_on=len(plain["feasible"]),
        node=node,
        victims=tuple(preemption["candidates"][node]["victims"]) if node else (),
    )


def _untried_groups(pods: Iterable[Pod], held_back: Mapping[str, str], ownership: Ownership) -> Iterable[PendingGroup]:
    groups: dict[tuple[str, str], list[Pod]] = {}
    for pod in pods:
        workload = short_name(workload_of(pod, ownership))
        groups.setdefault((workload, held_back[object_key(pod)]), []).append(pod)
    for (workload, gate), alike in groups.items():
        yield PendingGroup(workload, tuple(map(object_key, alike)), alike[0].spec.priority or 0, gate=gate)
