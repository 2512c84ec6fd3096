"""Why nodes reject a pod, by name: the taint, the label, the port, the claim, the constraint and its counts.

The scheduler's messages say which rule a node breaks, not what in it. Here each failed node is looked at again, and
nodes with the same cause are put together. Where nothing more is known than the message, the message is the cause.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bayplan.analysis.device_causes import device_causes
from bayplan.analysis.shortage import used_or_promised
from bayplan.analysis.written import written_amount, written_selector, written_taint, written_terms
from bayplan.core.columns import ABSENT, BoolArray, IntArray, RowArray
from bayplan.core.columns.node_selectors import compile_terms
from bayplan.core.columns.terms import TermKind
from bayplan.core.diagnosis import distinct_verdicts
from bayplan.core.explain import Explanation
from bayplan.core.filtering import PASSED, Filtered
from bayplan.core.framework.verdict import Status
from bayplan.core.plugins.dynamic_resources.state import DeviceState
from bayplan.core.plugins.inter_pod_affinity import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING_ANTI_AFFINITY,
)
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.plugins.pod_topology_spread.constraints import HARD
from bayplan.core.plugins.pod_topology_spread.filtering import HardState
from bayplan.core.plugins.taint_toleration import taints_of
from bayplan.core.plugins.volume_binding import NODE_CONFLICT
from bayplan.core.plugins.volume_claims import claim_use
from bayplan.core.plugins.volume_zone import TOPOLOGY_LABELS
from bayplan.model.near_matches import meant_pair
from bayplan.model.node import Taint
from bayplan.model.pod import PodAffinityTerm
from bayplan.model.storage import PersistentVolume
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, any_tolerates


@dataclass(frozen=True, slots=True)
class Cause:
    """What keeps a pod off some nodes."""

    plugin: str
    text: str
    reasons: tuple[str, ...]  # the scheduler's own words
    nodes: tuple[str, ...]
    device_requests: tuple[dict[str, Any], ...] = ()  # what is told of devices, as plain data

    def to_dict(self) -> dict[str, Any]:
        return {
            "count": len(self.nodes),
            "cause": self.text,
            "plugin": self.plugin,
            "reasons": list(self.reasons),
            "nodes": list(self.nodes),
            **({"deviceRequests": list(self.device_requests)} if self.device_requests else {}),
        }


def causes_of(explanation: Explanation, among: BoolArray | None = None) -> list[Cause]:
    """Those of most nodes first; of the nodes `among` (nodes,) alone where only they are in question."""
    filtered = explanation.attempt.filtered
    if filtered is None:
        return []
    return sorted(_Causes(explanation, filtered, among).all(), key=lambda cause: -len(cause.nodes))


class _Causes:
    def __init__(self, explanation: Explanation, filtered: Filtered, among: BoolArray | None) -> None:
        self._among = among
        self._explanation = explanation
        self._view = explanation.view
        self._pod = explanation.attempt.pod
        self._filtered = filtered
        self._by_plugin: dict[str, Callable[[Status, int], str]] = {
            "TaintToleration": self._taints,
            "NodeUnschedulable": lambda *_: "cordoned",
            "NodeAffinity": self._node_affinity,
            "NodePorts": self._ports,
            "InterPodAffinity": self._pod_affinity,
            "VolumeBinding": self._volumes,
            "VolumeZone": self._volumes,
        }

    @cached_property
    def _used(self) -> IntArray:
        return used_or_promised(self._explanation)

    @cached_property
    def _labels(self) -> Counter[tuple[str, str]]:
        """How many nodes have each label."""
        nodes = self._view.nodes
        return Counter(label for row in range(nodes.count) if nodes.alive[row] for label in nodes.labels[row].items())

    def all(self) -> Iterator[Cause]:
        nodes, verdicts = self._view.nodes, self._filtered.verdicts
        in_question = nodes.alive if self._among is None else nodes.alive & self._among
        failed = (in_question & (verdicts.rejected_by != PASSED)).nonzero()[0]
        for position, code, rows in distinct_verdicts(verdicts, failed):
            status = self._filtered.explain(self._view, position, code)
            plugin = self._filtered.plugins[position] if 0 <= position < len(self._filtered.plugins) else None
            state = self._filtered.states[position] if plugin is not None else None
            if isinstance(state, DeviceState) and (of_devices := device_causes(self._view, state, code, rows)):
                for text, group, requests in of_devices:
                    yield Cause(status.plugin, text, status.reasons, self._names(group), tuple(requests))
                continue
            for text, group in self._grouped(status, plugin, state, code, rows).items():
                yield Cause(status.plugin, text, status.reasons, self._names(group))

    def _names(self, rows: Sequence[int]) -> tuple[str, ...]:
        return tuple(sorted(self._view.nodes.names[row] for row in rows))

    def _grouped(
        self, status: Status, plugin: object, state: object, code: int, rows: RowArray
    ) -> dict[str, list[int]]:
        """The rows by their cause."""
        if isinstance(plugin, NodeResourcesFit):
            return {self._resources(plugin, state, code, rows) or _said(status): rows.tolist()}
        found: defaultdict[str, list[int]] = defaultdict(list)
        named = self._by_plugin.get(status.plugin)
        for row in rows.tolist():
            if isinstance(state, HardState):
                text = self._spread(state, row)
            else:
                text = named(status, row) if named is not None else ""
            found[text or _said(status)].append(row)
        return found

    # ---------------------------------------------------------------- one node

    def _taints(self, _: Status, row: int) -> str:
        nodes, tolerations = self._view.nodes, self._pod.spec.tolerations
        taints = [Taint(key=key, value=value, effect=effect) for key, value, effect in taints_of(nodes, row)]
        bad = [taint for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE)]
        return _named("taint", [written_taint(taint) for taint in bad if not any_tolerates(tolerations, taint)])

    def _node_affinity(self, _: Status, row: int) -> str:
        labels, spec = self._view.nodes.labels[row], self._pod.spec
        missing = [(key, value) for key, value in spec.node_selector.items() if labels.get(key) != value]
        if missing:
            return _named("node selector", [self._selector(key, value) for key, value in missing])
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else []
        return _named("node affinity", list(filter(None, [written_terms(terms)])))

    def _selector(self, key: str, value: str) -> str:
        if (key, value) in self._labels:
            return f"{key}={value}"
        other = meant_pair(key, value, self._labels)
        if other is None:
            return f"{key}={value} (no node has it)"
        return f"{key}={value} (no node has it; did you mean {'='.join(other)}, {_nodes(self._labels[other])}?)"

    def _ports(self, _: Status, row: int) -> str:
        wanted = {(port.protocol, port.port) for port in self._pod.shape.ports}
        held = (port for pod_row in self._view.nodes.pod_rows[row] for port in self._view.pods.shape(pod_row).ports)
        taken = {f"{port.port}/{port.protocol}" for port in held if (port.protocol, port.port) in wanted}
        return _named("host port taken:", sorted(taken))

    def _pod_affinity(self, status: Status, row: int) -> str:
        affinity = self._pod.spec.affinity
        if REASON_EXISTING_ANTI_AFFINITY in status.reasons:
            return self._existing_anti_affinity(row)
        if affinity is None:
            return ""
        if REASON_ANTI_AFFINITY in status.reasons and affinity.pod_anti_affinity is not None:
            return _named("its anti-affinity to", list(map(_written_term, affinity.pod_anti_affinity.required)))
        if REASON_AFFINITY in status.reasons and affinity.pod_affinity is not None:
            return _named("its affinity to", list(map(_written_term, affinity.pod_affinity.required)))
        return ""

    def _existing_anti_affinity(self, row: int) -> str:
        """A pod of the node's domain that keeps this one away."""
        labels = self._view.nodes.labels[row]
        for (key, value), pod in self._keepers_away.items():
            if labels.get(key) == value:
                return f"anti-affinity of {pod} in the same {key}"
        return ""

    @cached_property
    def _keepers_away(self) -> dict[tuple[str, str], str]:
        """Topology key and domain -> the first pod there that a term of its own keeps apart from this one."""
        counters, view = self._view.counters, self._view
        namespace_labels = view.objects.namespace_labels(self._pod.shape.namespace)
        found: dict[tuple[str, str], str] = {}
        for term_id in counters.terms_reaching(self._pod.shape, namespace_labels):
            carried = counters.terms.values[term_id]
            if carried.kind is not TermKind.REQUIRED_ANTI:
                continue
            key = carried.term.topology_key
            for pod, shape, at in zip(view.pods.keys, view.pods.shapes, view.pods.node_rows.tolist(), strict=False):
                if shape is not None and at != ABSENT and term_id in shape.carried_ids:
                    domain = view.nodes.labels[at].get(key)
                    if domain is not None:
                        found.setdefault((key, domain), pod)
        return found

    def _volumes(self, status: Status, row: int) -> str:
        """Claims whose volume cannot be used on the node."""
        view, spec = self._view, self._pod.spec
        found = []
        for volume in spec.volumes:
            use = claim_use(volume, self._pod.name)
            claim = view.objects.claims.get((self._pod.shape.namespace, use.claim_name)) if use is not None else None
            bound = view.objects.volumes.get(claim.spec.volume_name) if claim is not None else None
            if claim is not None and bound is not None and not self._reaches(row, bound):
                found.append(f"claim {claim.metadata.name} is on volume {bound.metadata.name} ({_where(bound)})")
        is_conflict = status.plugin == "VolumeZone" or NODE_CONFLICT in status.reasons
        return _named("", found) if is_conflict else ""

    def _reaches(self, row: int, volume: PersistentVolume) -> bool:
        """Whether the node can use the volume, as far as its node affinity and zone go."""
        labels, name = self._view.nodes.labels[row], self._view.nodes.names[row]
        affinity = volume.spec.node_affinity
        if affinity is not None and affinity.required is not None:
            terms = compile_terms(affinity.required.node_selector_terms)
            return any(term.matches(labels, name) for term in terms)
        return all(labels.get(key, value) == value for key, value in _zone_labels(volume))

    def _spread(self, state: HardState, row: int) -> str:
        constraints = [each for each in self._pod.spec.topology_spread_constraints if each.when_unsatisfiable == HARD]
        if len(constraints) != len(state.domains):
            return ""  # the defaults of the profile
        for constraint, domains in zip(constraints, state.domains, strict=True):
            key = constraint.topology_key
            domain = int(domains.ids[row])
            if domain == ABSENT:
                return f"spread over {key}: the node has no such label"
            least = 0 if domains.least_is_zero else domains.least
            total = int(domains.totals[domain])
            if total - least > domains.total_max:
                here = f"{self._view.nodes.labels[row][key]} has {total:,}"
                return f"spread over {key}: {here}, the least is {least:,}, maxSkew {constraint.max_skew:,}"
        return ""

    # ---------------------------------------------------------------- all nodes of a verdict

    def _resources(self, plugin: NodeResourcesFit, state: Any, code: int, rows: RowArray) -> str:
        nodes, missing = self._view.nodes, []
        for demand in plugin.unmet(state, code):
            column, asked = nodes.resources.find(demand.name), self._pod.shape.requests.asked[demand.name]
            offered = nodes.allocatable[rows, column]
            free = offered - self._used[rows, column]
            best = int(free.argmax())
            if int(offered.max()) < asked:
                most = f"these nodes have at most {written_amount(demand.name, int(offered.max()))}"
            else:
                most = f"at most {written_amount(demand.name, max(0, int(free[best])))} free"
            missing.append(f"{demand.name} ({written_amount(demand.name, asked)} requested, {most})")
        return _named("too little", missing)


def _said(status: Status) -> str:
    return ", ".join(status.reasons) or status.code.value


def _named(what: str, names: Sequence[str]) -> str:
    return f"{what} {' and '.join(names)}".strip() if names else ""


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' if count != 1 else ''}"


def _written_term(term: PodAffinityTerm) -> str:
    return f"{written_selector(term.label_selector)} in the same {term.topology_key}"


def _where(volume: PersistentVolume) -> str:
    """The nodes from which the volume can be used."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return ", ".join(f"{key}={value}" for key, value in _zone_labels(volume))
    return written_terms(affinity.required.node_selector_terms)


def _zone_labels(volume: PersistentVolume) -> list[tuple[str, str]]:
    return [(key, value) for key, value in volume.metadata.labels.items() if key in TOPOLOGY_LABELS]
