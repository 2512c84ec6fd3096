"""A group tried on plain objects: members are put down one by one, and taken back again.

Shares nothing with the scheduler but the model of objects. It knows what the worlds of `test_groups_slowly` have: CPU,
the number of pods on a node, node selectors, taints, host ports, members that keep apart, racks, budgets, and units
that go together. No node is better than another: the first by name is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bayplan.model.groups import PodGroup
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.quantity import parse_quantity

#: Where each of some pods is: (pod, name of its node).
Standing = list[tuple[Pod, str]]


@dataclass
class Slowly:
    """A cluster of plain objects."""

    nodes: list[Node]
    standing: Standing
    groups: list[PodGroup]
    budgets: list[PodDisruptionBudget]


@dataclass
class Answer:
    """What comes of trying a group."""

    bound: dict[str, str] = field(default_factory=dict)
    proposed: dict[str, str] = field(default_factory=dict)
    victims: list[str] = field(default_factory=list)
    violations: int = 0


def try_group(world: Slowly, group: PodGroup, members: Sequence[Pod]) -> Answer:
    """Bind enough members at once, or find out who has to go for that."""
    placed = _place(world, world.standing, group, members)
    if placed is not None:
        return Answer(bound=placed)
    return _preempt(world, group, members)


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _place(world: Slowly, standing: Standing, group: PodGroup, members: Sequence[Pod]) -> dict[str, str] | None:
    """In the rack that takes the most members, or anywhere if racks do not matter; None if that is too few."""
    constraints = group.spec.scheduling_constraints
    racks = [each.key for each in constraints.topology] if constraints is not None else []
    if not racks:
        return _place_among(world.nodes, standing, group, members)
    label = racks[0]
    own = [node for pod, node in standing if _group_name(pod) == group.metadata.name]
    allowed = sorted({node.metadata.labels[label] for node in world.nodes if label in node.metadata.labels})
    for node in world.nodes:
        if node.metadata.name in own:
            allowed = [node.metadata.labels[label]]
    best: dict[str, str] | None = None
    for rack in allowed:
        among = [node for node in world.nodes if node.metadata.labels.get(label) == rack]
        found = _place_among(among, standing, group, members)
        if found is not None and (best is None or len(found) > len(best)):
            best = found
    return best


def _place_among(
    nodes: Iterable[Node], standing: Standing, group: PodGroup, members: Sequence[Pod]
) -> dict[str, str] | None:
    now = list(standing)
    there = sum(_group_name(pod) == group.metadata.name for pod, _ in standing)
    placed: dict[str, str] = {}
    in_order = sorted(nodes, key=lambda node: node.metadata.name)
    for number, member in enumerate(members):
        if there + len(placed) + len(members) - number < _quorum(group):
            return None
        for node in in_order:
            if _fits(member, node, now):
                placed[_key(member)] = node.metadata.name
                now.append((member, node.metadata.name))
                break
    enough = there + len(placed) >= _quorum(group)
    return placed if enough and placed else None


def _quorum(group: PodGroup) -> int:
    gang = group.spec.scheduling_policy.gang
    return 1 if gang is None else gang.min_count


def _group_name(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name


def _cpu(pod: Pod) -> int:
    return sum(parse_quantity(container.resources.requests.get("cpu", "0")) for container in pod.spec.containers)


def _ports(pod: Pod) -> set[int]:
    return {port.host_port for container in pod.spec.containers for port in container.ports if port.host_port}


def _fits(pod: Pod, node: Node, standing: Standing) -> bool:
    here = [other for other, name in standing if name == node.metadata.name]
    allocatable = node.status.allocatable
    if len(here) >= int(allocatable["pods"]):
        return False
    if sum(map(_cpu, here)) + _cpu(pod) > parse_quantity(allocatable["cpu"]):
        return False
    if any(node.metadata.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    if node.spec.taints or any(_ports(pod) & _ports(other) for other in here):
        return False
    if pod.metadata.labels.get("apart") != "yes":
        return True
    return all(other.metadata.labels.get("app") != pod.metadata.labels["app"] for other in here)


@dataclass
class _Unit:
    """Pods that go together."""

    pods: Standing
    priority: int
    is_group: bool

    @property
    def order(self) -> tuple[int, bool, int, str]:
        """The most important first."""
        return -self.priority, not self.is_group, -len(self.pods), min(_key(pod) for pod, _ in self.pods)


def _units(world: Slowly) -> list[_Unit]:
    groups = {group.metadata.name: group for group in world.groups}
    found: list[_Unit] = []
    together: dict[str, _Unit] = {}
    for pod, node in sorted(world.standing, key=lambda each: _key(each[0])):
        name = _group_name(pod)
        group = groups.get(name)
        priority = (pod.spec.priority or 0) if group is None else (group.spec.priority or 0)
        mode = None if group is None else group.spec.disruption_mode
        if mode is not None and mode.all is not None:
            if name not in together:
                together[name] = _Unit([], priority, is_group=True)
                found.append(together[name])
            together[name].pods.append((pod, node))
        else:
            found.append(_Unit([(pod, node)], priority, is_group=bool(name)))
    return found


def _breaking(world: Slowly, units: Sequence[_Unit]) -> list[int]:
    """How many pods of each unit break a budget, if all go in this order. A pod stops at the first that it breaks."""
    left = {budget.metadata.name: _allowed(budget) for budget in world.budgets}
    counts = []
    for unit in units:
        broken = 0
        for pod, _ in unit.pods:
            for budget in sorted(world.budgets, key=lambda each: each.metadata.name):
                selector = budget.spec.selector
                assert selector is not None
                if selector.match_labels.items() <= pod.metadata.labels.items():
                    left[budget.metadata.name] -= 1
                    if left[budget.metadata.name] < 0:
                        broken += 1
                        break
        counts.append(broken)
    return counts


def _allowed(budget: PodDisruptionBudget) -> int:
    return 0 if budget.status is None else budget.status.disruptions_allowed


def _preempt(world: Slowly, group: PodGroup, members: Sequence[Pod]) -> Answer:
    potential = [unit for unit in _units(world) if unit.priority < (group.spec.priority or 0)]
    potential.sort(key=lambda unit: unit.order)
    gone = [each for unit in potential for each in unit.pods]
    standing = [each for each in world.standing if each not in gone]
    proposed = _place(world, standing, group, members) if potential else None
    if proposed is None:
        return Answer()
    broken = _breaking(world, potential)
    numbered = sorted(range(len(potential)), key=lambda number: (not broken[number], number))
    victims = []
    for number in numbered:
        unit = potential[number]
        if _all_fit(world, [*standing, *unit.pods], proposed, members):
            standing += unit.pods
        else:
            victims.append(number)
    return Answer(
        proposed=proposed,
        victims=[_key(pod) for number in sorted(victims) for pod, _ in potential[number].pods],
        violations=sum(broken[number] for number in victims),
    )


def _all_fit(world: Slowly, standing: Standing, proposed: dict[str, str], members: Sequence[Pod]) -> bool:
    now, nodes = list(standing), {node.metadata.name: node for node in world.nodes}
    for member in members:
        name = proposed.get(_key(member))
        if name is None:
            continue
        if not _fits(member, nodes[name], now):
            return False
        now.append((member, name))
    return True
