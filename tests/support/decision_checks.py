"""Each decision of a scheduler, held against one made from scratch.

A `ChoiceChecker` is shown what was chosen and asks `cycle.attempt` the same question, without anything that is
reused between decisions: every time on the scheduler's own view, and at intervals on a cache that is built anew from
the objects that the scheduler was told of, so that columns and counters that have gone stale are found as well. A
difference is an AssertionError. What is trusted: which pods stand on which node in which order (`checkers` holds that
against the store), and the objects that Reserve has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.checkers import looked_up

from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Fits, NeedsPreemption
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class NamedChoice:
    """A decision in names, so that it can be compared with one on another cache."""

    node: str = ""
    total: int | None = None
    victims_node: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""
    rejectors: tuple[str, ...] = ()
    keeps_nomination: bool = False
    error: str = ""


def named(choice: Choice | CycleError, view: View) -> NamedChoice:
    names = view.nodes.names
    match choice:
        case Fits():
            return NamedChoice(names[choice.row], choice.total)
        case CycleError():
            return NamedChoice(error=f"{choice.plugin}: {choice.message}")
        case NeedsPreemption():
            victims = tuple(view.pods.keys[row] for row in choice.victims_on(choice.row))
            return NamedChoice("", None, names[choice.row], victims, *choice.diagnosis)
    return NamedChoice("", None, "", (), *choice.diagnosis, choice.keeps_nomination)


class ChoiceChecker:
    """Observes a scheduler (`on_choice`) and what it is told of (`observe`), and checks each choice.

    Args:
        rebuild_every: how many decisions lie between two that are made on a cache built anew.
    """

    def __init__(self, profiles: Mapping[str, Profile], *, rebuild_every: int = 10) -> None:
        self._from_scratch = Decider(profiles, reuse=False)
        self._rebuild_every = rebuild_every
        self._objects: dict[tuple[str, str], Object] = {}  # as the scheduler was told of them, by kind and key
        self._assumed: dict[str, Pod] = {}  # pods as they were when they fitted, until they are seen on a node
        self.decided = self.rebuilt = 0

    def observe(self, event: Event, now: int) -> None:
        """What the scheduler is told."""
        if isinstance(event, ObjectAdded | ObjectChanged):
            self._objects[_place(event.new)] = event.new
            if isinstance(event.new, Pod) and event.new.spec.node_name:
                self._assumed.pop(object_key(event.new), None)
        elif isinstance(event, ObjectRemoved):
            self._objects.pop(_place(event.old), None)
            self._assumed.pop(object_key(event.old), None)

    def check(self, pod: PodInfo, view: View, choice: Choice | CycleError) -> None:
        """To be given to the scheduler as `on_choice`."""
        decided = named(choice, view)
        self.decided += 1
        again = self._decide_from_scratch(pod, view)
        assert again == decided, f"{pod.key}: decided {decided}, from scratch {again}"
        if self.decided % self._rebuild_every == 0:
            self.rebuilt += 1
            cache = rebuilt(view, self._objects, self._assumed)
            info = cache.info(self._pod(pod.key))
            info.nominated_node_name = pod.nominated_node_name
            anew = self._decide_from_scratch(info, cache.view())
            assert anew == decided, f"{pod.key}: decided {decided}, on a cache built anew {anew}"
        if isinstance(choice, Fits):
            self._assumed[pod.key] = self._pod(pod.key)

    def _pod(self, key: str) -> Pod:
        found = self._objects["Pod", key]
        assert isinstance(found, Pod)
        return found

    def _decide_from_scratch(self, pod: PodInfo, view: View) -> NamedChoice:
        try:
            return named(self._from_scratch.decide(pod, view), view)
        except CycleError as error:
            return named(error, view)


def rebuilt(view: View, objects: Mapping[tuple[str, str], Object], assumed: Mapping[str, Pod]) -> Cache:
    """A cache with the same content as the one behind the view, from the objects themselves.

    Of a pod on its way to a node counts what it was when it was assumed there, as upstream.
    """
    cache = Cache(view.objects.gates, view.pods.own_schedulers)
    nodes = [obj for obj in objects.values() if isinstance(obj, Node)]
    # In the order of the rows: a search that ends when it has found enough depends on it.
    for node in sorted(nodes, key=lambda node: view.nodes.rows_by_name[node.metadata.name]):
        cache.add_node(node)
    for obj in looked_up(view.objects):
        cache.objects.put(obj)
    cache.objects.claims_in_flight |= view.objects.claims_in_flight
    cache.objects.now = view.objects.now
    pods = view.pods
    for node_row, pod_rows in enumerate(view.nodes.pod_rows):
        for row in pod_rows:
            pod = assumed.get(pods.keys[row]) or objects["Pod", pods.keys[row]]
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
