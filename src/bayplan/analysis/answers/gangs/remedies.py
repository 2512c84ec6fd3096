"""Which changes of nodes let more members of a group fit, and how many: the best one, the best two, the best three.

Each change is made in a trial, and the group is placed by the scheduler's own algorithm as if any number of members
were enough. With few changes to choose from, all pairs are tried; otherwise the one that helps most is added to those
chosen before. What a whole cluster does about a change is not asked here: that is for `fix`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Any

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.analysis.answers.fixing.node_kinds import daemons_like, node_like, one_of_each_kind
from bayplan.analysis.answers.gangs.shortfall import whatever_the_quorum
from bayplan.analysis.answers.nodes_needed import lasting_taints
from bayplan.analysis.written import written_taint
from bayplan.controllers.ownership import controller_of_kind
from bayplan.core.deciding import Decider
from bayplan.core.groups.cycle import forget_specs_of_nominated
from bayplan.core.groups.member import Member
from bayplan.core.groups.placements import find_placement
from bayplan.core.groups.placing import GroupStage
from bayplan.model.kinds import Object
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.structs import replace as changed
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, any_tolerates
from bayplan.model.well_known import HOSTNAME, UNSCHEDULABLE

#: Changes made at once, at most.
STEPS_MAX = 3
#: So many are tried in all combinations.
PAIRED_MAX = 2
#: Different changes of each sort to choose from.
CHOICES_MAX = 4


@dataclass(frozen=True, slots=True)
class NodeRemedy:
    """A change of one node, or one more node with the daemons it would have."""

    change: Remedy
    objects: tuple[Object, ...]


#: Changes that do the same, each to another node: which of them is made does not matter, only how many.
RemedyChoice = tuple[NodeRemedy, ...]


@dataclass(frozen=True, slots=True)
class Improvement:
    """Some changes, and how many members fit with them."""

    remedies: tuple[NodeRemedy, ...]
    fitting: int

    @property
    def price(self) -> float:
        return sum(remedy.change.price for remedy in self.remedies)

    @property
    def objects(self) -> list[Object]:
        """Nodes and daemons as they are with the changes."""
        return [obj for remedy in self.remedies for obj in remedy.objects]

    def to_dict(self) -> dict[str, Any]:
        return {"changes": [remedy.change.to_dict() for remedy in self.remedies], "fitting": self.fitting}


@dataclass(slots=True)
class GroupTrying:
    """Tries a group with changed nodes. The cache is the one on the stage, and afterwards as it was."""

    stage: GroupStage
    nodes: Mapping[str, Node]
    pods: Mapping[str, Pod]
    alike_max: int = STEPS_MAX  # how often the same can be done
    _decider: Decider = field(init=False)

    def __post_init__(self) -> None:
        profile = whatever_the_quorum(self.stage.profile)
        self._decider = Decider({profile.scheduler_name: profile})
        self.stage = replace(self.stage, profile=profile, decider=self._decider, in_full=False)

    def fitting(self, remedies: Sequence[NodeRemedy], members: Sequence[Member] | None = None) -> int:
        """How many members find a node, in the domain with the most room; as they are, or others in their place."""
        cache = self.stage.cache
        stage = self.stage if members is None else replace(self.stage, members=members)
        with cache.trial():
            forget_specs_of_nominated(cache, stage.members)
            for obj in Improvement(tuple(remedies), 0).objects:
                cache.add(obj)
            found = find_placement(stage)
        if found.placements:
            return max(len(each.fitting) for each in found.placements)
        return len(found.placed.assigned)

    def choices(self) -> list[RemedyChoice]:
        """Changes that may help, those of nodes with the most room first."""
        return [*self._cordoned(), *self._tainted(), *self._added()]

    def _cordoned(self) -> Iterator[RemedyChoice]:
        for alike in self._alike([node for node in self.nodes.values() if node.spec.unschedulable]):
            yield tuple(
                NodeRemedy(Remedy(RemedyKind.UNCORDON, node.metadata.name), (_uncordoned(node),)) for node in alike
            )

    def _tainted(self) -> Iterator[RemedyChoice]:
        """Nodes that one taint keeps the first member off."""
        tolerations = self.stage.members[0].pod.spec.tolerations
        unbearable: dict[str, Taint] = {}
        for name, node in self.nodes.items():
            taints = [taint for taint in lasting_taints(node) if taint.effect in (NO_SCHEDULE, NO_EXECUTE)]
            taints = [taint for taint in taints if not any_tolerates(tolerations, taint)]
            if len(taints) == 1 and not node.spec.unschedulable:
                unbearable[name] = taints[0]
        for alike in self._alike([self.nodes[name] for name in unbearable]):
            yield tuple(_untainted(node, unbearable[node.metadata.name]) for node in alike)

    def _added(self) -> Iterator[RemedyChoice]:
        cache = self.stage.cache
        for node in one_of_each_kind(self.nodes.values())[-CHOICES_MAX:]:
            name = node.metadata.name
            on_it = [cache.pods.keys[row] for row in cache.nodes.pod_rows[cache.nodes.rows_by_name[name]]]
            daemons = [self.pods[key] for key in on_it if controller_of_kind(self.pods[key].metadata, "DaemonSet")]
            taken, remedies = set(self.nodes), list[NodeRemedy]()
            for _ in range(self.alike_max):
                made = node_like(node, taken)
                taken.add(made.metadata.name)
                objects: tuple[Object, ...] = (made, *daemons_like(daemons, made.metadata.name))
                remedies.append(NodeRemedy(Remedy(RemedyKind.ADD_NODE, name), objects))
            yield tuple(remedies)

    def _alike(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Some of each group of nodes with the same labels and the same room, the most room first."""
        held = self.stage.cache.nodes
        found: dict[tuple[tuple[int, ...], frozenset[tuple[str, str]]], list[Node]] = {}
        for node in sorted(nodes, key=lambda node: node.metadata.name):
            row = held.rows_by_name[node.metadata.name]
            free = tuple((held.allocatable[row] - held.requested[row]).tolist())
            labels = frozenset(pair for pair in node.metadata.labels.items() if pair[0] != HOSTNAME)
            found.setdefault((free, labels), []).append(node)
        ranked = sorted(found, key=lambda alike: [-amount for amount in alike[0]])
        return [found[alike][: self.alike_max] for alike in ranked[:CHOICES_MAX]]


