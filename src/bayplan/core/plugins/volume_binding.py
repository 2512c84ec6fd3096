"""VolumeBinding: every claim of the pod is bound to a volume the node can reach, or can be bound or made there.

Takes the pod's claims with their volumes, classes, drivers and capacities; gives for all nodes at once which of four
reasons stand in the way, as bits of one code. Pods do not matter to it, so the answer is made at the first filter
call of an attempt and read from then on. `volumes_on` tells what the pod would bind and have made on a node, and
`assumed` the objects as they are after that; `pre_bind` waits for both.
Upstream: plugins/volumebinding/volume_binding.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IdArray, IntArray, RowArray, Rows
from bayplan.core.columns.node_selectors import compile_terms, match_some
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import VolumeBindingArgs
from bayplan.core.framework.contract import (
    SKIP,
    AssumedPod,
    Pending,
    PreFiltered,
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import CycleError, Status, unresolvable
from bayplan.core.plugins.csi_migration import (
    TranslationError,
    is_migrated_on,
    required_terms,
    translated_terms,
    volume_plugin,
)
from bayplan.core.plugins.requeue_rules import after_own_claim, on
from bayplan.core.plugins.utilization import scores_by_utilization
from bayplan.core.plugins.volume_binding_hints import (
    after_capacity_change,
    after_capacity_moved,
    after_capacity_untold,
    after_class_change,
    after_csi_node_change,
    after_driver_update,
    after_kept_volume_deleted,
)
from bayplan.core.plugins.volume_binding_scoring import bound_uses, made_uses, scores_of
from bayplan.core.plugins.volume_binding_wait import wait_for_volumes
from bayplan.core.plugins.volume_claims import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    PodIdentity,
    binding_mode_not_set,
    claim_not_found,
    claim_uses,
    class_of_claim,
    class_of_volume,
    is_fully_bound,
    is_owned_by,
    nano_amount,
    not_owner,
)
from bayplan.core.plugins.volume_matching import is_bound_to, match_claims, reachable_from
from bayplan.core.plugins.volume_space import NO_SPACE, space_for
from bayplan.core.snapshot import Objects, View
from bayplan.model.meta import ObjectReference
from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.selectors import SelectorError, compile_label_selector
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.model.time_units import SECOND

NAME = "VolumeBinding"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

NO_PROVISIONER = "kubernetes.io/no-provisioner"
LOST = "Lost"

#: Bits of a failure code, in the order in which their reasons are selected.
CODE_NODE, CODE_BIND, CODE_SPACE, CODE_MISSING = 1, 2, 4, 8
REASONS = {
    CODE_NODE: NODE_CONFLICT,
    CODE_BIND: BIND_CONFLICT,
    CODE_SPACE: NOT_ENOUGH_SPACE,
    CODE_MISSING: VOLUME_MISSING,
}


@dataclass(frozen=True, slots=True)
class ClaimFindings:
    """What the claims come to on every node."""

    codes: IntArray  # (nodes,); below 0 where an error was found, the first of `errors` being -1
    errors: tuple[str, ...]
    matched_claims: tuple[PersistentVolumeClaim, ...]  # in the order they were served
    volumes: tuple[PersistentVolume, ...]
    matches: IdArray  # (matched_claims, nodes) positions in `volumes`
    to_make: tuple[tuple[PersistentVolumeClaim, BoolArray], ...]  # with (nodes,) the nodes where they would be made


@dataclass(slots=True)
class BindingState:
    """The pod's claims by what is to be done about them."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    findings: ClaimFindings | None = None  # made when first asked for


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What binding the pod's claims on one node means."""

    static: tuple[tuple[PersistentVolume, PersistentVolumeClaim], ...]
    provisioned: tuple[PersistentVolumeClaim, ...]


