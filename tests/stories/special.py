"""Stories in which more happened than objects being written."""

from __future__ import annotations

from msgspec.structs import replace as replaced
from tests.stories.player import SECOND, Play
from tests.stories.recording import Line

from bayplan.core.actions import Action, Bind
from bayplan.model.pod import Pod
from bayplan.performing.preemption import PreemptionWrites
from bayplan.worlds.simulated import SimulatedWorld

#: When the second process of the story `r_restart` had become leader, in milliseconds.
LEADER_AT_MS = 1559.0


class SlowBinding(SimulatedWorld):
    """The binding of one pod is held up for a second."""

    def _send(self, action: Action, arrives: int, preemption: PreemptionWrites | None = None) -> None:
        held_up = isinstance(action, Bind) and action.pod.endswith("/byhand")
        super()._send(action, arrives + SECOND if held_up else arrives, preemption)


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
