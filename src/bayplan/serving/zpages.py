"""`/flagz` and `/statusz`: how this process was started, and how it is, as every Kubernetes component shows it.

Takes the flags by name, and when the process started. Shows text for people; who asks for a version of the structured
form (`Accept: application/json;as=Flagz;v=v1beta1;g=config.k8s.io`) gets that, as JSON or YAML. There is no Go here:
its version is Python's. Upstream: apiserver/pkg/server/flagz and statusz (v1.36).
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import msgspec
import yaml

from bayplan.apiserver.http.requests import YAML, Answer
from bayplan.model.media_types import JSON
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.serving.health import text_answer
from bayplan.serving.pages import Page, PageRequest
from bayplan.store.errors import NotAcceptable

COMPONENT: Final = "kube-scheduler"
_GROUP: Final = "config.k8s.io"
#: Each with the warning that goes with it.
_VERSIONS: Final = {
    "v1beta1": "",
    "v1alpha1": '299 - "This version of the {} endpoint is deprecated. Please use a newer version."',
}
_HEAD: Final = """
{} {}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for \
debugging purposes only.
"""

Fields = Mapping[str, Any]


def flags_page(flags: Mapping[str, str]) -> dict[str, Page]:
    """`/flagz`."""
    lines = "".join(f"{name}={value}\n" for name, value in sorted(flags.items()))
    return _page("Flagz", lambda: {"flags": dict(sorted(flags.items()))}, lambda _: lines)


def status_page(
    paths: Collection[str], version: str, emulated: str, started_at: int, clock: Callable[[], int] = time.time_ns
) -> dict[str, Page]:
    """`/statusz`; `paths` are all that can be asked for, of which the first parts are shown."""
    shown = sorted({f"/{path.split('/')[1]}" for path in paths})

    def fields() -> Fields:
        return {
            "startTime": format_time(started_at),
            "uptimeSeconds": max(clock() - started_at, 0) // SECOND,
            "goVersion": f"python{platform.python_version()}",
            "binaryVersion": version,
            "emulationVersion": emulated,
            "paths": shown,
        }

    def text(found: Fields) -> str:
        started = time.strftime("%a %b %e %H:%M:%S UTC %Y", time.gmtime(started_at // SECOND))
        minutes, seconds = divmod(found["uptimeSeconds"], 60)
        up = f"{minutes // 60} hr {minutes % 60:02} min {seconds:02} sec"
        return (
            f"\nStarted: {started}\nUp: {up}\nGo version: {found['goVersion']}\n"
            f"Binary version: {version}\nEmulation version: {emulated}\nPaths: {' '.join(shown)}\n"
        )

    return _page("Statusz", fields, text)


def _page(kind: str, fields: Callable[[], Fields], text: Callable[[Fields], str]) -> dict[str, Page]:
    name = kind.lower()

    async def show(asked: PageRequest) -> Answer:
        media_type, version = _negotiated(asked.accept, kind)
        if not version:
            return text_answer(_HEAD.format(COMPONENT, name) + text(fields()))
        head = {"kind": kind, "apiVersion": f"{_GROUP}/{version}", "metadata": {"name": COMPONENT}}
        document = {**head, **fields()}
        body = msgspec.json.encode(document) if media_type == JSON else yaml.safe_dump(document).encode()
        warning = _VERSIONS[version].format(name)
        return Answer(200, body, media_type, (("warning", warning),) if warning else ())

    return {f"/{name}": show}


def _negotiated(accept: str, kind: str) -> tuple[str, str]:
    """The media type and the version of the structured form, which is empty for text. Raises NotAcceptable."""
    if not accept.strip():
        return "", ""
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        asked = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media_type in ("*/*", "text/*", "text/plain") and "as" not in asked:
            return "", ""
        is_known = asked.get("as") == kind and asked.get("g") == _GROUP and asked.get("v") in _VERSIONS
        if is_known and media_type in (JSON, YAML, "*/*", "application/*"):
            return YAML if media_type == YAML else JSON, asked["v"]
    raise NotAcceptable(f"only the following media types are accepted: {JSON}, {YAML}, text/plain")
