"""Stories in which an extender had its say: it is asked through the client, and answers as it was recorded.

Each request must be the recorded one, in its order; documents are compared by name, as the story has them (their fields
are compared in `tests/unit/client/test_extenders.py`). A pod that the extender says it has bound is bound if the
recorded extender did so.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
from tests.stories.player import SECOND, Play
from tests.stories.recording import Exchange, Line, Story

from bayplan.client.extender_documents import encoded
from bayplan.client.extenders import HttpExtender, bind_by_extender
from bayplan.client.posting import PostAnswer, Poster, PostError
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Action, Bind
from bayplan.core.events import BindAnswered
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.performing.preemption import PreemptionWrites
from bayplan.store import Store
from bayplan.worlds.faults import Spoiled
from bayplan.worlds.simulated import SimulatedWorld

TIMEOUT_MS = 5_000  # the default httpTimeout
FILTER: Line = {"filterVerb": "filter", "nodeCacheCapable": True}
ALL_VERBS: Line = {
    **FILTER,
    "prioritizeVerb": "prioritize",
    "weight": 1,
    "preemptVerb": "preempt",
    "bindVerb": "bind",
}
MANAGED: Line = {"managedResources": [{"name": "example.com/foo", "ignoredByScheduler": True}], "ignorable": True}
#: As the stories' processes were configured.
EXTENDERS: dict[str, Line] = {
    "l_nodes": {**ALL_VERBS, "nodeCacheCapable": False},
    "l_names": ALL_VERBS,
    "l_err": ALL_VERBS,
    "l_managed": {**ALL_VERBS, **MANAGED},
    "l_slow": FILTER,
    "l_refused": FILTER,
    "x_flush": FILTER,
    "x_scores": {**FILTER, "nodeCacheCapable": False, "prioritizeVerb": "prioritize", "weight": 1},
}


def configuration_of(story: Story) -> Configuration:
    """That of the story's process."""
    file = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http://EXTENDER/ext/", **EXTENDERS[story.name]}],
    }
    configuration = load_configuration(file, release=DEFAULT_RELEASE)
    return replace(configuration, parked_max_ns=5 * SECOND) if story.name == "x_flush" else configuration


class RecordedPoster(Poster):
    """Answers as the story has it, if it is asked as the story has it."""

    def __init__(self, story: Story, store: Store) -> None:
        self._story, self._store = story, store
        self.left = list(story.exchanges)

    def post(self, url: str, body: bytes) -> PostAnswer:
        if not self._story.exchanges:
            raise PostError(f'Post "{url}": dial tcp EXTENDER: connect: connection refused')
        asked = Exchange(url.removeprefix("http://EXTENDER/ext/"), _shortened(msgspec.json.decode(body)))
        assert self.left, f"more than was recorded: {asked}"
        recorded = self.left.pop(0)
        assert (asked.verb, asked.request) == (recorded.verb, self._with_our_uids(recorded.request))
        if recorded.took_ms > TIMEOUT_MS:
            return self.hang(url, body)
        return PostAnswer(recorded.status, msgspec.json.encode(_at_length(self._with_our_uids(recorded.answer))))

    def hang(self, url: str, body: bytes) -> PostAnswer:
        """Nobody answers the connection; what is said of it is the client's own."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = "http://{}:{}".format(*silent.getsockname())
            try:
                return Poster(address, timeout_s=0.01).post(url.replace("http://EXTENDER", address), body)
            except PostError as error:
                raise PostError(str(error).replace(address, "http://EXTENDER")) from None

    def _with_our_uids(self, recorded: Any) -> Any:
        text = msgspec.json.encode(recorded).decode()
        for uid, pod in self._story.pods.items():
            if uid in text:
                text = text.replace(uid, self._store.get(Pod, *pod.split("/")).metadata.uid)
        return msgspec.json.decode(text)


class BindingWorld(SimulatedWorld):
    """Bindings that are an extender's go to it."""

    play: Extended

    def _arrive(
        self, action: Action, spoiled: Spoiled | None, answered: int, preemption: PreemptionWrites | None, now: int
    ) -> None:
        if isinstance(action, Bind) and action.extender:
            self._plan(answered, partial(self._observe, self.play.bind(action, now)))
        else:
            super()._arrive(action, spoiled, answered, preemption, now)


class Extended(Play):
    """A story with an extender."""

    world_class = BindingWorld

    def new_scheduler(self, started_at: int) -> Scheduler:
        configuration = configuration_of(self.story)
        self.poster = RecordedPoster(self.story, self.store)
        self.extenders = [HttpExtender(one, encoded(self._find), self.poster) for one in configuration.extenders]
        return build_scheduler(configuration, started_at=started_at, extenders=self.extenders)

    def _find(self, kind: str, namespace: str, name: str) -> Object | None:
        return self.store.find(kind, namespace, name)

    def new_world(self, started_at: int) -> SimulatedWorld:
        world = super().new_world(started_at)
        assert isinstance(world, BindingWorld)
        world.play = self
        return world

    def bind(self, action: Bind, now: int) -> BindAnswered:
        answer = bind_by_extender(self.extenders, action)
        namespace, name = action.pod.split("/")
        if not answer.error and action.pod in self.story.bound:
            self.store.bind(namespace, name, action.node, action.uid, now)
        return answer

    def perform(self, action: Line, now: int) -> None:
        if not action["do"].startswith("extender now accepts"):  # which its answers show
            super().perform(action, now)

    def pass_time(self) -> None:
        super().pass_time()
        assert not self.poster.left, "less than was recorded"


def _shortened(value: Any) -> Any:
    """Objects by their names, as the story has them."""
    match value:
        case {"metadata": {"name": name}}:
            return {"…": name}
        case dict():
            return {key: _shortened(one) for key, one in value.items()}
        case list():
            return [_shortened(one) for one in value]
    return value


def _at_length(value: Any) -> Any:
    """Objects that have at least a name."""
    match value:
        case {"…": name}:
            return {"metadata": {"name": name}}
        case dict():
            return {key: _at_length(one) for key, one in value.items()}
        case list():
            return [_at_length(one) for one in value]
    return value
