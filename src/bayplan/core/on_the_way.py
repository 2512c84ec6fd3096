"""A pod on the way from a decision to its node, and what is kept for it in memory.

Plain data, with the questions that follow from it alone. `binding` moves pods along; `reservations` keeps for them what
they were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bayplan.core.actions import Bind, ReleaseClaim
from bayplan.core.framework.extender import Extender
from bayplan.core.framework.profile import Profile
from bayplan.core.plugins.dynamic_resources import DYNAMIC_RESOURCES
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.snapshot import NamespacedName
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import EXTENDED_RESOURCE_ANNOTATION, ResourceClaim
from bayplan.model.structs import Struct, field, replace


class Reserved(NamedTuple):
    """An object that is not known any more as it is stored."""

    before: Object | None  # as the watch shows it; None for one that is to be made
    assumed: Object


class BindingUnderWay(Struct):
    """A binding that was asked for, as far as a caller knows who sees only actions and answers."""

    bind: Bind
    is_asked: bool = True  # and not answered, or answered for good
    is_bound: bool = False  # as the answer says
    is_uncertain: bool = False  # an answer was lost


class DeviceWait(Struct, eq=False):
    """A pod that waits for its devices to be made ready."""

    places: tuple[NamespacedName, ...]  # of its resource claims
    timeout_ns: int
    until: int
    look_at: int  # when it is looked next


class OnTheWay(Struct, eq=False):
    """A pod that has a node but is not bound yet."""

    queued: QueuedPod
    profile: Profile
    node: str
    assumed: Pod  # as it was when it was given the node, which the cache goes by until it is seen there
    reserved: dict[tuple[type, str], Reserved] = field(default_factory=dict)  # by kind and key
    volumes: tuple[Object, ...] = ()  # to be written before the pod can be bound
    written: tuple[Object, ...] = ()  # those that were
    claims: tuple[tuple[str, str], ...] = ()  # whose binding is waited for
    waits: dict[str, int] = field(default_factory=dict)  # plugin at Permit -> deadline
    deadline: int | None = None  # of the volumes
    devices: DeviceWait | None = None
    uncertain: bool = False  # an answer to Bind was lost
    ask_at: int = 0  # when Bind is asked for again that was refused since
    binder: Extender | None = None  # that was asked to bind it

    @property
    def pod(self) -> Pod:
        """As it would stand on its node."""
        pod = self.queued.pod
        return replace(pod, spec=replace(pod.spec, node_name=self.node))

    @property
    def uid(self) -> str:
        return self.queued.info.uid

    @property
    def due_at(self) -> int | None:
        """When it has waited too long, or it is time to look."""
        if self.devices is not None:
            return self.devices.look_at
        return min(self.waits.values()) if self.waits else self.deadline

    @property
    def writer(self) -> str:
        """The plugin for which objects are written before the pod is bound."""
        only_devices = all(isinstance(obj, ResourceClaim) for obj in (*self.volumes, *self.written))
        return DYNAMIC_RESOURCES if only_devices else "VolumeBinding"

    def releases(self) -> Iterator[ReleaseClaim]:
        """What takes back what was written for the pod; devices stay the claim's until somebody needs it elsewhere."""
        for claim in resource_claims(self.written):
            is_own = claim.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
            yield ReleaseClaim(self.queued.key, self.uid, object_key(claim), is_own)


def resource_claims(objects: Iterable[Object]) -> Iterator[ResourceClaim]:
    return (obj for obj in objects if isinstance(obj, ResourceClaim))
