"""Each decision of a scheduler, held against one made from scratch.

A `CheckingDecider` decides as any other and then asks `cycle.attempt` the same question, without anything that is
reused between decisions: every time on the scheduler's own view, and at intervals on a cache that is built anew from
the objects that the scheduler was told of, so that columns and counters that have gone stale are found as well. A
difference is an AssertionError. What is trusted: which pods stand on which node in which order (`checkers` holds that
against the store), and the objects that Reserve has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Choice, Decider
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.checkers import looked_up


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision in names, so that it can be compared with one on another cache."""

    node: str = ""
    total: int | None = None
    victims_node: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""
    rejectors: tuple[str, ...] = ()
    keeps_nomination: bool = False
    error: str = ""


def outcome_of(choice: Choice, view: View) -> Outcome:
    names = view.nodes.names
    if choice.row >= 0:
        return Outcome(names[choice.row], choice.total)
    victims_node, victims = "", ()
    if choice.found is not None:
        victims_node = names[choice.victims_row]
        victims = tuple(view.pods.keys[row] for row in choice.victims_on(choice.victims_row))
    refusal = choice.refusal
    return Outcome(
        victims_node=victims_node,
        victims=victims,
        message=refusal.message,
        rejectors=refusal.rejectors,
        keeps_nomination=choice.keeps_nomination,
    )


class CheckingDecider(Decider):
    """Decides as any other, and checks what was decided.

    Args:
        rebuild_every: how many decisions lie between two that are made on a cache built anew.
    """

    def __init__(self, profiles: Mapping[str, Profile], *, rebuild_every: int = 10) -> None:
        super().__init__(profiles)
        self._from_scratch = Decider(profiles, reuse=False)
        self._rebuild_every = rebuild_every
        self._objects: dict[tuple[str, str], Object] = {}  # as the scheduler was told of them, by kind and key
        self.decided = self.rebuilt = 0

    def observe(self, event: Event, now: int) -> None:  # noqa: ARG002
        """What the scheduler is told."""
        if isinstance(event, ObjectAdded | ObjectChanged):
            self._objects[_place(event.new)] = event.new
        elif isinstance(event, ObjectRemoved):
            self._objects.pop(_place(event.old), None)

    def decide(self, pod: PodInfo, view: View, *, with_ties: bool = False) -> Choice:
        try:
            choice = super().decide(pod, view, with_ties=with_ties)
        except CycleError as error:
            self._check(pod, view, Outcome(error=f"{error.plugin}: {error.message}"))
            raise
        self._check(pod, view, outcome_of(choice, view))
        return choice

    def _check(self, pod: PodInfo, view: View, decided: Outcome) -> None:
        self.decided += 1
        again = self._decide_from_scratch(pod, view)
        assert again == decided, f"{pod.key}: decided {decided}, from scratch {again}"
        if self.decided % self._rebuild_every == 0:
            self.rebuilt += 1
            cache = rebuilt(view, self._objects)
            info = cache.info(self._pod(pod.key))
            info.nominated_node_name = pod.nominated_node_name
            anew = self._decide_from_scratch(info, cache.view())
            assert anew == decided, f"{pod.key}: decided {decided}, on a cache built anew {anew}"

    def _pod(self, key: str) -> Pod:
        found = self._objects["Pod", key]
        assert isinstance(found, Pod)
        return found

    def _decide_from_scratch(self, pod: PodInfo, view: View) -> Outcome:
        try:
            return outcome_of(self._from_scratch.decide(pod, view), view)
        except CycleError as error:
            return Outcome(error=f"{error.plugin}: {error.message}")


def rebuilt(view: View, objects: Mapping[tuple[str, str], Object]) -> Cache:
    """A cache with the same content as the one behind the view, from the objects themselves."""
    cache = Cache()
    for obj in objects.values():
        if isinstance(obj, Node):
            cache.add_node(obj)
    for obj in looked_up(view.objects):
        cache.objects.put(obj)
    pods = view.pods
    for node_row, pod_rows in enumerate(view.nodes.pod_rows):
        for row in pod_rows:
            pod = objects["Pod", pods.keys[row]]
            assert isinstance(pod, Pod)
            cache.add_pod(pod, None if pod.spec.node_name else view.nodes.names[node_row])
    for node_name, nominated_rows in view.nominated.items():
        for row in nominated_rows:
            pod = objects["Pod", pods.keys[row]]
            assert isinstance(pod, Pod)
            cache.nominate(pod, node_name)
    return cache


def _place(obj: Object) -> tuple[str, str]:
    return type(obj).__name__, object_key(obj)
