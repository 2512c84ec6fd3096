"""What there is to see on the secure port, by path.

Takes the parts of a running scheduler that have something to show; gives a function for each path. Debug pages are text
for people, or JSON for whoever asks for it (`Accept: application/json` or `?output=json`). What takes long to put into
words is put into words in a thread, from data that was gathered before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from bayplan.apiserver.http.requests import Answer
from bayplan.model.media_types import JSON
from bayplan.serving.decisions import DecisionRecorder, decisions_document, decisions_text
from bayplan.serving.health import HealthPage, health_metrics, text_answer
from bayplan.serving.inspecting import Inspector, cache_text, queue_text

_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a page needs to know of a request."""

    query: Mapping[str, Sequence[str]]
    accept: str = ""

    @property
    def wants_json(self) -> bool:
        return "json" in self.query.get("output", ()) or self.accept.startswith(JSON)


Page: TypeAlias = Callable[[PageRequest], Awaitable[Answer]]


class Renderable(Protocol):
    """Whatever counts."""

    def render(self) -> bytes: ...


def health_pages(pages: Sequence[HealthPage]) -> dict[str, Page]:
    """`/healthz` and so on, each check also alone."""
    found: dict[str, Page] = {}
    for page in pages:
        found[f"/{page.name}"] = _summary(page)
        found |= {f"/{page.name}/{check.name}": _alone(page, check.name) for check in page.checks}
    return found


def _summary(page: HealthPage) -> Page:
    async def show(asked: PageRequest) -> Answer:
        return page.answer(verbose="verbose" in asked.query, excluded=asked.query.get("exclude", ()))

    return show


def _alone(page: HealthPage, name: str) -> Page:
    async def show(_: PageRequest) -> Answer:
        return page.answer_one(name)

    return show


def metrics_pages(
    metrics: Renderable, pod_resources: Callable[[], str], health: Sequence[HealthPage], started_at_s: float
) -> dict[str, Page]:
    """`/metrics` and what has its own page because it is long or seldom wanted."""

    async def main(_: PageRequest) -> Answer:
        return Answer(200, metrics.render(), _METRICS)

    async def resources(_: PageRequest) -> Answer:
        return Answer(200, pod_resources().encode(), _METRICS)

    async def slis(_: PageRequest) -> Answer:
        return Answer(200, health_metrics(health, started_at_s).encode(), _METRICS)

    return {"/metrics": main, "/metrics/resources": resources, "/metrics/slis": slis}


def configuration_page(document: Mapping[str, Any]) -> dict[str, Page]:
    """`/configz`: the configuration with every default."""
    body = msgspec.json.encode({"componentconfig": document})

    async def show(_: PageRequest) -> Answer:
        return Answer(200, body, JSON)

    return {"/configz": show}


def debug_pages(inspector: Inspector, recorder: DecisionRecorder) -> dict[str, Page]:
    """`/debug/cache`, `/debug/queue` and `/debug/decisions`."""

    async def cache(asked: PageRequest) -> Answer:
        return await _shown(asked, inspector.cache_document(), cache_text)

    async def queue(asked: PageRequest) -> Answer:
        return await _shown(asked, inspector.queue_document(), queue_text)

    async def decisions(asked: PageRequest) -> Answer:
        pod = next(iter(asked.query.get("pod", ())), "")
        records = recorder.records(pod)
        if asked.wants_json:
            document = await asyncio.to_thread(decisions_document, records)
            return Answer(200, msgspec.json.encode(document), JSON)
        return text_answer(await asyncio.to_thread(decisions_text, records, whole=bool(pod)))

    return {"/debug/cache": cache, "/debug/queue": queue, "/debug/decisions": decisions}


async def _shown(asked: PageRequest, document: Plain, text: Callable[[Plain], str]) -> Answer:
    if asked.wants_json:
        return Answer(200, msgspec.json.encode(document), JSON)
    return text_answer(await asyncio.to_thread(text, document))
