"""The secure port: pages over TLS, on a socket."""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from structlog.testing import capture_logs

from bayplan.apiserver.http.requests import Answer
from bayplan.apiserver.http.server import listening_socket
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.events import ObjectAdded
from bayplan.serving.access import AccessControl
from bayplan.serving.decisions import DecisionRecorder
from bayplan.serving.encryption import Encryption
from bayplan.serving.health import Check, HealthPage
from bayplan.serving.inspecting import Inspector
from bayplan.serving.pages import Page, PageRequest, configuration_page, debug_pages, health_pages, metrics_pages
from bayplan.serving.secure_port import Pages, SecurePort
from bayplan.testing.builders import node, pod


class Reply(NamedTuple):
    status: int
    text: str
    content_type: str


Fetch = Callable[..., Awaitable[Reply]]


class _Counted:
    def render(self) -> bytes:
        return b"scheduler_things 1\n"


def _pages() -> dict[str, Page]:
    configuration = load_configuration(release=DEFAULT_RELEASE)
    recorder = DecisionRecorder(build_profiles(configuration))
    scheduler = build_scheduler(configuration, started_at=0, on_choice=recorder.chose)
    for obj in (node("n1").capacity(cpu=1).obj(), pod("big").cpu(9).obj()):
        scheduler.observe(ObjectAdded(obj), 0)
    decision = scheduler.decide(0)
    assert decision is not None
    recorder.decided(decision, 0, 0)
    health = [HealthPage("livez"), HealthPage("readyz", (Check("shutdown", lambda: "process is shutting down"),))]

    async def broken(_: PageRequest) -> Answer:
        raise RuntimeError("oh no")

    return {
        **health_pages(health),
        **metrics_pages(_Counted(), lambda: "kube_pod_resource_request 1\n", health, 0.5),
        **configuration_page({"kind": "KubeSchedulerConfiguration", "parallelism": 16}),
        **debug_pages(Inspector(scheduler, lambda kind: {}), recorder),
        "/broken": broken,
    }


def serve(visit: Callable[[Fetch], Awaitable[None]], *always_allowed: str) -> list[Any]:
    """Runs the visit while the pages are served; gives what was logged."""

    async def main() -> None:
        listening = listening_socket("127.0.0.1", 0)
        address = listening.getsockname()
        access = AccessControl(None, always_allowed)
        port = asyncio.ensure_future(SecurePort(Pages(access, _pages()), listening, Encryption(None)).run())

        async def fetch(path: str, method: str = "GET", **headers: str) -> Reply:
            return await asyncio.to_thread(_fetched, address, path, method, headers)

        try:
            await visit(fetch)
        finally:
            port.cancel()
            await asyncio.gather(port, return_exceptions=True)

    with capture_logs() as logs:
        asyncio.run(main())
    return logs


def _fetched(address: tuple[str, int], path: str, method: str, headers: dict[str, str]) -> Reply:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(*address, timeout=5, context=context)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return Reply(response.status, response.read().decode(), response.getheader("content-type", ""))
    finally:
        connection.close()


def test_pages_are_served_to_those_who_may_see_them() -> None:
    async def visit(fetch: Fetch) -> None:
        assert await fetch("/livez") == (200, "ok", "text/plain; charset=utf-8")
        assert (await fetch("/livez/ping")).text == "ok"
        assert (await fetch("/livez?verbose")).text == "[+]ping ok\nlivez check passed\n"
        assert (await fetch("/readyz?exclude=shutdown&exclude=more")).status == 200
        assert (await fetch("/readyz")).text == "[-]shutdown failed: reason withheld\nreadyz check failed\n"
        assert (await fetch("/metrics")).text == "scheduler_things 1\n"
        assert (await fetch("/metrics/resources")).text == "kube_pod_resource_request 1\n"
        assert 'kubernetes_healthcheck{name="ping",type="livez"} 1' in (await fetch("/metrics/slis")).text
        assert (await fetch("/configz")).text == (
            '{"componentconfig":{"kind":"KubeSchedulerConfiguration","parallelism":16}}'
        )
        assert (await fetch("/nowhere")).status == 404
        assert (await fetch("/livez", "POST")).status == 405
        assert await fetch("/livez", "HEAD") == (200, "", "text/plain; charset=utf-8")

    logs = serve(visit, "/*")
    assert logs[0]["event"].startswith("Serving securely on 127.0.0.1:")


def test_debug_pages_come_as_text_or_json() -> None:
    async def visit(fetch: Fetch) -> None:
        assert "n1" in (await fetch("/debug/cache")).text
        assert "unschedulablePods:1" in (await fetch("/debug/queue")).text
        assert "default/big does not fit on the only node" in (await fetch("/debug/decisions")).text
        assert "Scheduler message" in (await fetch("/debug/decisions?pod=default/big")).text
        cache, queue, decisions = [
            json.loads((await fetch(f"/debug/{name}", Accept="application/json")).text)
            for name in ("cache", "queue", "decisions")
        ]
        assert [shown["name"] for shown in cache["nodes"]] == ["n1"]
        assert [queued["pod"] for queued in queue["pods"]] == ["default/big"]
        assert [decision["pod"] for decision in decisions["decisions"]] == ["default/big"]
        assert (await fetch("/debug/queue?output=json")).content_type == "application/json"

    serve(visit, "/*")


def test_others_are_refused() -> None:
    async def visit(fetch: Fetch) -> None:
        assert (await fetch("/livez")).status == 200
        reply = await fetch("/metrics")
        assert reply.status == 403
        assert json.loads(reply.text)["reason"] == "Forbidden"
        assert (await fetch("/metrics", Authorization="Bearer x")).status == 401

    serve(visit, "/livez")


def test_a_broken_page_is_an_error_in_the_log() -> None:
    async def visit(fetch: Fetch) -> None:
        assert (await fetch("/broken")).status == 500
        assert (await fetch("/livez")).status == 200

    logs = serve(visit, "/*")
    assert [entry["err"] for entry in logs if entry["log_level"] == "error"] == ["RuntimeError('oh no')"]
