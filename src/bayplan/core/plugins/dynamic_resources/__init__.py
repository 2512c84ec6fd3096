"""DynamicResources: every claim of the pod has devices that the node can use, or can be given some there.

Takes the pod's claims, the device classes and what ResourceSlices offer; gives for each node whether all claims can be
served there together, and scores nodes by how early in a list of alternatives they can serve one. `reserve` gives the
claims with their devices; `post_filter` says which claim to take devices from that nobody can use where they are.
`pre_bind` waits for devices to be prepared. Writing is left to whoever binds.
Upstream: plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from typing import ClassVar

import numpy as np

from bayplan.core.actions import ReleaseClaim
from bayplan.core.columns import BoolArray, IntArray, RowArray, Rows
from bayplan.core.columns.node_selectors import compile_term, match_some
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import DynamicResourcesArgs
from bayplan.core.framework.contract import (
    SKIP,
    AssumedPod,
    Failure,
    Pending,
    PostFiltered,
    PreFiltered,
    Reads,
    Ready,
    default_normalize,
)
from bayplan.core.framework.group_contract import GroupFailure, PodGroupPostFiltered
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status, unresolvable, unschedulable
from bayplan.core.plugins.dynamic_resources.allocation import AllocationError, Search
from bayplan.core.plugins.dynamic_resources.binding_conditions import (
    is_in_vain,
    places_to_release,
    wait_for_devices,
)
from bayplan.core.plugins.dynamic_resources.claims import (
    ClaimError,
    claims_of,
    is_reserved_for,
    reserved_for,
    user_of,
)
from bayplan.core.plugins.dynamic_resources.counting import ALTERNATIVES_MAX
from bayplan.core.plugins.dynamic_resources.extended import (
    UNWRITTEN,
    backed_resources,
    existing_claim,
    may_be_backed,
    unwritten_claim,
)
from bayplan.core.plugins.dynamic_resources.findings import (
    CANNOT_ALLOCATE,
    FAILED,
    INVALID_POOLS,
    PlanFindings,
    findings_of,
)
from bayplan.core.plugins.dynamic_resources.hints import (
    after_allocated_claim_deleted,
    after_claim_change,
    after_claim_deleted,
    after_devices_exchanged,
    after_own_claims_made,
)
from bayplan.core.plugins.dynamic_resources.post_filter import (
    deallocate,
    deallocate_for_group,
    nothing_to_deallocate,
)
from bayplan.core.plugins.dynamic_resources.requests import Plan, plan_of
from bayplan.core.plugins.dynamic_resources.results import allocation_result
from bayplan.core.plugins.dynamic_resources.state import (
    CANNOT_FIT,
    CLAIM_BITS,
    NOT_AVAILABLE,
    STALE_CLAIM,
    DeviceState,
    NodeGroup,
)
from bayplan.core.plugins.requeue_rules import on
from bayplan.core.snapshot import NamespacedName, View
from bayplan.model.fingerprint import digest
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object, object_key
from bayplan.model.resource_claims import (
    CLAIM_FINALIZER,
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    with_status,
)
from bayplan.model.selectors import SelectorError

DYNAMIC_RESOURCES = "DynamicResources"
REASONS = {
    CANNOT_ALLOCATE: "cannot allocate all claims",
    INVALID_POOLS: "invalid resource pools were encountered",
    STALE_CLAIM: "cannot schedule extended resource claim",
    CANNOT_FIT: "cannot fit resource",
}
#: What PostFilter says when PreFilter was never reached: its state cannot be found.
STATE_NOT_FOUND = "not found"
NOT_AVAILABLE_REASON = "resourceclaim not available on the node"
#: What a node declares that can leave out what it usually does for a device.
OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


class DynamicResources:
    """Filters and scores nodes by the devices they can give."""

    name: ClassVar[str] = DYNAMIC_RESOURCES
    without_pre_filter: ClassVar[str] = STATE_NOT_FOUND
    scores_unprepared: ClassVar[bool] = True
    looks_up: ClassVar[frozenset[str]] = frozenset({"ResourceClaim", "DeviceClass", "ResourceSlice"})
    reads: ClassVar[Reads] = Reads.NODE | Reads.CLUSTER
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.CLUSTER
    sees_shape_only: ClassVar[bool] = True  # a pod that shares answers has no claims

    def __init__(self, args: DynamicResourcesArgs | None = None, *, gates: FeatureGates) -> None:
        self.binding_timeout_ns = (args or DynamicResourcesArgs()).binding_timeout_ns
        self._gates = gates

    @property
    def waits_for_devices(self) -> bool:
        """Whether devices may have to be made ready before a pod is bound."""
        return self._gates.binds_devices_by_conditions

    def pre_enqueue(self, pod: PodInfo) -> Status:
        if pod.claims is None or not pod.claims.entries:
            return SUCCESS
        try:
            for _ in claims_of(pod):
                pass
        except ClaimError as problem:
            return unresolvable(str(problem))
        return SUCCESS

    def concerns(self, pod: PodInfo) -> bool:
        shape = pod.shape
        if not shape.may_use_devices:
            return False
        return bool(shape.spec.resource_claims) or any(map(may_be_backed, shape.requests.asked))

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return self._prepare(pod, view, view.objects.claims_in_flight)

    def _prepare(self, pod: PodInfo, view: View, in_flight: Collection[NamespacedName]) -> PreFiltered:
        inventory = view.objects.devices
        if not pod.spec.resource_claims and not inventory.classes:
            return SKIP  # what it asks for can be no device, as there is no class that stands for it
        if not self.concerns(pod):
            return SKIP
        try:
            claims = list(claims_of(pod))
        except ClaimError as problem:
            return unresolvable(str(problem))
        resources = backed_resources(pod, inventory)
        if not claims and not resources:
            return SKIP
        rejected = _check_claims(claims, view, in_flight, takes_lists=self._gates.dra_prioritized_list)
        if rejected is not None:
            return rejected
        unavailable = _unavailable(claims, view, self.binding_timeout_ns if self.waits_for_devices else None)
        state = DeviceState(claims, unavailable=unavailable)
        if resources:
            stored = existing_claim(pod, view.objects.resource_claims.values())
            state.extended = stored if stored is not None else unwritten_claim(pod, inventory, ())
        wanted = [claim for claim in claims if claim.status.allocation is None]
        if not resources or state.is_stale:
            if wanted:
                state.groups.append(NodeGroup(None, plan_of(wanted)))
        else:
            _add_groups(state, pod, view, wanted, resources)
        return Ready(state)

    def filter(self, state: DeviceState | PodInfo, view: View, rows: Rows) -> IntArray:
        if isinstance(state, PodInfo):  # a profile that leaves out pre_filter
            raise CycleError(self.name, STATE_NOT_FOUND)
        codes: IntArray = np.zeros(view.nodes.count, dtype=np.int64)
        if state.is_stale:
            return codes[rows] + STALE_CLAIM
        asked: BoolArray = np.zeros(view.nodes.count, dtype=np.bool_)
        asked[rows] = True
        if state.misfits is not None:
            codes[state.misfits] = CANNOT_FIT
            asked &= ~state.misfits
        for group in state.groups:
            in_group = asked if group.mask is None else asked & group.mask
            group_rows = np.flatnonzero(in_group)
            found = self._look(group.plan, view, group_rows)
            codes[group_rows] = found.codes[group_rows]
        if state.unavailable is not None:
            here = np.flatnonzero((codes == 0) & (state.unavailable != 0))
            codes[here] = NOT_AVAILABLE | (state.unavailable[here] << CLAIM_BITS)
        return codes[rows]

    def _look(self, plan: Plan, view: View, rows: RowArray) -> PlanFindings:
        inventory = view.objects.devices
        found = findings_of(inventory, view.nodes, plan)
        found.look(inventory, view.nodes, plan, rows)
        failed = rows[found.codes[rows] == FAILED]
        if len(failed):
            raise CycleError(self.name, found.errors[failed.item(0)].message(plan))
        return found

    def explain_failure(self, state: DeviceState, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(NOT_AVAILABLE_REASON if code & NOT_AVAILABLE else REASONS[code])

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        state = failure.state_of(self.name)
        if state is None:
            return PostFiltered(Status(Code.ERROR, (STATE_NOT_FOUND,), self.name))
        release = view.objects.gates.release
        if not isinstance(state, DeviceState):
            return nothing_to_deallocate(release)
        return deallocate(pod, state, failure.codes_of(self.name), release)

    def pod_group_post_filter(self, failure: GroupFailure) -> PodGroupPostFiltered:
        if failure.is_constrained:
            return PodGroupPostFiltered(unschedulable())
        if not failure.reached(self.name):
            return PodGroupPostFiltered(Status(Code.ERROR, (STATE_NOT_FOUND,), self.name))
        return deallocate_for_group(failure, self.name)

    def tells_nodes_apart(self, pod: PodInfo) -> bool:
        return self._gates.dra_prioritized_list and bool(pod.spec.resource_claims)

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        scores: IntArray = np.zeros(len(rows), dtype=np.int64)
        prepared = self.pre_filter(state, view) if self.tells_nodes_apart(state) else SKIP
        if not isinstance(prepared, Ready):
            return scores
        device_state: DeviceState = prepared.state
        for group in device_state.groups:
            positions = np.arange(len(rows)) if group.mask is None else np.flatnonzero(group.mask[rows])
            found = self._look(group.plan, view, rows[positions])
            scores[positions] = found.scores[rows[positions]] + _worth_of_allocated(device_state.claims)
        return scores

    def normalize(self, state: object, scores: IntArray, rows: RowArray) -> IntArray:  # noqa: ARG002
        return default_normalize(scores, reverse=False)

    def reserve(self, pod: PodInfo, view: View, node_row: int) -> list[ResourceClaim]:
        """The pod's claims with their devices, kept for the pod or for its group.

        A claim that is being allocated is one that a member of the same group has got: for that of anybody else the
        pod would not have come this far.
        """
        if pod.claims is None:
            return []
        prepared = self._prepare(pod, view, ())
        if not isinstance(prepared, Ready):
            return []
        state: DeviceState = prepared.state
        changed = [
            reserved_for(claim, user_of(claim, pod, _group_of(pod, view)))
            for claim in state.claims
            if claim.status.allocation is not None and not is_reserved_for(claim, pod)
        ]
        for group in state.groups:
            if group.mask is None or group.mask[node_row]:
                changed += self._allocate(pod, view, node_row, group.plan)
        return changed

    def _allocate(self, pod: PodInfo, view: View, node_row: int, plan: Plan) -> list[ResourceClaim]:
        try:
            found = Search(view.objects.devices, view.nodes, node_row, plan).run()
        except AllocationError as error:
            raise CycleError(self.name, error.message(plan)) from error
        if found is None:
            raise CycleError(self.name, "claim allocation not found for node")
        node_name = view.nodes.names[node_row]
        return [
            _allocated(
                planned.claim,
                pod,
                user_of(planned.claim, pod, _group_of(pod, view)),
                ResourceClaimStatus(
                    allocation=allocation_result(
                        planned.claim, chosen, node_name, view.objects.device_classes, self._gates.release
                    )
                ),
            )
            for planned, chosen in zip(plan.claims, found.devices, strict=True)
            if planned.requests or planned.claim.metadata.name != UNWRITTEN
        ]

    def pre_bind_pre_flight(self, pod: PodInfo) -> bool:
        return pod.claims is not None

    def pre_bind(self, pod: PodInfo, view: View, placement: AssumedPod) -> Status | Pending:
        """Wait until the devices are ready; most are at once."""
        return wait_for_devices(pod, view, placement, self.binding_timeout_ns) if self.waits_for_devices else SUCCESS

    def unreserve(self, pod: PodInfo, view: View, placement: AssumedPod) -> list[ReleaseClaim]:  # noqa: ARG002
        """Take the pod off the users of its claims. Devices stay with a claim until they are needed elsewhere.

        A claim that is kept for the pod's group stays so: other members may need it.
        """
        own = {object_key(obj) for obj in placement.written if _is_for_pod_alone(obj)}
        keys = map("/".join, places_to_release(pod, placement))
        of_group = {object_key(obj) for obj in placement.written if _is_kept_for_group(obj, pod)}
        return [ReleaseClaim(pod.key, pod.uid, key, key in own) for key in keys if key not in of_group]

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        nodes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        changed = ActionType.ADD | ActionType.UPDATE
        deleted = on(EventResource.RESOURCE_CLAIM, ActionType.DELETE, after_allocated_claim_deleted)
        return (
            *((deleted,) if self._gates.release.deleted_claims_wake else ()),
            on(EventResource.NODE, nodes),
            on(EventResource.RESOURCE_CLAIM, changed, after_claim_change),
            on(EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, after_own_claims_made),
            on(EventResource.DEVICE_CLASS, changed),
            on(EventResource.RESOURCE_SLICE, changed),
        )

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        declared = on(EventResource.NODE, ActionType.UPDATE_NODE_DECLARED_FEATURE)
        return (
            *((declared,) if self._gates.release.skipped_operations_need_nodes else ()),
            on(EventResource.RESOURCE_CLAIM, ActionType.UPDATE, after_devices_exchanged),
            on(EventResource.RESOURCE_CLAIM, ActionType.DELETE, after_claim_deleted),
            # A pool may be whole, or a resource stand for another class, once something is gone.
            on(EventResource.DEVICE_CLASS, ActionType.DELETE),
            on(EventResource.RESOURCE_SLICE, ActionType.DELETE),
        )


def _is_for_pod_alone(claim: Object) -> bool:
    return isinstance(claim, ResourceClaim) and claim.is_for_extended_resources


def _is_kept_for_group(claim: Object, pod: PodInfo) -> bool:
    if not isinstance(claim, ResourceClaim) or any(user.uid == pod.uid for user in claim.status.reserved_for):
        return False
    return is_reserved_for(claim, pod)


def _check_claims(
    claims: list[ResourceClaim], view: View, in_flight: Collection[NamespacedName], *, takes_lists: bool
) -> Status | None:
    """Why no node will do. Raises CycleError for what cannot be understood."""
    classes = view.objects.device_classes
    for claim in claims:
        label = f"{claim.metadata.namespace}/{claim.metadata.name}"
        if (claim.metadata.namespace, claim.metadata.name) in in_flight:
            return unresolvable(f"resource claim {label} is in the process of being allocated")
        if claim.status.allocation is not None:
            continue
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                asked = [(request.name, request.exactly.device_class_name)]
            elif request.first_available and not takes_lists:
                disabled = "has subrequests, but the DRAPrioritizedList feature is disabled"
                return unresolvable(f"resource claim {label}, request {request.name}: {disabled}")
            elif request.first_available:
                asked = [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]
            else:
                return unresolvable(f"resource claim {label}, request {request.name}: unknown request type")
            for name, class_name in asked:
                if not class_name:
                    raise CycleError(DYNAMIC_RESOURCES, f"request {name}: unsupported request type")
                if class_name not in classes:
                    return unresolvable(f"request {name}: device class {class_name} does not exist")
    return None


def _unavailable(claims: list[ResourceClaim], view: View, binding_timeout_ns: int | None) -> IntArray | None:
    """(nodes,) a bit for each allocated claim that cannot be used on the node; None where there is none.

    Without a timeout no device is waited for, and none in vain.
    """
    bits: IntArray | None = None
    for position, claim in enumerate(claims):
        allocation = claim.status.allocation
        if allocation is None:
            continue
        in_vain = binding_timeout_ns is not None and is_in_vain(claim, view.objects.now, binding_timeout_ns)
        usable = view.nodes.alive & (not in_vain)
        if allocation.node_selector is not None:
            try:
                terms = [
                    compile_term(term, f"nodeSelectorTerms[{place}]")
                    for place, term in enumerate(allocation.node_selector.node_selector_terms)
                ]
            except SelectorError as problem:
                raise CycleError(DYNAMIC_RESOURCES, str(problem)) from problem
            usable &= match_some(view.nodes, terms)
        if view.objects.gates.release.skipped_operations_need_nodes and _skips_operations(allocation):
            usable &= view.nodes.declaring(OPTIONAL_NODE_OPERATIONS)
        if bits is None:
            bits = np.zeros(view.nodes.count, dtype=np.int64)
        bits[~usable] |= 1 << position
    return bits


def _skips_operations(allocation: AllocationResult) -> bool:
    """Whether a node would have to leave out what it usually does for a device."""
    return any(result.skip_node_operations for result in allocation.devices.results)


def _add_groups(
    state: DeviceState, pod: PodInfo, view: View, wanted: list[ResourceClaim], resources: tuple[str, ...]
) -> None:
    """Nodes by which of the resources they do not offer themselves."""
    nodes, inventory = view.nodes, view.objects.devices
    columns = [nodes.resources.find(name) for name in resources]
    lacking = nodes.allocatable[:, columns] == 0  # (nodes, resources)
    kinds, kind_of = np.unique(lacking, axis=0, return_inverse=True)
    for kind, lacks in enumerate(kinds.tolist()):
        from_devices = [name for name, lacked in zip(resources, lacks, strict=True) if lacked]
        claims = list(wanted)
        if from_devices:
            claims.append(unwritten_claim(pod, inventory, from_devices))
        if claims:
            state.groups.append(NodeGroup(kind_of.reshape(-1) == kind, plan_of(claims)))
    unbacked = [
        name
        for name, amount in pod.shape.requests.asked.items()
        if amount and may_be_backed(name) and name not in resources
    ]
    if unbacked:
        # A node that names the resource passes, even with nothing of it: NodeResourcesFit judges amounts.
        state.misfits = ~np.logical_and.reduce([nodes.naming(name) for name in unbacked])


def _worth_of_allocated(claims: list[ResourceClaim]) -> int:
    """What the alternatives are worth that claims with devices were served with."""
    worth = 0
    for claim in claims:
        if claim.status.allocation is None:
            continue
        taken = {result.request for result in claim.status.allocation.devices.results}
        for request in claim.spec.devices.requests:
            if request.exactly is None:
                worth += sum(
                    ALTERNATIVES_MAX - place
                    for place, sub in enumerate(request.first_available)
                    if f"{request.name}/{sub.name}" in taken
                )
    return worth


def _allocated(
    claim: ResourceClaim, pod: PodInfo, user: ResourceClaimConsumerReference, status: ResourceClaimStatus
) -> ResourceClaim:
    status.devices = claim.status.devices
    status.reserved_for = claim.status.reserved_for
    allocated = with_status(claim, status)
    meta = allocated.metadata = copy(claim.metadata)
    if CLAIM_FINALIZER not in meta.finalizers:
        meta.finalizers = [*meta.finalizers, CLAIM_FINALIZER]
    if meta.name == UNWRITTEN:
        meta.name = meta.generate_name + digest((pod.key, pod.uid)).hex()[:5]
        meta.generate_name = ""
    return reserved_for(allocated, user)


def _group_of(pod: PodInfo, view: View) -> PodGroup | None:
    namespace, _, name = pod.group.partition("/")
    return view.objects.pod_groups.get((namespace, name)) if name else None
