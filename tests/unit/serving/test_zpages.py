"""How a process was started and how it is, as text and as documents."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml

from bayplan.apiserver.http.requests import Answer
from bayplan.model.time_units import SECOND
from bayplan.serving.pages import PageRequest
from bayplan.serving.zpages import flags_page, status_page
from bayplan.store.errors import NotAcceptable

FLAGS = {"v": "2", "leader-elect": "true", "config": ""}
STARTED = 1_794_775_996 * SECOND  # 2026-11-15T20:53:16Z
WARNING = "has no formatting compatibility guarantees and is for debugging purposes only.\n"


def asked(path: str, accept: str) -> Answer:
    up_s = 3_600 + 2 * 60 + 8
    paths = ("/healthz", "/healthz/ping", "/metrics/slis", "/metrics", "/flagz")
    pages = {
        **flags_page(FLAGS),
        **status_page(paths, "1.36+b", "1.36", STARTED, clock=lambda: STARTED + up_s * SECOND),
    }
    return asyncio.run(_shown(pages[path](PageRequest({}, accept))))  # type: ignore[arg-type]


async def _shown(page: asyncio.Future[Answer]) -> Answer:
    return await page


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "text/*;q=0.5, application/json", "text/html, */*"])
def test_people_see_text(accept: str) -> None:
    text = asked("/flagz", accept).body.decode()
    assert text.startswith("\nkube-scheduler flagz\nWarning: This endpoint is not meant to be machine parseable, ")
    assert text.endswith(f"{WARNING}config=\nleader-elect=true\nv=2\n")


def test_the_status_says_since_when_and_what_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """In upstream's words: where Go's version would be, it names Python's."""
    monkeypatch.setattr("platform.python_version", lambda: "3.99.1")
    assert asked("/statusz", "").body.decode().partition(WARNING)[2] == (
        "\nStarted: Sun Nov 15 20:53:16 UTC 2026\nUp: 1 hr 02 min 08 sec\nGo version: python3.99.1\n"
        "Binary version: 1.36+b\nEmulation version: 1.36\nPaths: /flagz /healthz /metrics\n"
    )


def test_programs_get_documents() -> None:
    shown = asked("/flagz", "application/json;as=Flagz;v=v1beta1;g=config.k8s.io")
    head = {"apiVersion": "config.k8s.io/v1beta1", "metadata": {"name": "kube-scheduler"}}
    assert json.loads(shown.body) == {"kind": "Flagz", **head, "flags": FLAGS}
    assert (shown.content_type, shown.headers) == ("application/json", ())
    status = yaml.safe_load(asked("/statusz", "application/yaml; as=Statusz; v=v1beta1; g=config.k8s.io").body)
    assert (status["kind"], status["uptimeSeconds"]) == ("Statusz", 3_728)
    assert status["startTime"] == "2026-11-15T20:53:16Z"


def test_an_old_version_is_served_with_a_warning() -> None:
    shown = asked("/statusz", "application/json;as=Statusz;v=v1alpha1;g=config.k8s.io")
    assert json.loads(shown.body)["apiVersion"] == "config.k8s.io/v1alpha1"
    text = '299 - "This version of the statusz endpoint is deprecated. Please use a newer version."'
    assert shown.headers == (("warning", text),)


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/json;as=Statusz;v=v1beta1;g=config.k8s.io",
        "application/json;as=Flagz;v=v2;g=config.k8s.io",
        "text/html",
        "application/vnd.kubernetes.protobuf",
    ],
)
def test_nothing_else_is_made_up(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="only the following media types are accepted: application/json"):
        asked("/flagz", accept)
