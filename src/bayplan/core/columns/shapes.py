"""Pod shapes: what the scheduler needs to know of a pod, shared by all pods that are alike.

Two pods have the same shape when namespace, labels, controller and everything in the spec but node, priority, priority
class, names of resource claims and volumes that no scheduler looks at are equal. Pods of one shape get the same
verdicts and scores at the same instant (but for what they claim by name), so selectors are compiled, requests computed
and terms interned once for each shape and not for each pod. Of a pod that has its node less counts: only what it takes,
and what it asks of pods to come.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from bayplan.core.columns.devices import Inventory
from bayplan.core.columns.resources import BASIC_NAMES, PodRequests, pod_requests
from bayplan.core.columns.terms import AffinityTerms, compile_affinity
from bayplan.core.columns.vocabulary import Vocabulary
from bayplan.core.feature_gates import DEFAULT_GATES, FeatureGates
from bayplan.model.fingerprint import fingerprint
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus, PodSpec
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import Struct, replace
from bayplan.model.volumes import has_source

SPECS_KNOWN_MAX = 1_024
_BASIC_NAMES = frozenset(BASIC_NAMES)


class Identity(NamedTuple):
    """What label selectors can see of a pod."""

    namespace: str
    labels: tuple[tuple[str, str], ...]


class Port(NamedTuple):
    """A host port in use or wanted."""

    protocol: str
    port: int
    host_ip: str


@dataclass(slots=True, eq=False)
class PodShape:
    """One distinct kind of pod."""

    id: int
    identity_id: int
    #: Equal for pods that want the same of a node: selectors, tolerations, ports, images, whatever they request.
    constraints_id: int
    #: Equal for those of them that request the same as well.
    demands_id: int
    namespace: str
    labels: dict[str, str]
    spec: PodSpec  # node, priority and priority class blanked
    controller: OwnerReference | None
    requests: PodRequests  # without anything from a status
    ports: tuple[Port, ...]
    terms: AffinityTerms
    has_pod_affinity: bool  # the affinity structs exist, even if they hold no term
    claim_names: tuple[str, ...]
    may_use_devices: bool  # has resource claims, or asks for resources that may come as devices
    carried_ids: tuple[int, ...] = field(default=())  # set by the cache: ids of the terms in `CarriedTerms`


class PodClaims(Struct, eq=False):
    """Where a pod's resource claims are looked up: as they are stored at any time, not as they were."""

    entries: list[PodResourceClaim]  # of the pod's spec
    statuses: list[PodResourceClaimStatus]  # claims that were made for the pod
    stored: Mapping[tuple[str, str], ResourceClaim]  # all claims of the cluster by namespace and name
    inventory: Inventory


class PodInfo(Struct, eq=False, gc=False):
    """One pod on its way through the scheduler."""

    shape: PodShape
    key: str  # namespace/name
    name: str
    uid: str
    priority: int
    preemption_policy: str
    scheduler_name: str
    node_name: str
    nominated_node_name: str
    row: int = -1  # in the pod table, when it has one there
    claims: PodClaims | None = None  # of pods that may need devices

    @property
    def namespace(self) -> str:
        return self.shape.namespace

    @property
    def spec(self) -> PodSpec:
        return self.shape.spec