class VolumeBinding:
    """Filters nodes by where the pod's claims are, or can be, bound."""

    name: ClassVar[str] = NAME
    without_pre_filter: ClassVar[str] = "not found"
    scores_unprepared: ClassVar[bool] = True
    looks_up: ClassVar[frozenset[str]] = frozenset(
        {"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity"}
    )
    reads: ClassVar[Reads] = Reads.NODE | Reads.CLUSTER
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.CLUSTER

    def __init__(self, args: VolumeBindingArgs | None = None, *, gates: FeatureGates) -> None:
        self.args = args or VolumeBindingArgs()
        self._scores_capacity = gates.storage_capacity_scoring
        self._by_utilization = scores_by_utilization(self.args.shape)

    def tells_nodes_apart(self, pod: PodInfo) -> bool:
        return self._scores_capacity and bool(pod.spec.volumes)

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> PodInfo | Skip:  # noqa: ARG002
        """Scoring by storage capacity is behind a gate that is off by default."""
        return pod if self._scores_capacity else SKIP

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        prepared = self.pre_filter(state, view) if self.tells_nodes_apart(state) else SKIP
        if not isinstance(prepared, Ready):
            return np.zeros(len(rows), dtype=np.int64)
        return self._capacity_scores(prepared.state, view)[rows]

    def _capacity_scores(self, state: BindingState, view: View) -> IntArray:
        """(nodes,) by existing volumes where there are some for the pod, else by what new ones take."""
        findings, nodes = _findings(state, view), view.nodes.count
        bound = bound_uses(findings.matched_claims, findings.volumes, findings.matches)
        to_make = [
            (claim, where, space_for(view, claim, view.objects.storage_classes[class_of_claim(claim)]))
            for claim, where in findings.to_make
        ]
        has_volumes = (findings.matches != ABSENT).any(axis=0)
        scores: IntArray = np.where(
            has_volumes,
            scores_of(bound.values(), self._by_utilization, nodes),
            scores_of(made_uses(to_make, nodes).values(), self._by_utilization, nodes),
        )
        return scores

    def concerns(self, pod: PodInfo) -> bool:
        return bool(pod.spec.volumes)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        claims: list[PersistentVolumeClaim] = []
        for claim_or_fault in _claims(pod, view.objects):
            if isinstance(claim_or_fault, str):
                return unresolvable(claim_or_fault)
            claims.append(claim_or_fault)
        if not claims:
            return SKIP
        bound = tuple(claim for claim in claims if is_fully_bound(claim))
        delayed = tuple(
            claim for claim in claims if not is_fully_bound(claim) and _waits_for_consumer(view.objects, claim)
        )
        if len(bound) + len(delayed) < len(claims):
            return unresolvable(UNBOUND_IMMEDIATE)
        return Ready(BindingState(bound, delayed))

    def filter(self, state: BindingState, view: View, rows: Rows) -> IntArray:
        findings = _findings(state, view)
        codes = findings.codes[rows]
        if findings.errors:
            for code in codes[codes < 0].tolist():
                raise CycleError(NAME, findings.errors[-code - 1])
        return codes

    def explain_failure(self, state: BindingState, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(*(reason for bit, reason in REASONS.items() if code & bit))

    def volumes_on(self, state: BindingState, view: View, row: int) -> PodVolumes:
        """What the pod would bind and have made on a node that passed the filter."""
        findings = _findings(state, view)
        static, unmatched = [], []
        for claim, position in zip(findings.matched_claims, findings.matches[:, row].tolist(), strict=True):
            if position == ABSENT:
                unmatched.append(claim)
            else:
                static.append((findings.volumes[position], claim))
        selected = [claim for claim in state.delayed if SELECTED_NODE in claim.metadata.annotations]
        return PodVolumes(tuple(static), (*selected, *unmatched))

    def reserve(self, pod: PodInfo, view: View, node_row: int) -> list[PersistentVolume | PersistentVolumeClaim]:
        """Volumes kept for the pod's claims, and claims selected the node."""
        if not pod.shape.spec.volumes:
            return []
        prepared = self.pre_filter(pod, view)
        if not isinstance(prepared, Ready) or not prepared.state.delayed:
            return []  # bound claims stay as they are
        return assumed(self.volumes_on(prepared.state, view, node_row), view.nodes.names[node_row])

    def pre_bind_pre_flight(self, pod: PodInfo) -> bool:
        return bool(pod.shape.spec.volumes)

    def pre_bind(self, pod: PodInfo, view: View, placement: AssumedPod) -> Status | Pending:
        """Wait until the claims are bound, or until it is clear that they will not be."""
        return wait_for_volumes(pod, view, placement, self.args.bind_timeout_seconds * SECOND)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        changed = ActionType.ADD | ActionType.UPDATE
        return (
            on(EventResource.STORAGE_CLASS, changed, after_class_change),
            on(EventResource.PERSISTENT_VOLUME_CLAIM, changed, after_own_claim),
            on(EventResource.PERSISTENT_VOLUME, changed),
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            on(EventResource.CSI_NODE, changed, after_csi_node_change),
            on(EventResource.CSI_DRIVER, ActionType.UPDATE, after_driver_update),
            on(EventResource.CSI_STORAGE_CAPACITY, changed, after_capacity_change),
        )

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.PERSISTENT_VOLUME, ActionType.DELETE, after_kept_volume_deleted),
            on(EventResource.CSI_NODE, ActionType.DELETE),
            on(EventResource.CSI_DRIVER, ActionType.UPDATE, after_capacity_untold),
            on(EventResource.CSI_DRIVER, ActionType.DELETE),
            on(EventResource.CSI_STORAGE_CAPACITY, ActionType.UPDATE, after_capacity_moved),
        )


