"""Pods placed one after another, without a clock.

Each pod is tried once, in the order given. A placed pod stays. When nothing fits, preemption is tried; its
victims vanish at once and the pod takes their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.tie_breaks import TieBreak
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.preemption.prepare import overtaken
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """What became of one pod."""

    pod: str
    node: str | None
    total: int | None
    tied: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"pod": self.pod, "node": self.node, "total": self.total}
        if len(self.tied) > 1:
            plain["tied"] = list(self.tied)
        if self.victims:
            plain["victims"] = list(self.victims)
        if self.message:
            plain["message"] = self.message
        return plain


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of the pods, in the order in which they were tried."""

    decisions: tuple[PlacedPod, ...]
    claims: tuple[ResourceClaim, ...] = ()  # resource claims as they are now, where they have changed

    def to_dict(self) -> dict[str, Any]:
        return {"decisions": [decision.to_dict() for decision in self.decisions]}


def place_pods(
    cache: Cache, profiles: Mapping[str, Profile], pods: Sequence[Pod], choose: TieBreak, *, reuse: bool = True
) -> Placement:
    """Place the pods into the cache. Without `reuse` every decision is computed from scratch, to the same end."""
    decider = Decider(profiles, reuse=reuse)
    before = dict(cache.objects.resource_claims)
    decisions = tuple(_place(cache, decider, profiles[pod.spec.scheduler_name], pod, choose) for pod in pods)
    claims = (claim for place, claim in cache.objects.resource_claims.items() if before.get(place) is not claim)
    return Placement(decisions, tuple(claims))


def _place(cache: Cache, decider: Decider, profile: Profile, pod: Pod, choose: TieBreak) -> PlacedPod:
    info = cache.info(pod)
    view = cache.view()
    try:
        choice = decider.decide(info, view, with_ties=True)
    except CycleError as error:
        # The attempt itself failed, which is this pod's trouble and nobody else's.
        return PlacedPod(info.key, None, None, message=f"{error.plugin}: {error.message}")
    tied = tuple(sorted(view.nodes.names[row] for row in choice.tied_rows)) if choice.tied_rows is not None else ()
    if choice.row >= 0:
        node = choose(tied)
        _settle(cache, profile, pod, info, node)
        return PlacedPod(info.key, node, choice.total, tied)
    if choice.deallocation is not None and choice.deallocation.write is not None:
        cache.objects.put(choice.deallocation.write)
    if choice.deallocation is not None and choice.deallocation.delete is not None:
        cache.objects.remove(choice.deallocation.delete)
    if choice.found is None:
        return PlacedPod(info.key, None, None, message=choice.message)
    node = choose(tied)
    victims = tuple(view.pods.keys[row] for row in choice.victims_on(view.nodes.rows_by_name[node]))
    for key in (*victims, *overtaken(info, view, node)):
        cache.remove_pod(key)
    _settle(cache, profile, pod, info, node)
    return PlacedPod(info.key, node, None, tied, victims)


def _settle(cache: Cache, profile: Profile, pod: Pod, info: PodInfo, node: str) -> None:
    """The pod runs on the node from now on, with what it needs there; if it was nominated that is over."""
    view = cache.view()
    for plugin in profile.reserve:
        for thing in plugin.reserve(info, view, view.nodes.rows_by_name[node]):
            cache.objects.put(thing)
    if info.key in cache.pods.rows_by_key:
        cache.remove_pod(info.key)
    cache.add_pod(pod, node, info)