class Shapes:
    """Interns pods by what they look like."""

    def __init__(self, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._gates = gates
        self.identities: Vocabulary[Identity] = Vocabulary()
        self._constraints: Vocabulary[bytes] = Vocabulary()
        self._demands: Vocabulary[bytes] = Vocabulary()
        self.shapes: list[PodShape] = []
        self._by_content: dict[bytes, PodShape] = {}
        self._by_spec: dict[tuple[object, ...], tuple[PodSpec, PodShape]] = {}
        """By the identity of the spec, which is kept, so that no other can take its place in memory."""

    def of(self, pod: Pod) -> PodShape:
        """The shape of a pod that wants a node."""
        meta, spec = pod.metadata, pod.spec
        controller = controller_of(meta) if meta.owner_references else None
        # New pods with equal specs share the very struct, and structs that were stored stay as they are.
        key = id(spec), meta.namespace, _owner(controller), tuple(meta.labels.items())
        try:
            return self._by_spec[key][1]
        except KeyError:
            if len(self._by_spec) >= SPECS_KNOWN_MAX:
                self._by_spec.clear()
            shape = self._of(meta, _without_placement(spec), controller)
            self._by_spec[key] = (spec, shape)
            return shape

    def of_settled(self, pod: Pod) -> PodShape:
        """The shape of a pod that has its node, good for no decision on the pod itself.

        Pods of a DaemonSet each name their own node: were that to count, every one of them would be unlike all others.
        """
        bare = _without_placement(pod.spec)
        bare.scheduler_name = ""
        bare.node_selector = {}
        bare.tolerations = []
        bare.topology_spread_constraints = []
        if bare.affinity is not None and bare.affinity.node_affinity is not None:
            bare.affinity = copy(bare.affinity)
            bare.affinity.node_affinity = None
        return self._of(pod.metadata, bare, None)

    def _of(self, meta: ObjectMeta, bare: PodSpec, controller: OwnerReference | None) -> PodShape:
        content = fingerprint((meta.namespace, meta.labels, _owner(controller), bare))
        shape = self._by_content.get(content)
        if shape is None:
            identity_id = self.identities.id(Identity(meta.namespace, tuple(sorted(meta.labels.items()))))
            requests = pod_requests(Pod(metadata=meta, spec=bare), self._gates)
            constraints_id = self._constraints.id(fingerprint(_constraints_of(bare)))
            demands_id = self._demands.id(fingerprint((constraints_id, requests)))
            ids = (len(self.shapes), identity_id, constraints_id, demands_id)
            shape = _make_shape(ids, meta, bare, controller, requests)
            self._by_content[content] = shape
            self.shapes.append(shape)
        return shape


def _owner(controller: OwnerReference | None) -> tuple[str, str, str] | None:
    return (controller.api_version, controller.kind, controller.name) if controller else None


def pod_info(pod: Pod, shape: PodShape) -> PodInfo:
    meta, spec = pod.metadata, pod.spec
    # Without their names, which take time: one is made of every pod that comes.
    return PodInfo(
        shape,
        f"{meta.namespace}/{meta.name}",
        meta.name,
        meta.uid,
        spec.priority or 0,
        spec.preemption_policy or "PreemptLowerPriority",
        spec.scheduler_name,
        spec.node_name,
        pod.status.nominated_node_name,
    )


def _without_placement(spec: PodSpec) -> PodSpec:
    bare = replace(spec, node_name="", priority=None, priority_class_name="", preemption_policy=None)
    # Every pod has a volume for its service account's token, with a random name.
    if spec.volumes:
        bare.volumes = [volume for volume in spec.volumes if has_source(volume)]
    # Each pod has claims of its own, of which no plugin but one looks at more than that there are some.
    if spec.resource_claims:
        bare.resource_claims = [PodResourceClaim(name=claim.name) for claim in spec.resource_claims]
    return bare


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The owner that is marked as the controller."""
    return next((owner for owner in meta.owner_references if owner.controller), None)


def _constraints_of(spec: PodSpec) -> tuple[object, ...]:
    """What the pod wants of a node itself: nothing about other pods, its claims, or how much it takes."""
    return (
        spec.node_selector,
        spec.affinity.node_affinity if spec.affinity is not None else None,
        spec.tolerations,
        [(it.image, it.ports, it.restart_policy, it.restart_policy_rules) for it in spec.containers],
        [(it.image, it.ports, it.restart_policy, it.restart_policy_rules) for it in spec.init_containers],
        [volume.image for volume in spec.volumes if volume.image is not None],
        spec.host_network,
        spec.host_users,
    )


def _make_shape(
    ids: tuple[int, int, int, int],
    meta: ObjectMeta,
    bare: PodSpec,
    controller: OwnerReference | None,
    requests: PodRequests,
) -> PodShape:
    affinity = bare.affinity
    return PodShape(
        *ids,
        namespace=meta.namespace,
        labels=meta.labels,
        spec=bare,
        controller=controller,
        requests=requests,
        ports=host_ports(bare),
        terms=compile_affinity(bare.affinity, meta.namespace),
        has_pod_affinity=affinity is not None
        and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None),
        claim_names=tuple(
            [
                volume.persistent_volume_claim.claim_name
                for volume in bare.volumes
                if volume.persistent_volume_claim is not None
            ]
        ),
        may_use_devices=bool(bare.resource_claims) or not requests.asked.keys() <= _BASIC_NAMES,
    )


def host_ports(spec: PodSpec) -> tuple[Port, ...]:
    """Host ports of sidecars, then containers. Ordinary init containers are over before they could clash."""
    sidecars = [container for container in spec.init_containers if container.restart_policy == "Always"]
    return tuple(
        [
            Port(port.protocol or "TCP", port.host_port, port.host_ip or "0.0.0.0")
            for container in (*sidecars, *spec.containers)
            for port in container.ports
            if port.host_port
        ]
    )