def assumed(chosen: PodVolumes, node_name: str) -> list[PersistentVolume | PersistentVolumeClaim]:
    """The objects that change when the pod goes to the node: volumes kept for claims, claims selected the node."""
    changed: list[PersistentVolume | PersistentVolumeClaim] = [_kept(volume, claim) for volume, claim in chosen.static]
    for claim in chosen.provisioned:
        selected = deepcopy(claim)
        selected.metadata.annotations[SELECTED_NODE] = node_name
        changed.append(selected)
    return changed


def _kept(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    kept = deepcopy(volume)
    if not is_bound_to(volume, claim):
        kept.metadata.annotations[BOUND_BY_CONTROLLER] = "yes"
    kept.spec.claim_ref = ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=claim.metadata.namespace,
        name=claim.metadata.name,
        uid=claim.metadata.uid,
    )
    return kept


def _claims(pod: PodInfo, objects: Objects) -> Iterator[PersistentVolumeClaim | str]:
    """The pod's claims in the order of its volumes, or in words why one will not do."""
    identity = PodIdentity.of(pod)
    for use in claim_uses(pod):
        claim = objects.claims.get((pod.namespace, use.claim_name))
        if claim is None:
            if use.is_ephemeral:
                waiting = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
                yield f'{waiting} "{use.claim_name}"'
            else:
                yield claim_not_found(use.claim_name)
            return
        if claim.status.phase == LOST:
            named = f'persistentvolumeclaim "{use.claim_name}"'
            yield f'{named} bound to non-existent persistentvolume "{claim.spec.volume_name}"'
        if claim.metadata.deletion_timestamp is not None:
            yield f'persistentvolumeclaim "{use.claim_name}" is being deleted'
        if use.is_ephemeral and not is_owned_by(claim, identity):
            yield not_owner(claim, identity)
        yield claim


def _waits_for_consumer(objects: Objects, claim: PersistentVolumeClaim) -> bool:
    class_name = class_of_claim(claim)
    storage_class = objects.storage_classes.get(class_name) if class_name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        raise CycleError(NAME, binding_mode_not_set(class_name))
    # A claim that names its volume but is not bound yet is the volume controller's business.
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER and not claim.spec.volume_name


def _findings(state: BindingState, view: View) -> ClaimFindings:
    if state.findings is None:
        state.findings = _find(state, view)
    return state.findings


