"""Stories in which watches are cut and refused, played over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field

from tests.stories.over_http import HttpPlay, Receive, Recorder, Scope, Send
from tests.stories.recording import Line

from bayplan.apiserver.http.connections import ABORT

PODS = "/api/v1/pods"
NO_PATH = "-"
EXPIRED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
ERROR_LINE = json.dumps({"type": "ERROR", "object": EXPIRED}).encode() + b"\n"


@dataclass(eq=False)
class Watching:
    """A watch that somebody has open."""

    path: str
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    is_cut: bool = False
    last_line: bytes = b""


class TroubleMaker(Recorder):
    """Ends watches when it is told to, and refuses as many as it is told."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.refusals: deque[Line] = deque()
        self.refuses_all = False
        self._open: list[Watching] = []

    def end_watches(self, path: str = "", *, cut: bool = False, last_line: bytes = b"") -> None:
        for watching in self._open:
            if watching.path.startswith(path):
                watching.is_cut, watching.last_line = cut, last_line
                watching.ended.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, query = self.path_of(scope), scope["query_string"].decode()
        is_watch = "watch=true" in query
        is_refused = self.refusals and (self.refuses_all or (is_watch and path == PODS))
        if is_watch or is_refused:
            self._note("request", {"method": scope["method"], "path": path, "query": query})
        if is_refused:
            refusal = self.refusals.popleft()
            await self.say(refusal["status"], refusal["body"], {}, send)
        elif is_watch:
            await self._watch(Watching(path), scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _watch(self, watching: Watching, scope: Scope, receive: Receive, send: Send) -> None:
        self._open.append(watching)

        async def pass_on(message: Scope) -> None:
            if not watching.ended.is_set():
                await send(message)

        serving = asyncio.ensure_future(self._application(scope, receive, pass_on))
        ending = asyncio.ensure_future(watching.ended.wait())
        await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
        self._open.remove(watching)
        ending.cancel()
        if serving.done():
            return
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        if watching.is_cut:
            scope["extensions"][ABORT]()
            await asyncio.sleep(0.001)  # until the server has noticed
            return
        await send({"type": "http.response.body", "body": watching.last_line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class TroubledWatches(HttpPlay):
    """One story in which somebody makes trouble."""

    recorder_class = TroubleMaker
    #: Which kinds of request are refused: watches of pods, or all.
    refuses_all = False
    _to_be_cut = NO_PATH

    def perform(self, action: Line, now: int) -> None:
        trouble = self.recorder
        assert isinstance(trouble, TroubleMaker)
        match action["do"]:
            case "inject":
                trouble.refusals.extend([action] * action["times"])
                trouble.refuses_all = self.refuses_all
                trouble.end_watches("" if self.refuses_all else self._to_be_cut, cut=self.refuses_all)
                self._to_be_cut = NO_PATH
            case "trouble over":
                trouble.refusals.clear()
            case "cut all watches cleanly (end of chunked body)":
                trouble.end_watches()
            case "cut all watches abruptly":
                trouble.end_watches(cut=True)
            case "pod watch: ERROR event 410 Expired":
                trouble.end_watches(PODS, last_line=ERROR_LINE)
            case do if do.startswith("pod watch cut"):
                self._to_be_cut = PODS  # once it is known how the next one is answered
            case do if do.startswith("watch with initial events refused"):
                pass
            case _:
                super().perform(action, now)


class ServerDown(TroubledWatches):
    """The server refuses everything for a while."""

    refuses_all = True
