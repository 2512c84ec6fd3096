"""Requests as bytes on a connection: always the same ones for the same random numbers.

Takes spoilt requests from `api_requests`, writes them out, with a token or without, and makes some of them what no
client library would send: torn, huge, deep, repeated, chunked, upgraded. Nothing here knows what is valid.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from tests.fuzz import hostile_definitions as hostile
from tests.fuzz.api_requests import JSON, PATCHES, YAML, Template, spoilt, valid

from bayplan.apiserver.http.requests import Request

_LARGE_NUMBER = re.compile(rb"[0-9]{3}|[0-9][eE]")
MERGE, JSON_PATCH, STRATEGIC, APPLY = PATCHES
UNMUTATED_SHARE = 0.2
HOSTILE_SHARE = 0.06
HUGE_SHARE = 0.0005
RAW_SHARE = 0.03
MAPS = "/api/v1/namespaces/default/configmaps"


class Sent(NamedTuple):
    """One request, or what is in its place."""

    data: bytes
    shown: str
    is_whole: bool = True
    """Whether an answer can be waited for."""
    method: str = "GET"


def with_token(token: str) -> Callable[[Random], tuple[str, str]]:
    """The token as a header (and nothing before the path), or before the path."""

    def given(rng: Random) -> tuple[str, str]:
        choice = rng.random()
        if choice < 0.9:
            return f"Authorization: Bearer {token}\r\n", ""
        if choice < 0.95:
            return f"Authorization: Basic {base64.b64encode(f'admin:{token}'.encode()).decode()}\r\n", ""
        return "", f"/token={token}"

    return given


def without_token(token: str) -> Callable[[Random], tuple[str, str]]:
    """Nothing, or what resembles the token."""

    def given(rng: Random) -> tuple[str, str]:
        near = rng.choice(
            (token[:-1], f"{token}x", token.upper(), "", "null", "x" * 5_000, quote(token[::-1]), token * 2)
        )
        header = rng.choice(
            (
                *("", "", "", f"Authorization: Bearer {near}\r\n", f"Authorization: {token}\r\n"),
                *("Authorization: Basic YWRtaW46\r\n", "Authorization: Basic ====\r\n", f"Cookie: token={token}\r\n"),
                *(
                    f"Authorization: Digest {token}\r\n",
                    f"X-Authorization: Bearer {token}\r\n",
                    "Impersonate-User: admin\r\n",
                ),
                "X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n",
            )
        )
        return header, rng.choice(("", "", "", f"/token={near}", "/token=", f"//token={token}", f"/Token={token}"))

    return given


def request(rng: Random, known: list[Template], credentials: Callable[[Random], tuple[str, str]]) -> Sent:
    """The next request."""
    choice = rng.random()
    if choice < HUGE_SHARE:
        method, path, headers, body = _huge(rng)
    elif choice < HOSTILE_SHARE:
        method, path, headers, body = _hostile(rng)
    else:
        template = rng.choice(known)
        made = valid(template) if rng.random() < UNMUTATED_SHARE else spoilt(template, rng)
        if made.body and _is_too_much(made):
            made = valid(template)
        method, path, headers, body = made.method, _target_of(made), dict(made.headers), made.body
    header, prefix = credentials(rng)
    if "authorization" in headers:
        headers.pop("authorization")
    return _written(rng, method, prefix + path, header, headers, body)


def _is_too_much(made: Request) -> bool:
    """Whether controllers would have to make more pods of it than a test can wait for."""
    if b"eplicas" not in made.body and b"ompletions" not in made.body and b"arallelism" not in made.body:
        return False
    return _LARGE_NUMBER.search(made.body) is not None


def _target_of(made: Request) -> str:
    path = "/" + "/".join(quote(segment, safe="=,:") for segment in made.segments)
    return f"{path}?{urlencode(made.query, errors='replace')}" if made.query else path


def _hostile(rng: Random) -> tuple[str, str, dict[str, str], bytes]:
    match rng.choice(
        ("definition", "definition", "object", "object", "object", "policy", "binding", "map", "map", "openapi")
    ):
        case "definition":
            where, body = hostile.DEFINITIONS, hostile.definition(rng)
        case "object":
            where, body = hostile.custom_object(rng)
        case "policy":
            where, body = hostile.POLICIES, hostile.policy(rng)
        case "binding":
            where, body = hostile.BINDINGS, hostile.binding(rng)
        case "map":
            where, body = MAPS, hostile.config_map(rng)
        case _:
            paths = (
                "/openapi/v2",
                f"/openapi/v3/apis/{hostile.GROUP}/v1",
                "/openapi/v3",
                "/apis",
                f"/apis/{hostile.GROUP}",
            )
            accepts = ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", JSON, "application/json;g=x")
            return "GET", rng.choice(paths), {"accept": rng.choice(accepts)}, b""
    name = body["metadata"]["name"]
    text = json.dumps(body).encode()
    match rng.choice(("POST", "POST", "PUT", MERGE, STRATEGIC, APPLY, JSON_PATCH, "DELETE", "GET", "list")):
        case "POST":
            return "POST", where, {"content-type": JSON}, text
        case "PUT":
            return "PUT", f"{where}/{name}", {"content-type": JSON}, text
        case "JSON patch" | "application/json-patch+json":
            change = [{"op": rng.choice(("replace", "add", "test")), "path": "/spec", "value": body.get("spec")}]
            return "PATCH", f"{where}/{name}", {"content-type": JSON_PATCH}, json.dumps(change).encode()
        case "DELETE" | "GET" as method:
            return method, f"{where}/{name}", {}, b""
        case "list":
            return "GET", where, {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}, b""
        case media:
            query = "?fieldManager=fuzz&force=true" if media == APPLY else ""
            return "PATCH", f"{where}/{name}{query}", {"content-type": media}, text


def _huge(rng: Random) -> tuple[str, str, dict[str, str], bytes]:
    """Large or deep bodies, of all sorts of content."""
    size = rng.choice((2_000, 40_000, 400_000, 2_900_000, 3_200_000))
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"huge"},"data":{'
    deep = rng.choice((100, 255, 10_000, size // 6))
    bodies: tuple[tuple[str, Callable[[], bytes]], ...] = (
        (JSON, lambda: b"[" * size),
        (JSON, lambda: b'{"a":' * deep + b"1" + b"}" * deep),
        (JSON, lambda: b'{"metadata":' + b"[" * deep + b"]" * deep + b"}"),
        (JSON, lambda: head + b'"a":"' + b"x" * size + b'"}}'),
        (JSON, lambda: head + b",".join(b'"k%d":"v"' % number for number in range(size // 12)) + b"}}"),
        (JSON, lambda: head + b"}," + b",".join(b'"k%d":1' % number for number in range(size // 12)) + b"}"),
        (JSON, lambda: b"9" * size),
        (JSON, lambda: b'{"a":"' + b"\\u0000" * (size // 6) + b'"}'),
        (JSON, lambda: _labelled(size // 20)),
        (JSON, lambda: _with_containers(size // 60)),
        (YAML, lambda: b"a: [" * min(deep, 20_000)),
        (YAML, lambda: b"- " * size),
        (
            YAML,
            lambda: (
                b"b0: &b0 [x,x]\n" + b"".join(b"b%d: &b%d [*b%d,*b%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40))
            ),
        ),
        (YAML, lambda: b"kind: ConfigMap\ndata:\n" + b"".join(b" k%d: v\n" % number for number in range(size // 12))),
        (YAML, lambda: b"? " * deep),
        (
            APPLY,
            lambda: (
                b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: huge}\ndata:\n"
                + b"".join(b" k%d: v\n" % n for n in range(size // 12))
            ),
        ),
        (JSON_PATCH, lambda: json.dumps([{"op": "add", "path": "/data/a", "value": "b"}] * (size // 60)).encode()),
        (
            JSON_PATCH,
            lambda: json.dumps([{"op": "copy", "from": "/metadata", "path": "/metadata/labels"}] * 60).encode(),
        ),
        (JSON_PATCH, lambda: json.dumps([{"op": "add", "path": "/data" * deep, "value": 1}]).encode()),
        (MERGE, lambda: b'{"a":' * deep + b"1" + b"}" * deep),
        (MERGE, lambda: b'{"data":{' + b",".join(b'"k%d":"v"' % number for number in range(size // 12)) + b"}}"),
        (
            STRATEGIC,
            lambda: b'{"metadata":{"finalizers":[' + b",".join(b'"a/f%d"' % n for n in range(size // 12)) + b"]}}",
        ),
        (STRATEGIC, lambda: b'{"$patch":"replace","data":' + b'{"a":' * deep + b"1" + b"}" * deep + b"}"),
        ("application/vnd.kubernetes.protobuf", lambda: b"k8s\x00" + b"\x0a\x04" * (size // 2)),
        ("application/vnd.kubernetes.protobuf", lambda: b"k8s\x00" + rng.randbytes(min(size, 400_000))),
    )
    media, body = rng.choice(bodies)
    if media in (JSON, YAML, "application/vnd.kubernetes.protobuf"):
        where = rng.choice(
            (MAPS, "/api/v1/namespaces/default/pods", f"/apis/{hostile.GROUP}/v1/namespaces/default/alphas")
        )
        return "POST", where, {"content-type": media}, body()
    return "PATCH", f"{MAPS}/{rng.choice(('huge', 'big1'))}?fieldManager=fuzz", {"content-type": media}, body()


def _labelled(count: int) -> bytes:
    labels = {f"k{number}": "v" for number in range(count)}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "huge", "labels": labels}}
    ).encode()


def _with_containers(count: int) -> bytes:
    containers = [{"name": f"c{number}", "image": "x"} for number in range(count)]
    head: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"}}
    return json.dumps({**head, "spec": {"containers": containers}}).encode()


# ---------------------------------------------------------------- bytes


def _written(rng: Random, method: str, path: str, header: str, headers: dict[str, str], body: bytes) -> Sent:
    lines = "".join(f"{name}: {_in_one_line(value)}\r\n" for name, value in headers.items())
    shown = f"{method} {path[:400]} {header!r} {headers} {body[:1200]!r} of {len(body)} bytes"
    if rng.random() < RAW_SHARE:
        return _odd(rng, method, path, header + lines, body, shown)
    head = f"{method} {path} HTTP/1.1\r\nHost: fuzz\r\n{header}{lines}"
    if body or method not in ("GET", "HEAD"):
        head += f"Content-Length: {len(body)}\r\n"
    return Sent(f"{head}\r\n".encode("latin-1", "replace") + body, shown, method=method)


def _in_one_line(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")


_ODD = (
    *("torn", "torn", "chunked", "bad chunks", "websocket", "http2", "long header", "many headers", "two lengths"),
    *("negative length", "expect", "http 1.0", "garbage", "torn line", "no host", "both lengths", "nul", "absolute"),
)


def _odd(rng: Random, method: str, path: str, lines: str, body: bytes, shown: str) -> Sent:
    """What no client library would write."""
    start = f"{method} {path} HTTP/1.1\r\nHost: fuzz\r\n{lines}".encode("latin-1", "replace")
    length = f"Content-Length: {len(body)}\r\n".encode()
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    kind = rng.choice(_ODD)
    shown = f"({kind}) {shown}"
    match kind:
        case "chunked":
            parts = [body[at : at + 700] for at in range(0, min(len(body), 70_000), 700)]
            text = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
            return Sent(start + b"Transfer-Encoding: chunked\r\n\r\n" + text + b"0\r\n\r\n", shown, method=method)
        case "websocket":
            key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            return Sent(start + upgrade + key + length + b"\r\n" + body, shown, is_whole=False)
        case "http2":
            return Sent(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(40), shown, is_whole=False)
        case "expect":
            return Sent(start + b"Expect: 100-continue\r\n" + length + b"\r\n" + body, shown, is_whole=False)
        case "http 1.0":
            return Sent(start.replace(b"HTTP/1.1", b"HTTP/1.0", 1) + length + b"\r\n" + body, shown, is_whole=False)
        case "absolute":
            return Sent(start.replace(b" /", b" http://fuzz/", 1) + length + b"\r\n" + body, shown, is_whole=False)
    data = {
        "torn": (start + length + b"\r\n" + body)[: rng.randrange(1, len(start) + len(body) + 20)],
        "bad chunks": start
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + rng.choice((b"zz\r\n", b"fffffffff\r\nx", b"-1\r\n")),
        "long header": start + b"X: " + b"y" * rng.choice((60_000, 1_200_000)) + b"\r\n\r\n",
        "many headers": start + b"X: y\r\n" * rng.choice((1_000, 50_000)) + b"\r\n",
        "two lengths": start + length + b"Content-Length: 3\r\n\r\n" + body,
        "negative length": start + b"Content-Length: -1\r\n\r\n" + body,
        "garbage": rng.randbytes(rng.choice((1, 30, 3_000))),
        "torn line": start[: rng.randrange(1, 30)] + b"\r\n\r\n",
        "no host": start.replace(b"Host: fuzz\r\n", b"") + length + b"\r\n" + body,
        "both lengths": start + length + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + body,
        "nul": start[:20] + b"\0" + start[20:] + b"\r\n\r\n",
    }[kind]
    return Sent(data, shown, is_whole=False)
