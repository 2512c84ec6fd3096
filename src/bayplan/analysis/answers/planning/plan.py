"""The cheapest nodes of a catalog that hold the pending pods of a cluster, if need be with a node or a zone gone.

A solver proposes nodes and gives a lower bound for their price. The nodes are added to the cluster, and the scheduler's
own code places every pod; whatever is left over gets more nodes, and nodes that are not needed are taken away again.
Of pod groups that have to stay in one topology domain it is tried which domain of which group costs least.
Then each failure is played: of a new node, or of a zone. Nothing that runs is moved or preempted before that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from itertools import product
from math import inf, prod
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course, DepartureCause
from bayplan.analysis.answers.drain import cordoned
from bayplan.analysis.answers.moving.stock import PodKind, kind_of
from bayplan.analysis.answers.nodes_needed import daemons_on
from bayplan.analysis.answers.planning.catalog import NodeType
from bayplan.analysis.answers.planning.purchase import Batch, Market, cheapest, fitting
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import unbound
from bayplan.analysis.showing import Shown
from bayplan.controllers.ownership import controller_of_kind
from bayplan.core.cycle import attempt
from bayplan.core.diagnosis import fit_error
from bayplan.core.snapshot import View
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.groups import topology_key
from bayplan.model.kinds import object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus, group_key
from bayplan.model.structs import replace
from bayplan.model.well_known import INSTANCE_TYPE
from bayplan.model.well_known import ZONE as ZONE_LABEL

SECONDS = 30.0
NODE, ZONE = "node", "zone"
#: Shares of a node's room that the solver may fill: less leaves slack for what it does not know.
_USABLE = (0.95, 0.85, 0.7)
_ROUNDS_MAX = 20
#: Choices of domains for pod groups that are worked out.
_CHOICES_MAX = 16
_SECONDS_FOR_MORE = 1.0
_DIGITS = 12  # of a price; what is beyond comes from adding up fractions


@dataclass(frozen=True, slots=True)
class Bought:
    """Nodes of one type."""

    name: str
    zone: str
    number: int
    price: float  # of each

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "zone": self.zone or None, "number": self.number, "price": self.price}


@dataclass(frozen=True, slots=True, repr=False)
class NodePlan(Shown):
    """The answer."""

    pods: int  # that need a node
    bought: tuple[Bought, ...] | None  # None: no nodes were found that hold them
    bound: float | None  # no nodes for less; None: no nodes of the catalog are enough
    survive: str = ""
    placed_before: int = 0  # pods that existing nodes take
    placements: Mapping[str, str] = field(default_factory=dict)  # pod -> node, as the scheduler decides
    impossible: Mapping[str, str] = field(default_factory=dict)  # pods that no node type can hold, and why
    failures: tuple[str, ...] = ()  # why proposals did not hold

    @property
    def works(self) -> bool:
        return self.bought is not None and not self.impossible

    @property
    def is_proven(self) -> bool:
        """Whether no cheaper nodes hold the pods."""
        return self.bought is not None and self.bound is not None and self.price <= self.bound + _cent(self.price)

    @property
    def price(self) -> float:
        return sum(each.number * each.price for each in self.bought or ())

    @property
    def gap(self) -> float:
        """How much less it could cost at best, as a share of the price."""
        return 0.0 if not self.price or self.bound is None else max(0.0, (self.price - self.bound) / self.price)

    def to_dict(self) -> dict[str, Any]:
        return {
            "works": self.works,
            "pods": self.pods,
            "onExistingNodes": self.placed_before,
            "survive": self.survive or None,
            "nodes": None if self.bought is None else [each.to_dict() for each in self.bought],
            "price": None if self.bought is None else self.price,
            "priceAtLeast": self.bound,
            "gap": None if self.bought is None else round(self.gap, 4),
            "proven": self.is_proven,
            "placements": dict(self.placements),
            "impossible": [{"pod": pod, "message": message} for pod, message in self.impossible.items()],
            "failures": list(self.failures),
        }


def plan(asking: Asking, types: Sequence[NodeType], *, survive: str = "", seconds: float = SECONDS) -> NodePlan:
    """For all pending pods of the cluster. Raises InvalidObject if a zone may fail and there is only one."""
    if survive == ZONE and len({each.zone for each in types}) < 2:
        raise InvalidObject([Fault("", "", "--survive", "zone: the catalog needs types with at least two zones")])
    demand = _Demand(asking, types)
    return _Search(asking, types, demand, survive, seconds).answer()


#: What pods of one batch have in common: the serial of their shape, and their group if that has to stay in one domain.
_Kind: TypeAlias = tuple[int, str]


class _Demand:
    """The pending pods in batches, and what each type has room for."""

    def __init__(self, asking: Asking, types: Sequence[NodeType]) -> None:
        course = Course(asking)
        rows_before = {name: row for name, row in course.cache.nodes.rows_by_name.items() if course.nodes.get(name)}
        names = [_add_one(asking.cluster, course, each) for each in types]
        self._keys = _constrained_groups(course)
        groups: defaultdict[_Kind, list[Pod]] = defaultdict(list)
        for waiting in course.waiting.values():
            if controller_of_kind(waiting.pod.metadata, "DaemonSet") is None:
                group = group_key(waiting.pod)
                serial = course.cache.info(waiting.pod).shape.serial
                groups[serial, group if group in self._keys else ""].append(waiting.pod)
        view = course.cache.view()  # after the pods, which may ask for what no node has
        rows = [view.nodes.rows_by_name[name] for name in names]
        free = np.column_stack(
            [view.nodes.allocatable - view.usage.requested, view.nodes.allowed_pods - view.usage.pod_counts]
        )
        existing = sorted(rows_before.values())
        self.market = Market(types, [free[row] for row in rows], [free[row] for row in existing])
        self.impossible: dict[str, str] = {}
        self.pods = sum(map(len, groups.values()))
        self.kinds: dict[str, _Kind] = {}  # pod -> its kind, of those that have a place
        self._labels_of_types = [course.nodes[name].metadata.labels for name in names]
        self._labels_of_existing = [course.nodes[view.nodes.names[row]].metadata.labels for row in existing]
        self._bound_to = {group: _domain_of(course, group, key) for group, key in self._keys.items()}
        self._batches: dict[_Kind, Batch] = {}
        for named, pods in groups.items():
            why = _why_impossible(asking, course, pods[0], view, {*rows, *existing})
            if why:
                self.impossible |= {object_key(pod): why for pod in pods}
                continue
            kind = kind_of(asking.profile_of(pods[0]), course.cache.info(pods[0]), view)
            self._batches[named] = _batch(kind, len(pods), self.market, rows, existing)
            self.kinds |= {object_key(pod): named for pod in pods}

    def batches(self, left: Mapping[_Kind, int] | None = None) -> list[Batch]:
        """All pods, or this many of each kind, for which existing nodes have no room."""
        if left is None:
            return list(self._batches.values())
        return [
            replace_fields(self._batches[kind], number=number, on_existing=frozenset()) for kind, number in left.items()
        ]

    def choices(self) -> tuple[list[Mapping[str, str]], bool]:
        """Domains for the groups that have to stay in one, in all combinations if these are few; whether they are."""
        domains = {group: self._domains_of(group) for group in {group for _, group in self._batches if group}}
        if prod(map(len, domains.values())) <= _CHOICES_MAX:
            return [dict(zip(domains, chosen, strict=True)) for chosen in product(*domains.values())], True
        everywhere = dict.fromkeys(domain for own in domains.values() for domain in own)
        found: list[Mapping[str, str]] = [
            {group: domain if domain in own else own[0] for group, own in domains.items() if own}
            for domain in everywhere
        ]
        return found[:_CHOICES_MAX], False

    def batches_within(self, domains: Mapping[str, str]) -> list[Batch]:
        """All pods, each group on nodes of its domain alone."""
        return [self._within(batch, group, domains.get(group, "")) for (_, group), batch in self._batches.items()]

    def _within(self, batch: Batch, group: str, domain: str) -> Batch:
        key = self._keys.get(group)
        if key is None:
            return batch
        on_types = [at for at in batch.on_types if self._labels_of_types[at].get(key) == domain]
        on_existing = [at for at in batch.on_existing if self._labels_of_existing[at].get(key) == domain]
        return replace_fields(batch, on_types=frozenset(on_types), on_existing=frozenset(on_existing))

    def _domains_of(self, group: str) -> list[str]:
        key = self._keys[group]
        if self._bound_to[group]:
            return [self._bound_to[group]]
        return sorted({labels[key] for labels in (*self._labels_of_types, *self._labels_of_existing) if key in labels})


def _constrained_groups(course: Course) -> dict[str, str]:
    """The pod groups that have to stay in one topology domain, with the label that names it."""
    if not course.cache.gates.topology_aware_workload_scheduling:
        return {}
    groups = course.cache.objects.pod_groups.values()
    return {object_key(group): key for group in groups if (key := topology_key(group)) is not None}


def _domain_of(course: Course, group: str, key: str) -> str:
    """Where pods of the group are already; "" if none are."""
    cache = course.cache
    rows = [int(cache.pods.node_rows[row]) for row in cache.pods.scheduled_members(group)]
    return next((cache.nodes.labels[row].get(key, "") for row in rows), "")


def _add_one(cluster: Cluster, course: Course, node_type: NodeType) -> str:
    """A node of the type, with its daemons."""
    node = _fresh(node_type, course.nodes)
    course.put_node(node)
    for pod in daemons_on(cluster, node):
        course.cache.add_pod(pod, node.metadata.name)
    return node.metadata.name


def _fresh(node_type: NodeType, taken: Mapping[str, Node]) -> Node:
    number = 1
    while (node := node_type.node(number)).metadata.name in taken:
        number += 1
    return node


def _batch(kind: PodKind, number: int, market: Market, rows: Sequence[int], existing: Sequence[int]) -> Batch:
    bare = Batch(number, kind.demand, frozenset(), frozenset())
    on_types = [at for at, row in enumerate(rows) if kind.possible[row] and fitting(bare, market.room[at])]
    on_existing = [at for at, row in enumerate(existing) if kind.possible[row] and fitting(bare, market.existing[at])]
    return Batch(number, kind.demand, frozenset(on_types), frozenset(on_existing))


def _why_impossible(asking: Asking, course: Course, pod: Pod, view: View, rows: set[int]) -> str:
    """What the scheduler says of a pod that finds no place among all existing nodes and one of each type."""
    found = attempt(asking.profile_of(pod), course.cache.info(pod), view)
    if found.error is not None or found.filtered is None:
        return found.message
    is_possible = not rows.isdisjoint(found.filtered.feasible_rows.tolist())
    return "" if is_possible else fit_error(found.filtered, view, "").removesuffix(".")


class _Search:
    """For the cheapest nodes that hold."""

    def __init__(
        self, asking: Asking, types: Sequence[NodeType], demand: _Demand, survive: str, seconds: float
    ) -> None:
        self._asking, self._types, self._demand, self._survive = asking, types, demand, survive
        self._ends = monotonic() + seconds
        self._seconds = seconds
        self._best: tuple[int, ...] | None = None
        self._course: Course | None = None
        self._failures: list[str] = []

    def answer(self) -> NodePlan:
        market, batches = self._demand.market, self._demand.batches()
        self._asking.tell("looking for the cheapest nodes", 0, 0)
        first = cheapest(market, batches, self._survive, self._seconds / 4)
        bound = max(first.price, self._by_domain())
        if first.counts is not None and not self._is_best(bound):
            self._try(first.counts)
        for usable in _USABLE:
            left = min(self._seconds / 8, self._ends - monotonic())
            if left <= 0 or self._is_best(bound):
                break
            other = cheapest(market, batches, self._survive, left, usable=usable)
            if other.counts is not None:
                self._try(other.counts)
        return self._plan(bound)

    def _is_best(self, bound: float) -> bool:
        return self._best is not None and self._price(self._best) <= bound + _cent(bound)

    def _by_domain(self) -> float:
        """Try each choice of domains for groups that need one, the cheapest first; a lower bound for the price."""
        choices, are_all = self._demand.choices()
        if not any(choices):
            return 0.0
        seconds, market = self._seconds / 4 / len(choices), self._demand.market
        found = [cheapest(market, self._demand.batches_within(each), self._survive, seconds) for each in choices]
        for each in sorted(found, key=lambda purchase: purchase.price):
            if self._best is not None and self._price(self._best) <= each.price + _cent(each.price):
                break
            if each.counts is not None and monotonic() < self._ends:
                self._try(each.counts)
        return min(each.price for each in found) if are_all else 0.0

    def _plan(self, bound: float) -> NodePlan:
        bought = None
        placements: dict[str, str] = {}
        if self._best is not None and self._course is not None:
            pairs = zip(self._types, self._best, strict=True)
            bought = tuple(Bought(each.name, each.zone, count, each.price) for each, count in pairs if count)
            kinds = self._demand.kinds
            placements = {each.pod: each.node for each in self._course.arrivals if each.pod in kinds}
        names = {obj.metadata.name for obj in self._asking.cluster.objects if isinstance(obj, Node)}
        price = None if self._best is None else self._price(self._best)
        if price is not None and price <= bound + _cent(price):
            bound = price
        return NodePlan(
            pods=self._demand.pods,
            bought=bought,
            bound=None if bound == inf else float(f"{bound:.{_DIGITS}g}"),
            survive=self._survive,
            placed_before=sum(node in names for node in placements.values()),
            placements=placements,
            impossible=self._demand.impossible,
            failures=tuple(dict.fromkeys(self._failures)),
        )

    def _try(self, counts: tuple[int, ...]) -> None:
        """Add nodes until everything has a place, take away what is not needed; the cheapest result is kept."""
        grown = self._grown(counts)
        if grown is None:
            return
        counts = self._pruned(grown)
        if self._best is None or self._price(counts) < self._price(self._best):
            self._best, self._course = counts, self._placed(counts)

    def _price(self, counts: Sequence[int]) -> float:
        return sum(count * each.price for count, each in zip(counts, self._types, strict=True))

    def _grown(self, counts: tuple[int, ...]) -> tuple[int, ...] | None:
        for _ in range(_ROUNDS_MAX):
            left = self._lacking(counts)
            if not left:
                return counts
            if monotonic() > self._ends:
                return None
            more = cheapest(self._demand.market, self._demand.batches(left), "", _SECONDS_FOR_MORE)
            if more.counts is None or not any(more.counts):
                return None
            counts = tuple(have + add for have, add in zip(counts, more.counts, strict=True))
            if not self._is_allowed(counts):
                self._failures.append("the catalog does not have that many nodes")
                return None
        return None

    def _pruned(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Without nodes that turn out not to be needed, the dearest first."""
        for at in sorted(range(len(counts)), key=lambda at: -self._types[at].price):
            while counts[at] and monotonic() < self._ends:
                fewer = (*counts[:at], counts[at] - 1, *counts[at + 1 :])
                if self._lacking(fewer):
                    break
                counts = fewer
        return counts

    def _is_allowed(self, counts: Sequence[int]) -> bool:
        """`max` counts in all zones together."""
        totals: Counter[str] = Counter()
        for each, count in zip(self._types, counts, strict=True):
            totals[each.name] += count
        return all(totals[each.name] <= each.most for each in self._types)

    def _lacking(self, counts: tuple[int, ...]) -> Mapping[_Kind, int]:
        """Pods that find no place with these nodes, by kind: from the beginning, or after some failure."""
        course = self._placed(counts)
        left = self._left_over(course)
        if left or not self._survive:
            return left
        for gone in self._failing(course):
            after = self._placed(counts)
            _lose(after, gone)
            left = self._left_over(after)
            if left:
                self._failures.append(f"without {gone[0]}: {left.total()} pods find no place")
                return left
        return {}

    def _placed(self, counts: Sequence[int]) -> Course:
        """The cluster with these nodes, and every pod that has a place."""
        self._asking.tell(f"new nodes being tried: {sum(counts):,}", 0, 0)
        taken = {obj.metadata.name: obj for obj in self._asking.cluster.objects if isinstance(obj, Node)}
        for each, count in zip(self._types, counts, strict=True):
            for _ in range(count):
                node = _fresh(each, taken)
                taken[node.metadata.name] = node
        known = {obj.metadata.name for obj in self._asking.cluster.objects if isinstance(obj, Node)}
        new = [node for name, node in taken.items() if name not in known]
        course = Course(self._asking.of(self._asking.cluster.like([*self._asking.cluster.objects, *new])))
        course.settle()
        return course

    def _left_over(self, course: Course) -> Counter[_Kind]:
        kinds = self._demand.kinds
        left = Counter(kinds[key] for key in course.waiting if key in kinds)
        for departure in course.departures:
            # Nothing that runs is to be preempted, so the preemptor needs room of its own.
            if departure.cause is DepartureCause.PREEMPTED and departure.by in kinds:
                left[kinds[departure.by]] += 1
        return left

    def _failing(self, course: Course) -> list[list[str]]:
        """Nodes that are gone at once; of nodes that hold the same, one."""
        known = {obj.metadata.name for obj in self._asking.cluster.objects if isinstance(obj, Node)}
        new = [node for name, node in course.nodes.items() if name not in known]
        if self._survive == ZONE:
            zones = sorted({node.metadata.labels.get(ZONE_LABEL, "") for node in new})
            return [
                [name for name, node in course.nodes.items() if node.metadata.labels.get(ZONE_LABEL, "") == zone]
                for zone in zones
            ]
        distinct: dict[object, str] = {}
        for node in new:
            pods = course.pods_on(node.metadata.name)
            held = sorted(self._demand.kinds.get(object_key(pod), (-1, "")) for pod in pods)
            look = (node.metadata.labels.get(INSTANCE_TYPE), node.metadata.labels.get(ZONE_LABEL), tuple(held))
            distinct.setdefault(look, node.metadata.name)
        return [[name] for name in distinct.values()]


def _lose(course: Course, names: Sequence[str]) -> None:
    """The nodes are gone, and all that ran there waits, whether or not a controller would recreate it."""
    for name in names:
        course.put_node(cordoned(course.nodes[name]))
    for name in names:
        pods = [pod for pod in course.pods_on(name) if controller_of_kind(pod.metadata, "DaemonSet") is None]
        course.remove([object_key(pod) for pod in pods], DepartureCause.NODE_DELETED, name, for_good=True)
        course.enqueue([replace(unbound(pod), status=PodStatus()) for pod in pods])
    course.settle()


def _cent(price: float) -> float:
    """Prices that differ by less are the same."""
    return price * 1e-5