def best_changes(trying: GroupTrying, enough: int) -> list[Improvement]:
    """One change, two, three: each time those with which the most members fit, the cheapest where that is equal.

    Ends when this many members fit, or when one more change does not help.
    """
    choices, found = trying.choices(), list[Improvement]()
    best: tuple[int, ...] = ()
    fitting = trying.fitting(())
    for count in range(1, STEPS_MAX + 1):
        sets = [(picked, _resolved(choices, picked)) for picked in _sets(len(choices), count, best)]
        tried = [
            (Improvement(remedies, trying.fitting(remedies)), picked)
            for picked, remedies in sets
            if remedies is not None
        ]
        if not tried:
            break
        improvement, picked = min(tried, key=lambda each: (-min(each[0].fitting, enough), each[0].price))
        if improvement.fitting > fitting:
            found.append(improvement)
            best, fitting = picked, improvement.fitting
        elif count > 1:  # two together may do what neither does alone
            break
        if fitting >= enough:
            break
    return found


def _sets(choices: int, count: int, best: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """One or two in all combinations; then each choice beside the best two."""
    if count <= PAIRED_MAX:
        return combinations_with_replacement(range(choices), count)
    return [(*best, each) for each in range(choices)]


def _resolved(choices: Sequence[RemedyChoice], picked: Sequence[int]) -> tuple[NodeRemedy, ...] | None:
    """As many of each choice as are picked; None if there are not so many."""
    remedies: list[NodeRemedy] = []
    for number, count in Counter(picked).items():
        if count > len(choices[number]):
            return None
        remedies += choices[number][:count]
    return tuple(remedies)


def _uncordoned(node: Node) -> Node:
    taints = [taint for taint in node.spec.taints if taint.key != UNSCHEDULABLE]
    return changed(node, spec=changed(node.spec, unschedulable=False, taints=taints))


def _untainted(node: Node, taint: Taint) -> NodeRemedy:
    made = changed(node, spec=changed(node.spec, taints=[each for each in node.spec.taints if each != taint]))
    return NodeRemedy(Remedy(RemedyKind.UNTAINT, node.metadata.name, before=written_taint(taint)), (made,))
