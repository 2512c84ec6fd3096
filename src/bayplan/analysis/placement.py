"""Pods placed one after another, without a clock.

Each pod is tried once, in the order given. A placed pod stays. When nothing fits, preemption is tried; its
victims vanish at once, nominations of lower priority there end, and the pod takes their place; it is tried again if
devices that it needs there were taken back by the same attempt. A pod that preemption looked for in vain loses the node
it was nominated to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.showing import Shown
from bayplan.analysis.tie_breaks import TieBreak, smallest_name
from bayplan.analysis.tied_nodes import TieRecorder
from bayplan.core.actions import Action, DeallocateClaim, ReleaseClaim
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits, Unschedulable
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, CycleError
from bayplan.core.groups.single import decide_pod
from bayplan.core.preemption.prepare import make_room, overtaken
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimStatus, with_status
from bayplan.model.structs import Struct, replace
from bayplan.worlds.driving import rare_collections


class PlacedPod(Struct, frozen=True):
    """What became of one pod."""

    pod: str
    node: str | None
    total: int | None
    ties: Collection[str] = ()  # the nodes that were as good, its own among them; names only when asked for
    victims: tuple[str, ...] = ()
    message: str = ""

    @property
    def tied(self) -> tuple[str, ...]:
        """The names of the nodes that were as good, its own among them, sorted."""
        return tuple(self.ties)

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"pod": self.pod, "node": self.node, "total": self.total}
        if len(self.ties) > 1:
            plain["tied"] = list(self.ties)
        if self.victims:
            plain["victims"] = list(self.victims)
        if self.message:
            plain["message"] = self.message
        return plain


@dataclass(frozen=True, slots=True, repr=False)
class Placement(Shown):
    """What became of the pods, in the order in which they were tried."""

    decisions: tuple[PlacedPod, ...]
    claims: tuple[ResourceClaim, ...] = ()  # resource claims as they are now, where they have changed

    def to_dict(self) -> dict[str, Any]:
        return {"decisions": [decision.to_dict() for decision in self.decisions]}


def place_pods(
    cache: Cache,
    profiles: Mapping[str, Profile],
    pods: Iterable[Pod],
    choose: TieBreak,
    *,
    reuse: bool = True,
    gated: bool = False,
) -> Placement:
    """Place the pods into the cache. Without `reuse` every decision is computed from scratch, to the same end.

    Pods that PreEnqueue holds back are not tried, unless they are to be placed `gated` as they are.
    """
    placer = Placer(cache, profiles, choose, reuse=reuse, tries_gated=gated)
    before = dict(cache.objects.resource_claims)
    with rare_collections():
        decisions = tuple([placer.place(pod) for pod in pods])
    claims = (claim for name, claim in cache.objects.resource_claims.items() if before.get(name) is not claim)
    return Placement(decisions, tuple(claims))


def _always(_: Pod) -> bool:
    return True


class Placer:
    """Places pods into a cache, one at a time. While it does, no node comes or goes."""

    def __init__(
        self,
        cache: Cache,
        profiles: Mapping[str, Profile],
        choose: TieBreak = smallest_name,
        *,
        reuse: bool = True,
        keeps_ties: bool = True,
        tries_gated: bool = False,
    ) -> None:
        self._cache = cache
        self._profiles = profiles
        self._choose = choose
        self._decider = Decider(profiles, reuse=reuse)
        self._ties = TieRecorder(cache.nodes) if keeps_ties else None
        self.tries_gated = tries_gated
        self._overtaken: set[str] = set()  # pods whose nomination was ended by others
        self._waiting: list[PodInfo] = []  # found no place; what was worked out for them serves the next of their shape

    @property
    def decider(self) -> Decider:
        """Which knows the pods that were placed."""
        return self._decider

    def forget_nominations(self) -> None:
        """For pods that are placed after all was put back."""
        self._overtaken.clear()
        self._waiting.clear()

    def place(self, pod: Pod, info: PodInfo | None = None, *, says_why: Callable[[Pod], bool] = _always) -> PlacedPod:
        """Decide on the pod, evict its victims if it has any, and put it onto its node.

        Args:
            pod: one that has no node.
            info: of the pod, if it is known.
            says_why: which pods get a message if they fit nowhere, which takes time.
        """
        cache = self._cache
        info = info or cache.info(pod)
        if info.key in self._overtaken:
            info.nominated_node_name = ""
        if not self.tries_gated:
            admitted = run_pre_enqueue(self._profiles[info.scheduler_name].pre_enqueue, info)
            if admitted is not SUCCESS and not admitted.ok:
                return PlacedPod(info.key, None, None, message=admitted.message)
        view = cache.view()
        try:
            if cache.gates.generic_workload:
                choice = decide_pod(self._decider, cache, self._profiles[info.scheduler_name], info, view)
            else:
                choice = self._decider.decide(info, view)
        except CycleError as error:
            # The attempt itself failed, which is this pod's trouble and nobody else's.
            return PlacedPod(info.key, None, None, message=error.message)
        if isinstance(choice, Unschedulable):
            self._waiting.append(info)
            message = choice.diagnosis.message if says_why(pod) else ""
            if not choice.keeps_nomination and info.key in cache.pods.rows_by_key:
                cache.remove_pod(info.key)  # preemption looked in vain: nothing is kept for the pod any longer
            self._change_claims(choice.actions)
            return PlacedPod(info.key, None, None, (), (), message)
        row = self._choose(choice, view)
        node = view.nodes.names[row]
        ties = self._ties.record(choice) if self._ties is not None else ()
        if isinstance(choice, Fits):
            self._settle(pod, info, view, row)
            return PlacedPod(info.key, node, choice.total, ties)
        self._overtaken.update(overtaken(info, view, node))
        victims = tuple(make_room(cache, info, view, node, choice.victims_on(row)))
        self._change_claims(choice.actions)
        try:
            self._settle(pod, info, cache.view(), row)
        except CycleError:
            if not any(isinstance(action, DeallocateClaim) for action in choice.actions):
                raise
            # Devices it had there were taken back and cannot be given again. The victims are gone all the same, and the
            # pod is tried again, with one claim less to take back.
            again = self.place(pod)
            return replace(again, victims=(*victims, *again.victims))
        return PlacedPod(info.key, node, None, ties, victims)

    def _settle(self, pod: Pod, info: PodInfo, view: View, node_row: int) -> None:
        """The pod runs on the node from now on, with what it needs there; if it was nominated that is over."""
        cache = self._cache
        plugins = self._profiles[info.scheduler_name].reserve
        for objects in [plugin.reserve(info, view, node_row) for plugin in plugins]:
            for obj in objects:
                cache.objects.put(obj)
        if info.key in cache.pods.rows_by_key:
            cache.remove_pod(info.key)
        cache.add_pod(pod, view.nodes.names[node_row], info)

    def _change_claims(self, actions: Sequence[Action]) -> None:
        """Take devices back that claims could not use where they are; what else is asked for leaves no trace here."""
        objects = self._cache.objects
        for action in actions:
            if isinstance(action, DeallocateClaim | ReleaseClaim):
                namespace, _, name = action.claim.partition("/")
                claim = objects.resource_claims[namespace, name]
                if isinstance(action, DeallocateClaim):
                    objects.put(with_status(claim, ResourceClaimStatus()))
                elif action.delete:
                    objects.remove(claim)
