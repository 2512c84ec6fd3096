"""Moves carried out one after another, as a cluster would: evicted, recreated, decided on by the scheduler.

Each node that a pod leaves is cordoned while it does, and the nodes that room is made on until the last pod has left.
Where a pod may not land just anywhere, all nodes that the scheduler would prefer are cordoned for that step: kubectl
has no other means. A budget that forbids an eviction, a preemption, a pod that stays pending: each is a failure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.budget_ledger import is_healthy
from bayplan.analysis.answers.course import Course, DepartureCause
from bayplan.analysis.answers.drain import cordoned
from bayplan.analysis.answers.moving.room import Move
from bayplan.analysis.answers.stage import Stage
from bayplan.controllers.ownership import controller_reference
from bayplan.core.cycle import attempt
from bayplan.core.diagnosis import without_preemption
from bayplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class PlayedMove:
    """A pod that is evicted, and the node it gets."""

    pod: str
    source: str
    node: str
    priority: int
    owner: str  # its controller, as kubectl takes it: replicaset/web-5d9
    ready_pods: int  # pods of that controller that are ready before and after
    cordoned: tuple[str, ...] = ()  # nodes cordoned for this step alone: its own, and those the scheduler would prefer

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "from": self.source,
            "to": self.node,
            "priority": self.priority,
            "owner": self.owner,
            "cordoned": list(self.cordoned),
        }


class Awaited(Protocol):
    """Pods that room is made for: one, or those of a group."""

    @property
    def keys(self) -> Sequence[str]: ...

    @property
    def needed(self) -> int:
        """How many of them have to get a node."""

    def create(self, course: Course) -> None:
        """They wait from now on."""


@dataclass(frozen=True, slots=True)
class Played:
    """Moves that hold."""

    steps: tuple[PlayedMove, ...]
    nodes: Mapping[str, str]  # where the pods run that room was made for
    targets: tuple[str, ...]  # of the nodes that room was made on, those that have to be cordoned meanwhile


class DoesNotHoldError(Exception):
    """Moves that do not work out in the end."""

    def __init__(self, message: str, move: Move | None = None) -> None:
        super().__init__(message)
        self.move = move  # that cannot go where it should


def play(stage: Stage, goal: Awaited, targets: Sequence[str], moves: Sequence[Move]) -> Played:
    """Let pods go where the scheduler puts them or, where that does not work, where the moves say.

    Raises DoesNotHoldError.
    """
    try:
        return _play(stage, goal, targets, moves, steering=False)
    except DoesNotHoldError:
        return _play(stage, goal, targets, moves, steering=True)


def _play(stage: Stage, goal: Awaited, targets: Sequence[str], moves: Sequence[Move], *, steering: bool) -> Played:
    with stage.course() as course:
        course.settle()
        return _play_in(course, stage.asking, goal, targets, moves, steering=steering)


def _play_in(
    course: Course, asking: Asking, goal: Awaited, targets: Sequence[str], moves: Sequence[Move], *, steering: bool
) -> Played:
    pending = {*course.waiting, *course.held_back}
    since = len(course.departures)
    held = [target for target in targets if not course.nodes[target].spec.unschedulable]
    with _cordon(course, held):
        steps = [_step(asking, course, move, steering=steering) for move in moves]
        _check(course, pending, since)
    goal.create(course)
    arrived = len(course.arrivals)
    course.settle()
    nodes = {key: node for key in goal.keys if (node := course.node_of(key))}
    if len(nodes) < goal.needed:
        left = next(key for key in goal.keys if key not in nodes)
        others = (each.pod for each in course.arrivals[arrived:] if each.node in targets and each.pod not in nodes)
        first = next(others, "")
        why = f"{first} is ahead of it and takes the room" if first else without_preemption(course.message(left))
        raise DoesNotHoldError(f"{left} still gets no node: {why}")
    _check(course, pending, since)
    for step in steps:
        if course.node_of(step.pod) != step.node:
            raise DoesNotHoldError(f"{step.pod} does not stay on {step.node}")
    return Played(tuple(steps), nodes, tuple(held))


def _step(asking: Asking, course: Course, move: Move, *, steering: bool) -> PlayedMove:
    pod = course.pods.get(move.pod)
    if pod is None or pod.spec.node_name != move.source:
        raise DoesNotHoldError(f"{move.pod} is no longer on {move.source}", move)
    message, budget = course.budgets.refusal(pod)
    if message:
        raise DoesNotHoldError(f"{move.pod} is protected by disruption budget {budget}", move)
    owner, ready = _owner(course, pod)
    own = [] if course.nodes[move.source].spec.unschedulable else [move.source]
    course.remove([move.pod], DepartureCause.DRAINED, move.source, for_good=False)
    with _cordon(course, own), ExitStack() as cordons:
        steered = _steer(asking, course, move, cordons) if steering else []
        course.settle()
    node = course.node_of(move.pod)
    if not node:
        raise DoesNotHoldError(f"{move.pod} gets no other node: {course.message(move.pod)}", move)
    return PlayedMove(move.pod, move.source, node, pod.spec.priority or 0, owner, ready, (*own, *steered))


def _owner(course: Course, pod: Pod) -> tuple[str, int]:
    """The controller, and how many of its pods are ready."""
    owner = controller_reference(pod.metadata)
    assert owner is not None, "only pods with a controller are moved"
    namespace, ready = pod.metadata.namespace, 0
    for each in course.pods.values():
        theirs = controller_reference(each.metadata) if each.metadata.namespace == namespace else None
        ready += theirs is not None and (theirs.kind, theirs.name) == (owner.kind, owner.name) and is_healthy(each)
    return f"{owner.kind.lower()}/{owner.name}", ready


def _steer(asking: Asking, course: Course, move: Move, cordons: ExitStack) -> list[str]:
    """Cordons all nodes that the scheduler may choose instead, until the pod's own is the only best one."""
    waiting = course.waiting.get(move.pod)
    if waiting is None:
        raise DoesNotHoldError(f"{move.pod} is not recreated", move)
    steered: list[str] = []
    while True:
        info, view = course.cache.info(waiting.pod), course.cache.view()
        found = attempt(asking.profile_of(waiting.pod), info, view)
        best = [view.nodes.names[row] for row in found.scored.best_rows()] if found.scored is not None else []
        names = {view.nodes.names[row] for row in found.scored.rows} if found.scored is not None else set()
        if move.destination not in names:
            raise DoesNotHoldError(f"{move.pod} does not fit on {move.destination}", move)
        others = [name for name in best if name != move.destination]
        if not others:
            return steered
        cordons.enter_context(_cordon(course, others))
        steered += others


@contextmanager
def _cordon(course: Course, names: Iterable[str]) -> Iterator[None]:
    """No pod comes to these nodes meanwhile."""
    before = [course.nodes[name] for name in names]
    for node in before:
        course.put_node(cordoned(node))
    yield
    for node in before:
        course.put_node(node)


def _check(course: Course, pending: Collection[str], since: int) -> None:
    """That nothing happened but the moves."""
    for departure in course.departures[since:]:
        if departure.cause is DepartureCause.PREEMPTED:
            raise DoesNotHoldError(f"{departure.by} would evict {departure.pod}")
    for key in (*course.waiting, *course.held_back):
        if key not in pending:
            raise DoesNotHoldError(f"{key} is left without a node: {course.message(key)}")
