"""Changes of the cluster around a pod: a node uncordoned, untainted, freed or added, or the pod's priority raised.

Each function takes a pod with some edits, and gives the changes with what becomes of the pod then, or None. Where to
look is found with a pod that does not mind; what is given has been decided with the change made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass

from bayplan.admission.priority import PREEMPT_LOWER_PRIORITY, SYSTEM_PREFIX
from bayplan.analysis.answers.exposure.probing import ProbeOutcome
from bayplan.analysis.answers.fixing.answer import PER_STEP, Remedy, RemedyKind
from bayplan.analysis.answers.fixing.edits import Edit, with_class
from bayplan.analysis.answers.fixing.node_kinds import daemons_like, node_like, one_of_each_kind
from bayplan.analysis.answers.fixing.trying import Trying
from bayplan.analysis.written import written_taint
from bayplan.controllers.ownership import controller_of_kind
from bayplan.core.plugins.volume_claims import claim_use
from bayplan.model.cluster import PriorityClass
from bayplan.model.kinds import Object
from bayplan.model.meta import INT32_MAX
from bayplan.model.node import Node
from bayplan.model.pod import PodSpec, Toleration
from bayplan.model.well_known import SYSTEM_NAMESPACE, UNSCHEDULABLE

Edits = tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class WorkingChange:
    """Changes that work, and what the scheduler then does."""

    edits: Edits
    outcome: ProbeOutcome
    around: tuple[Remedy, ...] = ()  # changes of the cluster
    objects: tuple[Object, ...] = ()  # nodes, claims and classes as they are with these changes
    evicted: tuple[str, ...] = ()  # pods that somebody has to move
    assumed: Edits = ()  # what the pod is tried with in place of something that is not known

    @property
    def changes(self) -> tuple[Remedy, ...]:
        return (*(edit.change for edit in self.edits), *self.around)

    @property
    def price(self) -> float:
        return sum(change.price for change in self.changes)


#: Tries one kind of change for a pod with some edits.
Family = Callable[[Trying, Edits], WorkingChange | None]


def uncordon(trying: Trying, edits: Edits) -> WorkingChange | None:
    """A node that takes the pod once it is not cordoned any longer."""
    if not trying.cache.nodes.unschedulable.any():
        return None
    undaunted = Edit(Remedy(RemedyKind.TOLERATION, UNSCHEDULABLE), _mind_no_cordon)
    node = trying.nodes.get(trying.decide((*edits, undaunted)).node)
    if node is None or not node.spec.unschedulable:
        return None
    taints = [taint for taint in node.spec.taints if taint.key != UNSCHEDULABLE]
    uncordoned = _with_spec(node, unschedulable=False, taints=taints)
    with trying.changed_node(uncordoned):
        outcome = trying.decide(edits)
    name = node.metadata.name
    change = Remedy(RemedyKind.UNCORDON, name)
    return WorkingChange(edits, outcome, (change,), objects=(uncordoned,)) if _fits_on(outcome, name) else None


def untaint(trying: Trying, edits: Edits) -> WorkingChange | None:
    """A node without the taint that the last edit would tolerate; the pod stays as it is."""
    *others, tolerating = edits
    node = trying.nodes.get(trying.decide(edits).node)
    if node is None:
        return None
    taints = [taint for taint in node.spec.taints if written_taint(taint) != tolerating.change.what]
    untainted = _with_spec(node, unschedulable=node.spec.unschedulable, taints=taints)
    with trying.changed_node(untainted):
        outcome = trying.decide(others)
    name = node.metadata.name
    change = Remedy(RemedyKind.UNTAINT, name, before=tolerating.change.what)
    return WorkingChange(tuple(others), outcome, (change,), objects=(untainted,)) if _fits_on(outcome, name) else None


def free(trying: Trying, edits: Edits) -> WorkingChange | None:
    """A node that takes the pod once some of its pods are gone, whatever their priority."""
    outranking = Edit(Remedy(RemedyKind.PRIORITY, ""), _outrank_everybody)
    cleared = trying.decide((*edits, outranking))
    if not cleared.victims:
        return None
    with trying.pods_gone(cleared.node, cleared.victims):
        outcome = trying.decide(edits)
    if not _fits_on(outcome, cleared.node):
        return None
    change = Remedy(RemedyKind.FREE, cleared.node, extent=_extent(len(cleared.victims)))
    return WorkingChange(edits, ProbeOutcome(cleared.node, cleared.victims), (change,), evicted=cleared.victims)


def raising_priority(classes: Sequence[PriorityClass]) -> Family:
    """The lowest class with which the pod gets a node."""

    def raise_priority(trying: Trying, edits: Edits) -> WorkingChange | None:
        spec = trying.spec(edits)
        for priority_class in classes:
            if not _is_a_raise(spec, priority_class, trying.pod.metadata.namespace):
                continue
            edit = with_class(spec, priority_class)
            outcome = trying.decide((*edits, edit))
            if outcome.node:
                change = _with_extent(edit.change, _extent(len(outcome.victims)))
                return WorkingChange((*edits, Edit(change, edit.apply)), outcome)
        return None

    return raise_priority


def add_node(trying: Trying, edits: Edits) -> WorkingChange | None:
    """The smallest kind of node of which one more takes the pod; the daemons of its kind are on it, too.

    If none does, the new node gets the labels that the pod's volumes ask for.
    """
    labels = labels_for_volumes(trying)
    return _add_node(trying, edits, {}) or (_add_node(trying, edits, labels) if labels else None)


def _add_node(trying: Trying, edits: Edits, labels: dict[str, str]) -> WorkingChange | None:
    for node in one_of_each_kind(trying.nodes.values()):
        made = node_like(node, trying.nodes)
        made.metadata.labels |= labels
        daemons = [trying.stored_pod(key) for key in trying.pods_on(node.metadata.name)]
        daemons = [pod for pod in daemons if controller_of_kind(pod.metadata, "DaemonSet")]
        own_daemons = list(daemons_like(daemons, made.metadata.name))
        with trying.new_node(made, own_daemons):
            outcome = trying.decide(edits)
        if _fits_on(outcome, made.metadata.name):
            written = ", ".join(f"{key}={value}" for key, value in labels.items())
            change = Remedy(RemedyKind.ADD_NODE, node.metadata.name, after=written or None)
            return WorkingChange(edits, outcome, (change,), objects=(made, *own_daemons))
    return None


def labels_for_volumes(trying: Trying) -> dict[str, str]:
    """What a node must be labeled with to reach the volumes that the pod's claims are bound to."""
    objects, namespace = trying.cache.objects, trying.pod.metadata.namespace
    labels: dict[str, str] = {}
    for volume in trying.pod.spec.volumes:
        use = claim_use(volume, trying.pod.metadata.name)
        claim = objects.claims.get((namespace, use.claim_name)) if use is not None else None
        bound = objects.volumes.get(claim.spec.volume_name) if claim is not None else None
        affinity = bound.spec.node_affinity.required if bound is not None and bound.spec.node_affinity else None
        for requirement in affinity.node_selector_terms[0].match_expressions if affinity is not None else ():
            if requirement.operator == "In" and requirement.values:
                labels.setdefault(requirement.key, requirement.values[0])
    return labels


