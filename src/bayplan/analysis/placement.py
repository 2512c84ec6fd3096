"""Pods placed one after another, without a clock.

Each pod is tried once, in the order given. A placed pod stays. When nothing fits, preemption is tried; its
victims vanish at once, nominations of lower priority there end, and the pod takes their place. A pod that preemption
looked for in vain loses the node it was nominated to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bayplan.analysis.tie_breaks import TieBreak
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits, Unschedulable
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.preemption.prepare import make_room, overtaken
from bayplan.core.queue.entrance import may_enter
from bayplan.model.pod import Pod


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

    def to_dict(self) -> dict[str, Any]:
        return {"decisions": [decision.to_dict() for decision in self.decisions]}


def place_pods(
    cache: Cache,
    profiles: Mapping[str, Profile],
    pods: Sequence[Pod],
    choose: TieBreak,
    *,
    reuse: bool = True,
    gated: bool = False,
) -> Placement:
    """Place the pods into the cache. Without `reuse` every decision is computed from scratch, to the same end.

    Pods that PreEnqueue holds back are not tried, unless they are to be placed `gated` as they are.
    """
    placing = _Placing(cache, profiles, choose, Decider(profiles, reuse=reuse), try_gated=gated)
    return Placement(tuple(placing.place(pod) for pod in pods))


@dataclass(slots=True)
class _Placing:
    """Pods on their way into the cache, one after another."""

    cache: Cache
    profiles: Mapping[str, Profile]
    choose: TieBreak
    decider: Decider
    try_gated: bool
    overtaken: set[str] = field(default_factory=set)  # pods whose nomination was ended by others

    def place(self, pod: Pod) -> PlacedPod:
        info, profile = self.cache.info(pod), self.profiles[pod.spec.scheduler_name]
        if info.key in self.overtaken:
            info.nominated_node_name = ""
        if not self.try_gated:
            admitted = may_enter(profile.pre_enqueue, info)
            if not admitted.ok:
                return PlacedPod(info.key, None, None, message=admitted.message)
        view = self.cache.view()
        try:
            choice = self.decider.decide(info, view, with_ties=True)
        except CycleError as error:
            # The attempt itself failed, which is this pod's trouble and nobody else's.
            return PlacedPod(info.key, None, None, message=error.message)
        if isinstance(choice, Unschedulable):
            message = choice.diagnosis.message
            if not choice.keeps_nomination:
                self._end_nomination(info.key)
            return PlacedPod(info.key, None, None, message=message)
        assert choice.tied_rows is not None, "they were asked for"
        tied = tuple(sorted(view.nodes.names[row] for row in choice.tied_rows))
        node = self.choose(tied)
        if isinstance(choice, Fits):
            _settle(self.cache, profile, pod, info, node)
            return PlacedPod(info.key, node, choice.total, tied)
        self.overtaken.update(overtaken(info, view, node))
        victims = make_room(self.cache, info, view, node, choice.victims_on(view.nodes.rows_by_name[node]))
        _settle(self.cache, profile, pod, info, node)
        return PlacedPod(info.key, node, None, tied, tuple(victims))

    def _end_nomination(self, key: str) -> None:
        """Preemption looked in vain: nothing is kept for the pod any longer."""
        if key in self.cache.pods.rows_by_key:
            self.cache.remove_pod(key)


def _settle(cache: Cache, profile: Profile, pod: Pod, info: PodInfo, node: str) -> None:
    """The pod runs on the node from now on, with what it needs there; if it was nominated that is over."""
    view = cache.view()
    for plugin in profile.reserve:
        for thing in plugin.reserve(info, view, view.nodes.rows_by_name[node]):
            cache.objects.put(thing)
    if info.key in cache.pods.rows_by_key:
        cache.remove_pod(info.key)
    cache.add_pod(pod, node, info)