class _Errors:
    """What cannot be judged, by node: the first error of each counts. There are hardly ever any."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._ids: IntArray | None = None  # (nodes,)

    def add(self, where: BoolArray, message: str) -> None:
        self.messages.append(message)
        if self._ids is None:
            self._ids = np.zeros(len(where), dtype=np.int64)
        self._ids[where & (self._ids == 0)] = len(self.messages)

    def undecided(self, codes: IntArray) -> BoolArray:
        """(nodes,) nodes that neither failed nor met an error yet."""
        left: BoolArray = codes == 0 if self._ids is None else (codes == 0) & (self._ids == 0)
        return left

    def instead_of(self, codes: IntArray) -> IntArray:
        return codes if self._ids is None else np.where(self._ids > 0, -self._ids, codes)


def _find(state: BindingState, view: View) -> ClaimFindings:
    errors = _Errors()
    codes = _judge_bound(view, state.bound, errors)
    if not state.delayed:
        return ClaimFindings(
            errors.instead_of(codes), tuple(errors.messages), (), (), match_claims(view.nodes, (), ()), ()
        )
    selected = [claim for claim in state.delayed if SELECTED_NODE in claim.metadata.annotations]
    to_match = sorted(
        (claim for claim in state.delayed if SELECTED_NODE not in claim.metadata.annotations),
        key=lambda claim: nano_amount(claim.spec.resources.requests),
    )
    selectable = np.ones(view.nodes.count, dtype=np.bool_)
    for claim in selected:
        selectable &= view.nodes.named((claim.metadata.annotations[SELECTED_NODE],))
    fault = _selector_fault(to_match)
    if fault:
        errors.add(selectable, fault)
        to_match = []
    volumes = _volumes_of_classes(view.objects, {class_of_claim(claim) for claim in to_match})
    matches = match_claims(view.nodes, to_match, volumes)
    codes[~selectable] |= CODE_BIND
    to_make = [(claim, selectable) for claim in selected]
    to_make += [(claim, selectable & (match == ABSENT)) for claim, match in zip(to_match, matches, strict=True)]
    codes |= _judge_provisioning(view, to_make)
    return ClaimFindings(
        errors.instead_of(codes), tuple(errors.messages), tuple(to_match), volumes, matches, tuple(to_make)
    )


def _selector_fault(claims: Iterable[PersistentVolumeClaim]) -> str:
    """What is wrong with the first selector that does not parse."""
    for claim in claims:
        try:
            compile_label_selector(claim.spec.selector)
        except SelectorError as problem:
            named = f"{claim.metadata.namespace}/{claim.metadata.name}"
            return f"error creating internal label selector for claim: {named}: {problem}"
    return ""


def _judge_bound(view: View, claims: Iterable[PersistentVolumeClaim], errors: _Errors) -> IntArray:
    """(nodes,) CODE_NODE or CODE_MISSING, whichever claim fails first."""
    codes = np.zeros(view.nodes.count, dtype=np.int64)
    for claim in claims:
        volume = view.objects.volumes.get(claim.spec.volume_name)
        undecided = errors.undecided(codes)
        if volume is None:
            codes[undecided] = CODE_MISSING
            break
        np.putmask(codes, undecided & ~_reachable(view, volume, undecided, errors), CODE_NODE)
    return codes


def _reachable(view: View, volume: PersistentVolume, undecided: BoolArray, errors: _Errors) -> BoolArray:
    """(nodes,) by the affinity as written, or as translated where the node's kubelet left the disk to CSI."""
    as_written = reachable_from(view.nodes, required_terms(volume))
    plugin = volume_plugin(volume)
    if plugin is None:
        return as_written
    csi_nodes = view.objects.csi_nodes.items()
    migrated = view.nodes.alive & view.nodes.named(name for name, it in csi_nodes if is_migrated_on(it, plugin))
    if not migrated.any():
        return as_written
    try:
        translated = reachable_from(view.nodes, translated_terms(volume))
    except TranslationError as problem:
        errors.add(migrated & undecided, f"could not translate pv: {problem}")
        return as_written
    return np.where(migrated, translated, as_written)


def _volumes_of_classes(objects: Objects, class_names: set[str]) -> tuple[PersistentVolume, ...]:
    if not class_names:
        return ()
    return tuple(volume for volume in objects.volumes.values() if class_of_volume(volume) in class_names)


def _judge_provisioning(view: View, to_make: Iterable[tuple[PersistentVolumeClaim, BoolArray]]) -> IntArray:
    """(nodes,) CODE_BIND or CODE_SPACE, whichever claim that has to be made there fails first."""
    codes = np.zeros(view.nodes.count, dtype=np.int64)
    for claim, needed in to_make:
        asked = needed & (codes == 0)
        if not asked.any():
            continue
        storage_class = view.objects.storage_classes[class_of_claim(claim)]
        allowed = _may_provision(view.nodes, storage_class)
        codes[asked & ~allowed] = CODE_BIND
        space = space_for(view, claim, storage_class)
        if space is not None:
            codes[asked & allowed & (space == NO_SPACE)] = CODE_SPACE
    return codes


def _may_provision(nodes: NodeTable, storage_class: StorageClass) -> BoolArray:
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return np.zeros(nodes.count, dtype=np.bool_)
    if not storage_class.allowed_topologies:
        return np.ones(nodes.count, dtype=np.bool_)
    return match_some(nodes, compile_terms(_topology_terms(storage_class)), use_fields=False)


def _topology_terms(storage_class: StorageClass) -> Iterator[NodeSelectorTerm]:
    for term in storage_class.allowed_topologies:
        yield NodeSelectorTerm(
            match_expressions=[
                NodeSelectorRequirement(key=item.key, operator="In", values=item.values)
                for item in term.match_label_expressions
            ]
        )
