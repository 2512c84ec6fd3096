"""Decisions at speed: the same answers as `cycle.attempt`, reusing what is known of pods that are alike.

A `Decider` keeps boards by signature and answers by shape (see `reuse`), and decides who gets which. Anything that does
not fit this pattern (a PreFilter that rejects or narrows, a pod that fits nowhere while plugins that read the cluster
foresee nothing) takes the straight path of `cycle`. Answers for kinds of pods that are gone are forgotten, and what is
kept must not keep a pod's shape in use (`_like`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TypeAlias

from bayplan.core.columns import row_array
from bayplan.core.columns.recent import ANSWERS_BYTES_MAX, Recent
from bayplan.core.columns.shapes import PodInfo, Shapes
from bayplan.core.cycle import attempt, choice_of, nominated_row
from bayplan.core.decision import Choice, Fits, Unschedulable
from bayplan.core.diagnosis import NO_NODES, Diagnosis
from bayplan.core.framework.extender import is_any_interested
from bayplan.core.framework.profile import Profile, Signature, Signatures
from bayplan.core.framework.verdict import CycleError
from bayplan.core.preemption.few_nodes import FewNodes
from bayplan.core.reuse.board import Board, board_for
from bayplan.core.reuse.crowding import CrowdedUsage
from bayplan.core.reuse.first_sight import best_at_first_sight
from bayplan.core.reuse.node_board import NodeBoard, NothingToReuse, node_board_for
from bayplan.core.reuse.shape_answers import ShapeAnswers
from bayplan.core.snapshot import View

#: What an answer takes beside its arrays, and what these take for each node.
BASE_BYTES = 4_000
NODE_BOARD_BYTES = 32
BOARD_BYTES = 64
CANDIDACY_BYTES = 64
GROUPS_BYTES = 32

#: Answers of so many kinds of pods that are gone may be kept for a while: to look for them takes time.
GONE_MAX = 16

#: What can be said of a pod from what is kept: answers to choose from, or the choice itself. None: nothing.
LookedUp: TypeAlias = ShapeAnswers | Fits | Unschedulable | None
Kept: TypeAlias = ShapeAnswers | Board | NodeBoard | NothingToReuse

#: What an answer is kept for: the class of boards, the name of the profile, and a signature, or the serial of a shape.
Key: TypeAlias = tuple[type[Board | NodeBoard] | None, str, int | Signature]


class Decider:
    """Decides pod after pod on one cache."""

    def __init__(self, profiles: Mapping[str, Profile], *, reuse: bool = True) -> None:
        self._profiles = profiles
        self._reuse = reuse
        self.boards_made = 0  # where others could not be reused
        #: Keys under which boards were looked for, at first sight as well: lately, and before that.
        self._seen: set[Key] = set()
        self._seen_before: set[Key] = set()
        self._crowded: dict[int, CrowdedUsage] = {}  # by priority of the pod that has to make room
        self._few_nodes = FewNodes()
        self._next_start = 0  # one for all profiles, as upstream
        self._answers: Recent[Key, Kept] = Recent(ANSWERS_BYTES_MAX)
        #: When answers were last looked through: departures of shapes, and how many answers were left.
        self._looked_through = 0, 0

    def decide(self, pod: PodInfo, view: View) -> Choice:
        """The best node, ties by the smallest name. Raises CycleError when the attempt ends in an error."""
        self.forget(view.shapes)
        if not view.nodes.alive_count:
            return Unschedulable(lambda: Diagnosis(NO_NODES))
        profile = self._profiles[pod.scheduler_name]
        nominated = nominated_row(profile, pod, view) if pod.nominated_node_name else None
        if nominated is not None:
            row, _ = nominated
            return Fits(row, None, row_array([0]), 0, row_array([row]))
        if self._may_reuse(profile, pod):
            try:
                found = self.look_up(profile, pod, view)
                choice = self._decide(profile, pod, view, found) if isinstance(found, ShapeAnswers) else found
            except CycleError:
                choice = None  # more was asked than had to be: the straight line tells whether it matters
            if choice is not None:
                return choice
        start = self._next_start
        outcome = attempt(profile, pod, view, start)
        self._next_start = outcome.next_start
        return choice_of(outcome, view, start)

    def _may_reuse(self, profile: Profile, pod: PodInfo) -> bool:
        """A node that the pod names itself is not part of its shape, and extenders see more of a pod than that."""
        if not self._reuse or profile.percentage_of_nodes_to_score is not None or pod.node_name:
            return False
        return not (profile.extenders and is_any_interested(profile.extenders, pod))

    def _decide(self, profile: Profile, pod: PodInfo, view: View, answers: ShapeAnswers) -> Choice | None:
        """What the answers say of a pod. Its board grows by what is found out about victims."""
        candidacies_before = answers.board.candidacy_count
        choice = answers.decide(pod, view)
        if not isinstance(choice, Fits) and answers.board.candidacy_count != candidacies_before:
            key = (Board, profile.scheduler_name, profile.signatures(pod).of_all)
            if self._answers.peek(key) is answers.board:
                self._answers.resize(key, _size(answers.board, view.nodes.count))
        return choice

    def look_up(self, profile: Profile, pod: PodInfo, view: View) -> LookedUp:
        """What is known of such pods: the choice itself at first sight, or where it is what it was the last time."""
        key = (None, profile.scheduler_name, pod.shape.serial)
        kept = self._answers.get(key)
        signatures = None
        if kept is None:
            signatures = profile.signatures(pod)
            choice = self._choice_at_first_sight(profile, pod, view, signatures)
            if choice is not None:
                return choice
        elif isinstance(kept, ShapeAnswers):
            unschedulable = kept.unschedulable_before(pod, view)
            if unschedulable is not None:
                return unschedulable
            if kept.board.follow(view):
                return kept
        elif kept.follow(view):
            return None
        board = self._board(profile, pod, view, signatures or profile.signatures(pod))
        if isinstance(board, NothingToReuse):
            kept = board
        elif isinstance(kept, ShapeAnswers):
            kept.board = board
        else:
            kept = ShapeAnswers(pod, board, self._crowded, self._few_nodes)
        self._answers.put(key, kept, _size(kept, view.nodes.count))
        return kept if isinstance(kept, ShapeAnswers) else None

    def _choice_at_first_sight(self, profile: Profile, pod: PodInfo, view: View, signatures: Signatures) -> Fits | None:
        """None when such pods were seen before, or there is more to it."""
        key = (Board, profile.scheduler_name, signatures.of_all)
        if key in self._seen or key in self._seen_before:
            return None
        self._seen.add(key)
        self.boards_made += 1
        node_board = self._node_board(profile, pod, view, signatures)
        return best_at_first_sight(profile, pod, view, node_board) if isinstance(node_board, NodeBoard) else None

    def _board(self, profile: Profile, pod: PodInfo, view: View, signatures: Signatures) -> Board | NothingToReuse:
        """What the local plugins say of pods that they sign like this one."""

        def make() -> Board | NothingToReuse:
            self.boards_made += 1
            node_board = self._node_board(profile, pod, view, signatures)
            return board_for(profile, _like(pod), view, node_board) if isinstance(node_board, NodeBoard) else node_board

        board = self._followed((Board, profile.scheduler_name, signatures.of_all), view, make)
        assert isinstance(board, (Board, NothingToReuse))
        return board

    def _node_board(
        self, profile: Profile, pod: PodInfo, view: View, signatures: Signatures
    ) -> NodeBoard | NothingToReuse:
        """What those of them say that look at node objects alone."""
        key = (NodeBoard, profile.scheduler_name, signatures.of_nodes)
        board = self._followed(key, view, lambda: node_board_for(profile, _like(pod), view))
        assert isinstance(board, (NodeBoard, NothingToReuse))
        return board

    def _followed(self, key: Key, view: View, make: Callable[[], Board | NodeBoard | NothingToReuse]) -> Kept:
        """What is kept under the key, brought up to date or made again."""
        self._seen.add(key)
        kept = self._answers.get(key)
        assert not isinstance(kept, ShapeAnswers)
        if kept is None or not kept.follow(view):
            kept = make()
            self._answers.put(key, kept, _size(kept, view.nodes.count))
        return kept

    def forget(self, shapes: Shapes) -> None:
        """Forget answers for shapes that are gone, once there are more than a few, and boards nobody asks for."""
        departures, left_then = self._looked_through
        gone = shapes.departures - departures
        if gone <= GONE_MAX or gone <= left_then // 4:
            return
        needed: set[int] = set()  # by identity: boards that others stand on, which come after them
        for of in (None, Board, NodeBoard):
            for key in [key for key in self._answers if key[0] is of]:
                kept = self._answers.peek(key)
                there = shapes.has(key[2]) if of is None else key in self._seen or id(kept) in needed
                if not there:
                    self._answers.pop(key)
                elif isinstance(kept, ShapeAnswers):
                    needed.add(id(kept.board))
                elif isinstance(kept, Board):
                    needed.add(id(kept.node_board))
                    kept.tried.clear()
        self._seen, self._seen_before = set(), self._seen
        self._looked_through = shapes.departures, len(self._answers)


def _size(kept: Kept, node_count: int) -> int:
    """Bytes that it takes, by estimate."""
    if isinstance(kept, Board):
        return BASE_BYTES + node_count * (BOARD_BYTES + CANDIDACY_BYTES * kept.candidacy_count)
    if isinstance(kept, NodeBoard):
        return BASE_BYTES + node_count * NODE_BOARD_BYTES
    return BASE_BYTES + (node_count * GROUPS_BYTES if isinstance(kept, ShapeAnswers) and kept.may_group else 0)


def _like(pod: PodInfo) -> PodInfo:
    """A pod with the same look, for answers to keep: they must not keep the shape in use."""
    like = copy(pod)
    like.shape = copy(pod.shape)
    return like
