"""Stories in which more happened than objects being written."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from msgspec.structs import replace as replaced
from tests.stories.player import SECOND, Play
from tests.stories.recording import Line, Story

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.actions import Action, Bind
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.per_node import NodeView, PerNodePlugin
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.scheduler import Scheduler
from bayplan.model.pod import Pod
from bayplan.worlds.simulated import SimulatedWorld

#: When the second process of the story `r_restart` had become leader, in milliseconds.
LEADER_AT_MS = 1559.0


class SlowBinding(SimulatedWorld):
    """The binding of one pod is held up for a second."""

    def _send(self, action: Action, arrives: int) -> None:
        held_up = isinstance(action, Bind) and action.pod.endswith("/byhand")
        super()._send(action, arrives + SECOND if held_up else arrives)


class Foreign(Play):
    """Somebody else nominates one pod and binds another."""

    world_class = SlowBinding

    def perform(self, action: Line, now: int) -> None:
        space = self.story.namespace
        if action["do"] == "set nominatedNodeName n1 from outside":
            self.store.modify_status(Pod, space, "ext", lambda pod: _nominated(pod, "n1"), now)
        elif action["do"].startswith("bind byhand to n1"):
            self.store.bind(space, "byhand", "n1", "", now)
        else:
            super().perform(action, now)


def _nominated(pod: Pod, node: str) -> Pod:
    return replaced(pod, status=replaced(pod.status, nominated_node_name=node))


class Restart(Play):
    """The process is replaced by a new one that knows only what is stored."""

    def perform(self, action: Line, now: int) -> None:
        if not action["do"].startswith("SIGTERM"):
            super().perform(action, now)

    def pass_time(self) -> None:
        stopped_at_ms = next(at for at, action in self.story.actions if action["do"].startswith("SIGTERM"))
        self.world.run_until(self.at(stopped_at_ms))
        leads_at = self.at(LEADER_AT_MS)
        self.scheduler = self.new_scheduler(leads_at)
        self.world = self.new_world(leads_at)
        super().pass_time()


class NotNow(PerNodePlugin):
    """Refuses every node until it is told otherwise, which no event shows. It stands for the story's extender."""

    name: ClassVar[str] = "NotNow"

    def __init__(self) -> None:
        self.accepts = False

    def fits(self, pod: PodInfo, node: NodeView) -> str:
        return "" if self.accepts else "not now"


class Flush(Play):
    """A plugin changes its mind without any event; pods are given another chance after five seconds, not minutes."""

    def __init__(self, story: Story) -> None:
        self.plugin = NotNow()
        super().__init__(story)

    def new_scheduler(self, started_at: int) -> Scheduler:
        profiles = {
            name: replace(profile, filter=(*profile.filter, self.plugin))
            for name, profile in build_profiles(load_configuration(None)).items()
        }
        return Scheduler(profiles, PrioritySort().sort_key, started_at=started_at, parked_max_ns=5 * SECOND)

    def perform(self, action: Line, now: int) -> None:
        if action["do"].startswith("extender now accepts"):
            self.plugin.accepts = True
        else:
            super().perform(action, now)
