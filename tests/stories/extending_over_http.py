"""Stories in which an extender had its say, played over HTTP: the scheduler asks through the client.

As in `bayplan run`, decisions are made in a thread, which waits for the extender while everything else goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from tests.stories.extending import Extended, RecordedPoster, configuration_of
from tests.stories.over_http import HttpPlay

from bayplan.client.extender_documents import KeptDocuments
from bayplan.client.extenders import DEFAULT_TIMEOUT_NS, HttpExtender
from bayplan.client.posting import PostAnswer
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.client.writes import Writer
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Bind
from bayplan.core.events import BindAnswered
from bayplan.model.time_units import SECOND
from bayplan.worlds.live import LiveWorld


class ExtendedOverHttp(HttpPlay, Extended):
    """The scheduler asks an extender, which answers as it was recorded."""

    @asynccontextmanager
    async def _scheduling(self) -> AsyncIterator[None]:
        configuration = configuration_of(self.story)
        documents = KeptDocuments(configuration.extenders)
        self.poster = NotingPoster(self)
        self.extenders = [HttpExtender(one, documents, self.poster) for one in configuration.extenders]
        async with self._connected() as client:
            scheduler = build_scheduler(configuration, started_at=self.now(), extenders=self.extenders)
            kinds = kinds_to_watch(configuration)
            world = LiveWorld(scheduler, client, kinds, clock=self.now, decides_in_thread=True, documents=documents)
            binder = self._bind_now
            writer = Writer(client, world.find, world.answer, clock=self.now, host="HOST", bind_by_extender=binder)
            running = asyncio.ensure_future(world.run(writer))
            try:
                with patch("asyncio.to_thread", _in_thread_but_bindings):
                    yield
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await writer.drain(1.0)
        assert not self.poster.left, "less than was recorded"

    def _bind_now(self, action: Bind) -> BindAnswered:
        return self.bind(action, self.now())


class NotingPoster(RecordedPoster):
    """Writes down what it is asked, and what it answers. Where the recorded extender hung, time passes."""

    def __init__(self, play: HttpPlay) -> None:
        super().__init__(play.story, play.store)
        self._play = play

    def post(self, url: str, body: bytes) -> PostAnswer:
        path = url.removeprefix("http://EXTENDER")
        self._play.note("extender-request", {"path": path, "body": json.loads(body)})
        answer = super().post(url, body)
        self._play.note("extender-response", {"status": answer.status, "body": None})
        return answer

    def hang(self, url: str, body: bytes) -> PostAnswer:
        self._play.loop.sleep_in_thread(DEFAULT_TIMEOUT_NS / SECOND)
        return super().hang(url, body)


_in_thread = asyncio.to_thread


async def _in_thread_but_bindings(function: Callable[..., Any], *given: Any) -> Any:
    """An extender that binds changes the cluster, which is the loop's."""
    return function(*given) if isinstance(given[0], Bind) else await _in_thread(function, *given)
