"""Pod shapes: what the scheduler needs to know of a pod, shared by all pods that are alike.

Two pods have the same shape when namespace, labels, controller and everything in the spec but node, group, priority,
priority class, names of resource claims and volumes that no scheduler looks at are equal. Pods of one shape get equal
verdicts and scores at the same instant (but for what they claim by name), so selectors are compiled, requests computed
and terms interned once for each shape and not for each pod. Of a pod that has its node less counts: only what it takes,
and what it asks of pods to come.

A shape lives as long as anything refers to it: a pod on a node, a pod that waits. Its id is given to another shape only
after the cache has taken note (`departed`), between two decisions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import ref

from bayplan.core.columns.devices import Inventory
from bayplan.core.columns.resources import BASIC_NAMES, PodRequests, ResourceVocabulary, requests_of_spec
from bayplan.core.columns.terms import AffinityTerms, compile_affinity
from bayplan.core.columns.vocabulary import Serials, Vocabulary
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.fingerprint import fingerprint
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus, PodSpec, group_key
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import Struct, replace
from bayplan.model.volumes import has_source

SPECS_KNOWN_MAX = 1_024
_BASIC_NAMES = frozenset(BASIC_NAMES)


class Identity(NamedTuple):
    """What label selectors can see of a pod."""

    namespace: str
    labels: tuple[tuple[str, str], ...]


_NOBODY = Identity("", ())


class Port(NamedTuple):
    """A host port in use or wanted."""

    protocol: str
    port: int
    host_ip: str


@dataclass(slots=True, eq=False, weakref_slot=True)
class PodShape:
    """One distinct kind of pod."""

    id: int  # small, for arrays; another shape has it later
    serial: int  # no other shape ever has it
    identity_id: int
    #: Equal for pods that want the same of a node: selectors, tolerations, ports, images, whatever they request.
    constraints_serial: int
    #: Equal for pods that request the same, whatever else they want.
    requests_serial: int
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
    #: Asks for cpu, memory or ephemeral storage alone, more than nothing of each, and every reader sees just that.
    asks_plainly: bool
    carried_ids: tuple[int, ...] = field(default=())  # set by the cache: ids of the terms in `CarriedTerms`
    #: Worked out for pods of this shape by plugins.
    remembered: dict[Hashable, Any] = field(default_factory=dict)


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
    group: str = ""  # namespace/name of the PodGroup it belongs to

    @property
    def namespace(self) -> str:
        return self.shape.namespace

    @property
    def spec(self) -> PodSpec:
        return self.shape.spec


class _Used(NamedTuple):
    """What a shape uses of the vocabularies, itself included."""

    shape: int
    serial: int
    identity: int
    constraints: int
    requests: int
    resources: tuple[int, ...]


class _ShapeRef(ref[PodShape]):
    """Finds a shape while it is in use, and says what it used when it no longer is."""

    __slots__ = ("content", "used")
    content: bytes
    used: _Used


class Shapes:
    """Interns pods by what they look like."""

    def __init__(self, resources: ResourceVocabulary, gates: FeatureGates) -> None:
        self._gates = gates
        self._resources = resources
        self.identities: Vocabulary[Identity] = Vocabulary(_NOBODY)
        self.constraints: Serials[bytes] = Serials()
        self.requests: Serials[bytes] = Serials()
        self.departures = 0  # shapes that are gone
        self._refs: list[_ShapeRef | None] = []  # by id
        self._serials: set[int] = set()  # of shapes that are there
        self._last_serial = 0
        self._free_ids: list[int] = []
        self._by_content: dict[bytes, _ShapeRef] = {}
        self._specs: dict[int, PodSpec] = {}  # by identity; kept, so that no other can take their place in memory
        self._by_spec: dict[tuple[object, ...], _ShapeRef] = {}  # by the identity of a spec that was seen before
        self.departed: list[ref[PodShape]] = []  # shapes that are gone, whose ids are not free yet

    def __len__(self) -> int:
        """The length of an array with an entry for each id, free ones included."""
        return len(self._refs)

    def __getitem__(self, shape_id: int) -> PodShape:
        """The shape of a pod that is in the table."""
        found = self._refs[shape_id]
        shape = found() if found is not None else None
        assert shape is not None, f"no pod has shape {shape_id}"
        return shape

    def __iter__(self) -> Iterator[PodShape]:
        """All that are in use."""
        for each in self._refs:
            shape = each() if each is not None else None
            if shape is not None:
                yield shape

    def has(self, serial: Hashable) -> bool:
        """Whether the shape is still there."""
        return serial in self._serials

    def of(self, pod: Pod) -> PodShape:
        """The shape of a pod that wants a node."""
        meta, spec = pod.metadata, pod.spec
        controller = controller_of(meta) if meta.owner_references else None
        # New pods with equal specs often share the very struct, and structs that were stored stay as they are.
        if id(spec) not in self._specs:
            if len(self._specs) >= SPECS_KNOWN_MAX:
                self._specs.clear()
                self._by_spec.clear()
            self._specs[id(spec)] = spec
            return self._of(meta, _without_placement(spec), controller)
        key = id(spec), meta.namespace, _owner(controller), tuple(meta.labels.items())
        found = self._by_spec.get(key)
        shape = found() if found is not None else None
        if shape is None:
            shape = self._of(meta, _without_placement(spec), controller)
            found = self._refs[shape.id]
            assert found is not None
            if len(self._by_spec) >= SPECS_KNOWN_MAX:
                self._by_spec.clear()
            self._by_spec[key] = found
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
        known = self._by_content.get(content)
        shape = known() if known is not None else None
        if shape is None:
            shape = self._make(content, meta, bare, controller)
        return shape

    def _make(self, content: bytes, meta: ObjectMeta, bare: PodSpec, controller: OwnerReference | None) -> PodShape:
        requests = requests_of_spec(bare, self._gates)
        names = requests.asked if requests.used is requests.asked else {**requests.asked, **requests.used}
        scalars = () if names.keys() <= _BASIC_NAMES else [name for name in names if name not in _BASIC_NAMES]
        self._last_serial += 1
        used = _Used(
            self._new_id(),
            self._last_serial,
            self.identities.take(Identity(meta.namespace, tuple(sorted(meta.labels.items())))),
            self.constraints.take(fingerprint(_constraints_of(bare))),
            self.requests.take(fingerprint(requests.distinct())),
            tuple([self._resources.take(name) for name in scalars]),
        )
        shape = _make_shape(used, meta, bare, controller, requests)
        found = _ShapeRef(shape, self.departed.append)
        found.content, found.used = content, used
        self._by_content[content] = self._refs[used.shape] = found
        self._serials.add(used.serial)
        return shape

    def _new_id(self) -> int:
        if self._free_ids:
            return self._free_ids.pop()
        self._refs.append(None)
        return len(self._refs) - 1

    def free_departed(self) -> Iterator[tuple[int, int | None]]:
        """Ids of shapes that are gone, free from now on, and that of an identity that is gone with the shape."""
        while self.departed:
            gone = self.departed.pop()
            assert isinstance(gone, _ShapeRef)
            used = gone.used
            if self._by_content.get(gone.content) is gone:  # else the shape has come back under another id
                del self._by_content[gone.content]
            self._refs[used.shape] = None
            self._serials.remove(used.serial)
            self._free_ids.append(used.shape)
            self.constraints.drop(used.constraints)
            self.requests.drop(used.requests)
            for resource in used.resources:
                self._resources.drop(resource)
            self.departures += 1
            yield used.shape, used.identity if self.identities.drop(used.identity) else None


def _owner(controller: OwnerReference | None) -> tuple[str, str, str] | None:
    return (controller.api_version, controller.kind, controller.name) if controller else None


def pod_info(pod: Pod, shape: PodShape) -> PodInfo:
    meta, spec = pod.metadata, pod.spec
    # Without their names, which take time: one is made of every pod that comes.
    info = PodInfo(
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
    if spec.scheduling_group is not None:
        info.group = group_key(pod)
    return info


def _without_placement(spec: PodSpec) -> PodSpec:
    bare = replace(spec, node_name="", priority=None, priority_class_name="", preemption_policy=None)
    bare.scheduling_group = None  # no filter and no score looks at it
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
    used: _Used,
    meta: ObjectMeta,
    bare: PodSpec,
    controller: OwnerReference | None,
    requests: PodRequests,
) -> PodShape:
    affinity, is_basic = bare.affinity, requests.asked.keys() <= _BASIC_NAMES
    return PodShape(
        id=used.shape,
        serial=used.serial,
        identity_id=used.identity,
        constraints_serial=used.constraints,
        requests_serial=used.requests,
        namespace=meta.namespace,
        labels=meta.labels,
        spec=bare,
        controller=controller,
        requests=requests,
        ports=host_ports(bare),
        terms=compile_affinity(bare.affinity, meta.namespace),
        has_pod_affinity=affinity is not None
        and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None),
        claim_names=_claim_names(bare) if bare.volumes else (),
        may_use_devices=bool(bare.resource_claims) or not is_basic,
        asks_plainly=is_basic and requests.used is requests.asked is requests.scored and all(requests.asked.values()),
    )


def _claim_names(spec: PodSpec) -> tuple[str, ...]:
    claims = [volume.persistent_volume_claim for volume in spec.volumes]
    return tuple([claim.claim_name for claim in claims if claim is not None])


def host_ports(spec: PodSpec) -> tuple[Port, ...]:
    """Host ports of sidecars, then containers. Ordinary init containers are over before they could clash."""
    containers = spec.containers
    if spec.init_containers:
        containers = [*(each for each in spec.init_containers if each.restart_policy == "Always"), *containers]
    return tuple(
        [
            Port(port.protocol or "TCP", port.host_port, port.host_ip or "0.0.0.0")
            for container in containers
            for port in container.ports
            if port.host_port
        ]
    )
