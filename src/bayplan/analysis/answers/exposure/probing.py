"""Probes: pods made up to find out what a preemptor would do.

A probe is a pod without labels, volumes or wishes. It has a priority and asks for given amounts, or for a port of the
host. It may have to run on a certain node, whose taints it then tolerates. It is decided as the scheduler would, and
never enters the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayplan.admission.priority import PREEMPT_LOWER_PRIORITY
from bayplan.controllers.workloads.daemon_placement import pin
from bayplan.core.cache import Cache
from bayplan.core.columns.resources import CPU_NAME
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.framework.profile import Profile
from bayplan.core.preemption.unit_search import UnitSearch
from bayplan.model.meta import ObjectMeta, RawQuantity
from bayplan.model.pod import Container, ContainerPort, Pod, PodSpec, ResourceRequirements, Toleration

PROBE = "bayplan-probe"

#: Resource -> amount, in milli-cores for cpu and whole units for everything else.
Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """What became of a pod that was tried."""

    node: str = ""  # "" when no node will do, whoever goes
    victims: tuple[str, ...] = ()  # keys; empty when it fits as things are

    def to_dict(self) -> dict[str, Any]:
        return {"node": self.node or None, "victims": list(self.victims)}


class Probing:
    """Tries probes on one cache."""

    def __init__(self, cache: Cache, profile: Profile) -> None:
        self.cache = cache
        self._profile = profile

    def info(self, priority: int, amounts: Amounts, namespace: str, node: str = "") -> PodInfo:
        """A probe as the scheduler sees it."""
        return self.cache.info(probe_pod(self._profile.scheduler_name, priority, amounts, namespace, node))

    def on_node(self, node: str, priority: int, amounts: Amounts, namespace: str) -> tuple[str, ...]:
        """Who goes for a probe that must run on this node."""
        return self.decide(self.info(priority, amounts, namespace, node)).victims

    def for_port(self, node: str, priority: int, port: ContainerPort, namespace: str) -> tuple[str, ...]:
        """Who goes for a probe that must run on this node and asks for nothing but a port of the host."""
        pod = probe_pod(self._profile.scheduler_name, priority, {}, namespace, node)
        pod.spec.containers[0].ports = [port]
        return self.decide(self.cache.info(pod)).victims

    def decide(self, info: PodInfo) -> ProbeOutcome:
        return decided(self.cache, self._profile, info)


def decided(cache: Cache, profile: Profile, info: PodInfo) -> ProbeOutcome:
    """What the scheduler does with the pod as things are; of equally good nodes it is the first by name.

    Where pod groups are on, groups that are evicted as a whole go as a whole.
    """
    view = cache.view()
    found = attempt(profile, info, view, search=UnitSearch.where_needed(cache, profile))
    names = view.nodes.names
    if found.scored is not None:
        return ProbeOutcome(min(names[row] for row in found.scored.best_rows()))
    preempting = found.post_filter.found if found.post_filter is not None else None
    if preempting is None or not len(preempting.tied_rows):
        return ProbeOutcome()
    row = min(preempting.tied_rows.tolist(), key=names.__getitem__)
    return ProbeOutcome(names[row], tuple(view.pods.keys[victim] for victim in preempting.victims_on(row)))


def probe_pod(scheduler_name: str, priority: int, amounts: Amounts, namespace: str, node: str = "") -> Pod:
    requests: dict[str, RawQuantity] = {name: written_request(name, amount) for name, amount in amounts.items()}
    spec = PodSpec(
        scheduler_name=scheduler_name,
        priority=priority,
        preemption_policy=PREEMPT_LOWER_PRIORITY,
        containers=[Container(name=PROBE, resources=ResourceRequirements(requests=requests))],
        tolerations=[Toleration(operator="Exists")] if node else [],
    )
    pod = Pod(metadata=ObjectMeta(name=PROBE, namespace=namespace), spec=spec)
    if node:
        pin(pod, node)
    return pod


def written_request(resource: str, amount: int) -> RawQuantity:
    """An amount in the unit of its column as a manifest has it, exactly."""
    return f"{amount}m" if resource == CPU_NAME else amount
