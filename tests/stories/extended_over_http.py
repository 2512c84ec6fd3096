"""Stories with an extender, over HTTP on both sides: the scheduler asks a served extender, and a served API.

The extender answers as it was recorded if it is asked as it was recorded, and binds what the recorded one bound.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path

from tests.stories.extending import EXTENDERS, RecordedPoster
from tests.stories.over_http import HOST, HttpPlay, Receive, Scope, Send, body_of
from tests.stories.recording import Line, Story

from bayplan.apiserver.http.server import Server, listening_socket
from bayplan.client.extender_documents import KeptDocuments
from bayplan.client.extenders import bind_by_extender, connect_extenders
from bayplan.client.http import HttpClient
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.client.writes import Writer
from bayplan.config.loading import load_configuration
from bayplan.config.scheduling import build_scheduler
from bayplan.worlds.live import LiveWorld


class RecordedExtender:
    """Answers as it was recorded."""

    def __init__(self, play: ExtendedOverHttp) -> None:
        self._play = play
        self._poster = RecordedPoster(play.story, play.store)
        self.faults: list[str] = []

    @property
    def left(self) -> int:
        """How often it was asked less than was recorded."""
        return len(self._poster.left)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(receive)
        self._play.note("extender-request", {"path": scope["path"], "body": json.loads(body)})
        try:
            answer = self._poster.post(f"http://EXTENDER{scope['path']}", body)
        except AssertionError as fault:
            self.faults.append(f"not as recorded: {scope['path']} {body.decode()} {fault}")
            return
        if scope["path"].endswith("/bind") and answer.status == HTTPStatus.OK:
            self._bind(json.loads(body), json.loads(answer.body))
        self._play.note("extender-response", {"status": answer.status, "body": json.loads(answer.body)})
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": answer.status, "headers": head})
        await send({"type": "http.response.body", "body": answer.body})

    def _bind(self, asked: Line, answer: Line) -> None:
        """As the recorded extender did, though not always what it said."""
        play, namespace, name = self._play, asked["PodNamespace"], asked["PodName"]
        if not answer.get("Error") and f"{namespace}/{name}" in play.story.bound:
            play.store.bind(namespace, name, asked["Node"], asked["PodUID"], play.now())


class ExtendedOverHttp(HttpPlay):
    """A story with an extender."""

    def __init__(self, story: Story, folder: Path) -> None:
        super().__init__(story, folder)
        self._extender_socket = listening_socket(HOST, 0)
        self._extender = f"{HOST}:{self._extender_socket.getsockname()[1]}"
        self._answers = RecordedExtender(self)

    def lines(self) -> list[Line]:
        lines = super().lines()
        for extender in self._extenders:
            extender.close()
        assert not self._answers.faults, self._answers.faults
        assert not self._answers.left, "less than was recorded"
        return lines

    def without_addresses(self, text: str) -> str:
        return super().without_addresses(text).replace(self._extender, "EXTENDER")

    def perform(self, action: Line, now: int) -> None:
        if not action["do"].startswith("extender now accepts"):  # which its answers show
            super().perform(action, now)

    def parts(self, client: HttpClient) -> tuple[LiveWorld, Writer]:
        extender = {"urlPrefix": f"http://{self._extender}/ext/", **EXTENDERS[self.story.name]}
        version = "kubescheduler.config.k8s.io/v1"
        configuration = load_configuration(
            {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "extenders": [extender]}
        )
        documents = KeptDocuments(configuration.extenders)
        self._extenders = extenders = connect_extenders(configuration.extenders, documents)
        world = LiveWorld(
            build_scheduler(configuration, started_at=self.now(), extenders=extenders),
            client,
            kinds_to_watch(configuration),
            clock=self.now,
            decides_in_thread=True,
            documents=documents,
        )
        bind = partial(bind_by_extender, extenders)
        return world, self.writer(client, world, configuration, bind_by_extender=bind)

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[None]:
        async with super()._served():
            if not self.story.exchanges:  # nobody listens
                self._extender_socket.close()
                yield
                return
            server = Server(self._answers, self._extender_socket)
            serving = asyncio.ensure_future(server.serve())
            await server.started()
            try:
                yield
            finally:
                server.stop()
                await serving
