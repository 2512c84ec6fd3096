"""A pod on the way from a decision to its node, and what is kept for it in memory.

Plain data, with the questions that follow from it alone. `binding` moves pods along; `reservations` keeps for them what
they were given.
"""

from __future__ import annotations

from typing import NamedTuple

from bayplan.core.actions import Bind
from bayplan.core.framework.contract import Pending, PreBindPlugin
from bayplan.core.framework.extender import Extender
from bayplan.core.framework.profile import Profile
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
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


class OnTheWay(Struct, eq=False):
    """A pod that has a node but is not bound yet."""

    queued: QueuedPod
    profile: Profile
    node: str
    assumed: Pod  # as it was when it was given the node, which the cache goes by until it is seen there
    reserved: dict[tuple[type, str], Reserved] = field(default_factory=dict)  # by kind and key
    reserved_at: int = 0
    to_write: tuple[Object, ...] = ()  # before the pod can be bound
    written: tuple[Object, ...] = ()  # those that were
    writer: str = ""  # the first plugin for which something is written
    write_until: int | None = None  # None: nothing is left to be written
    waits: dict[str, int] = field(default_factory=dict)  # plugin at Permit -> deadline
    plugins_left: list[PreBindPlugin] = field(default_factory=list)  # at PreBind, in order
    pending: Pending | None = None  # what the first of them waits for
    asked: dict[str, tuple[int, int]] = field(default_factory=dict)  # plugin at PreBind -> since when, how often
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
        if self.pending is not None:
            look_at, until = self.pending.look_at, self.pending.until
            return until if look_at is None else min(look_at, until)
        return min(self.waits.values()) if self.waits else self.write_until

    @property
    def pre_bind_plugin(self) -> str:
        """The PreBind plugin that the pod is held up by, or for which something is being written."""
        return self.writer if self.pending is None else self.plugins_left[0].name