def _fits_on(outcome: ProbeOutcome, node: str) -> bool:
    return outcome.node == node and not outcome.victims


def _extent(pods: int) -> float:
    return min(0.9, PER_STEP * pods)


def _with_extent(change: Remedy, extent: float) -> Remedy:
    return Remedy(change.kind, change.what, change.before, change.after, extent)


def _is_a_raise(spec: PodSpec, priority_class: PriorityClass, namespace: str) -> bool:
    """A class that lets the pod preempt more than now; those of the system are for its own namespace."""
    if priority_class.metadata.name.startswith(SYSTEM_PREFIX) and namespace != SYSTEM_NAMESPACE:
        return False
    if (priority_class.preemption_policy or PREEMPT_LOWER_PRIORITY) != PREEMPT_LOWER_PRIORITY:
        return False
    priority = spec.priority or 0
    return priority_class.value > priority or (priority_class.value == priority and spec.preemption_policy == "Never")


def _mind_no_cordon(changed: PodSpec) -> None:
    changed.tolerations.append(Toleration(key=UNSCHEDULABLE, operator="Exists"))


def _outrank_everybody(changed: PodSpec) -> None:
    changed.priority = INT32_MAX
    changed.preemption_policy = PREEMPT_LOWER_PRIORITY


def _with_spec(node: Node, **fields: object) -> Node:
    changed = copy(node)
    changed.spec = deepcopy(node.spec)
    for name, value in fields.items():
        setattr(changed.spec, name, value)
    return changed
