"""Requests to the API, spoilt: always the same ones for the same random numbers.

Takes valid requests, recorded ones where the reference data is there; gives them with another path, query, header or
body. Bodies are changed at any depth, get fields that their type has with values that it may not, or are torn as text
or as protobuf. Nothing here knows what is valid.
"""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml
from tests.fuzz.inputs import cluster
from tests.fuzz.mutations import QUANTITIES, TIMES, WORDS, extreme, mutated, torn

from bayplan.apiserver.http.requests import Request, query_of, segments_of
from bayplan.apiserver.schema.messages import Field, Message, message, message_names, message_of
from bayplan.apiserver.schema.protobuf import PREFIX
from bayplan.apiserver.schema.protobuf_types import SPECIAL_PREFIX, class_of
from bayplan.apiserver.schema.resources import RESOURCES, resource_of_kind

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
PATCHES = (
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCEPTS = ("", "*/*", JSON, YAML, TABLE, f"{YAML};as=Table;v=v1;g=meta.k8s.io", "text/html", ";;,,=", f"{JSON};as=")
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
PARAMETERS = (
    *("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "watch"),
    *("timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation"),
    *("force", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "includeObject", "pretty", "nonsense"),
)
VALUES = (
    *("", "true", "false", "1", "0", "-1", "All", "None", "Object", "Metadata", "Strict", "Warn", "Ignore", "Exact"),
    *("NotOlderThan", "9" * 40, "9" * 5_000, "²", "١", "a=b", "a in (b,c)", "a in (", "!a", "a>1", "a=b=c", ",,,"),
    *("metadata.name=web", "spec.nodeName=", "status.phase!=Running", "nonsense=1", "a" * 300, "x\r\nset: 1", "e30"),
    *("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ3ZWJcdTAwMDAifQ", "////", "%00", "Foreground", "Orphan"),
    ",".join(f"key{number}!=value" for number in range(3_000)),
)
SEGMENTS = (
    *("", ".", "..", "pods", "nodes", "default", "web", "status", "scale", "binding", "eviction", "log", "finalize"),
    *("watch", "a/b", "%2f", "\0", "x" * 5_000, "ü", "namespaces", "api", "apis", "v1", "apps", "nonsense", "token=x"),
)


class Template(NamedTuple):
    """A request as a client would send it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None


def templates(recordings: Path) -> list[Template]:
    """Requests of every verb to every resource, and the recorded ones."""
    made = [Template("POST", _collection(body), {"content-type": JSON}, body) for body in documents()]
    for create in made[:]:
        path = f"{create.path}/{create.body['metadata'].get('name', 'web')}"
        made += [Template(method, path, {}) for method in ("GET", "DELETE")]
        made += [Template("PUT", path, {"content-type": JSON}, create.body)]
        made += [Template("PATCH", path, {"content-type": media}, create.body) for media in PATCHES]
        made += [Template("GET", create.path, {"accept": accept}) for accept in (JSON, TABLE, PARTIAL)]
    for resource in RESOURCES:
        where = f"/{'apis' if resource.group else 'api'}/{resource.api_version}"
        where += f"/namespaces/default/{resource.plural}/web" if resource.namespaced else f"/{resource.plural}/web"
        for subresource in resource.subresources:
            made += [Template("GET", f"{where}/{subresource.name}", {})]
            made += [Template("PUT", f"{where}/{subresource.name}", {}, {"metadata": {"name": "web"}})]
            made += [Template("POST", f"{where}/{subresource.name}", {}, {"metadata": {"name": "web"}, "target": {}})]
            made += [Template("PATCH", f"{where}/{subresource.name}", {"content-type": PATCHES[0]}, {"status": {}})]
    return made + _recorded(recordings)


@cache
def documents() -> list[dict[str, Any]]:
    """One of every kind at least, bare where nothing better is known."""
    known = [{**body, "metadata": {"namespace": "default", **body["metadata"]}} for body in cluster()]
    known = [body for body in known if resource_of_kind(body["apiVersion"], body["kind"])]
    kinds = {(body["apiVersion"], body["kind"]) for body in known}
    for resource in RESOURCES:
        if (resource.api_version, resource.kind) not in kinds:
            bare = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "web"}}
            known.append({**bare, "spec": {}} if "spec" in _message(bare).fields else bare)
    for body in known:
        found = resource_of_kind(body["apiVersion"], body["kind"])
        if found is not None and not found.namespaced:
            body["metadata"].pop("namespace", None)
    return known


def _collection(body: dict[str, Any]) -> str:
    resource = resource_of_kind(body["apiVersion"], body["kind"])
    assert resource is not None
    middle = "/namespaces/default" if resource.namespaced else ""
    return f"/{'apis' if resource.group else 'api'}/{resource.api_version}{middle}/{resource.plural}"


def _recorded(recordings: Path) -> list[Template]:
    found = {}
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)["request"]
            headers = {name.lower(): value for name, value in request["headers"].items()}
            template = Template(request["method"], request["path"], headers, request.get("body"))
            found[request["method"], request["path"], json.dumps(template.body)] = template
    return list(found.values())


# ---------------------------------------------------------------- spoiling


def valid(template: Template) -> Request:
    """The request as it is meant."""
    body = b"" if template.body is None else json.dumps(template.body).encode()
    path, _, query = template.path.partition("?")
    return Request(template.method, segments_of(path.encode()), query_of(query.encode()), template.headers, body)


def spoilt(template: Template, rng: Random) -> Request:
    """The request with something wrong, or at least unusual, about it."""
    request = valid(template)
    choice = rng.random()
    if template.body is None or choice < 0.2:
        return _spoilt_outside(request, rng)
    body, media = _spoilt_body(template.body, request.headers.get("content-type", JSON), rng)
    request = request._replace(body=body, headers={**request.headers, "content-type": media})
    return _spoilt_outside(request, rng) if choice > 0.9 else request


def _spoilt_outside(request: Request, rng: Random) -> Request:
    """With another method, path, query or header."""
    match rng.choice(("method", "path", "path", "query", "query", "query", "accept", "content type", "agent")):
        case "method":
            return request._replace(method=rng.choice(METHODS))
        case "path":
            segments = list(request.segments)
            at = rng.randrange(len(segments) + 1)
            segments[at : at + rng.choice((0, 1, 1))] = rng.choice(((), (rng.choice(SEGMENTS),)))
            return request._replace(segments=tuple(segments))
        case "query":
            given = {rng.choice(PARAMETERS): rng.choice(VALUES) for _ in range(rng.choice((1, 1, 2, 4)))}
            return request._replace(query={**request.query, **given})
        case "accept":
            return request._replace(headers={**request.headers, "accept": rng.choice(ACCEPTS)})
        case "agent":
            return request._replace(headers={**request.headers, "user-agent": rng.choice((*WORDS, "\xff/", "/"))})
        case _:
            media = rng.choice((JSON, YAML, PROTOBUF, *PATCHES, "text/xml", "", ";", "application/json; charset=ü"))
            return request._replace(headers={**request.headers, "content-type": media})


def _spoilt_body(body: Any, media: str, rng: Random) -> tuple[bytes, str]:
    choice = rng.random()
    if choice < 0.08:
        return protobuf_body(rng), PROTOBUF
    changed = with_typed_fields(body, rng) if choice < 0.5 else mutated(body, rng)
    if choice > 0.95:
        return torn(_text(changed), rng), media
    if choice > 0.85 and media in (JSON, PATCHES[3]):
        text = yaml.dump(changed, Dumper=yaml.CSafeDumper, allow_unicode=True)
        return text.encode("utf-8", "surrogatepass"), YAML if media == JSON else media
    return _text(changed).encode("utf-8", "surrogatepass"), media


def _text(body: Any) -> str:
    try:
        return json.dumps(body)
    except TypeError:  # a key that is no text in the way of others that are
        return "{}"


# ---------------------------------------------------------------- fields that the type has


def _message(body: Any) -> Message:
    found = message_of(body.get("apiVersion", ""), body.get("kind", "")) if isinstance(body, dict) else None
    return found or message("core.v1.Pod")


def with_typed_fields(body: Any, rng: Random) -> Any:
    """The document with some fields more, of its type or (in a patch) of a pod's, somewhere in it."""
    if not isinstance(body, dict):
        return mutated(body, rng)
    made: Any = json.loads(json.dumps(body))
    try:
        whole = _message(body)
    except TypeError:
        whole = message("core.v1.Pod")
    for _ in range(rng.choice((1, 2, 3))):
        _add_field(made, whole, rng)
    return made


def _add_field(node: Any, whole: Message, rng: Random) -> None:
    """Goes down at random as far as the types are known, and sets a field there."""
    while True:
        below = [(name, field) for name, field in whole.fields.items() if _is_message(field) and node.get(name)]
        if not below or rng.random() < 0.25:
            break
        name, field = rng.choice(below)
        inner = node[name]
        if field.container and isinstance(inner, dict | list):
            inner = rng.choice(list(inner.values() if isinstance(inner, dict) else inner))
        if not isinstance(inner, dict):
            break
        node, whole = inner, message(field.type)
    if whole.fields:
        field = rng.choice(list(whole.fields.values()))
        node[field.name] = sample(field, rng)


def _is_message(field: Field) -> bool:
    return "." in field.type


def sample(field: Field, rng: Random, depth: int = 0) -> Any:
    """A value of the field's type; now and then one of another."""
    if rng.random() < 0.03:
        return extreme(rng)
    count = rng.choice((0, 1, 1, 2, 3)) if depth < 6 else 0
    if field.container == "list":
        return [_item(field.type, rng, depth) for _ in range(count)]
    if field.container == "map":
        return {rng.choice(WORDS): _item(field.type, rng, depth) for _ in range(count)}
    return _item(field.type, rng, depth)


def _item(type_name: str, rng: Random, depth: int) -> Any:
    if "." in type_name:
        fields = list(message(type_name).fields.values())
        chosen = rng.sample(fields, min(len(fields), rng.randint(0, 4))) if depth < 6 else ()
        required = [field for field in fields if field.required and rng.random() < 0.8 and depth < 8]
        return {field.name: sample(field, rng, depth + 1) for field in (*required, *chosen)}
    match type_name:
        case "string":
            return rng.choice(WORDS)
        case "bool":
            return rng.random() < 0.5
        case "int32" | "int64" | "double":
            return rng.choice((0, 1, -1, 80, 443, 70_000, 2**31 - 1, -(2**31)))
        case "Quantity":
            return rng.choice(QUANTITIES)
        case "Time" | "MicroTime" | "Duration":
            return rng.choice(TIMES)
        case "IntOrString":
            return rng.choice((0, 1, -1, 99_999, "50%", "150%", "http", ""))
        case _:
            return extreme(rng)


def protobuf_body(rng: Random) -> bytes:
    """An object in protobuf with a few fields of its type, or something close to that."""
    if rng.random() < 0.2:
        return rng.choice((b"", PREFIX, PREFIX + b"\xff" * 9, b"k8s", rng.randbytes(40), PREFIX + rng.randbytes(40)))
    resource = rng.choice(RESOURCES)
    whole = message_of(resource.api_version, resource.kind)
    envelope: Any = class_of(f"{SPECIAL_PREFIX}.Unknown")()
    envelope.f1.f1, envelope.f1.f2 = resource.api_version, resource.kind
    inside: Any = class_of(whole.name if whole is not None else rng.choice(message_names("core.v1")))()
    _fill(inside, rng)
    envelope.f2 = inside.SerializePartialToString()
    body: bytes = PREFIX + envelope.SerializeToString()
    if rng.random() < 0.3:
        at = rng.randrange(len(body))
        body = body[:at] + rng.choice((b"", rng.randbytes(3))) + body[at + rng.choice((0, 1, 30)) :]
    return body


def _fill(inside: Any, rng: Random, depth: int = 0) -> None:
    fields = list(inside.DESCRIPTOR.fields)
    for field in rng.sample(fields, min(len(fields), rng.randint(1, 4))):
        where = getattr(inside, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        if field.message_type is not None:
            if depth < 5:
                _fill(where.add() if field.is_repeated else where, rng, depth + 1)
            if not field.is_repeated:
                where.SetInParent()
            continue
        kinds: dict[int, Any] = {field.CPPTYPE_STRING: "web", field.CPPTYPE_BOOL: True, field.CPPTYPE_DOUBLE: 1.5}
        value = kinds.get(field.cpp_type, rng.choice((1, -1)))
        if field.type == field.TYPE_BYTES:
            value = b"{"
        if field.is_repeated:
            where.append(value)
        else:
            setattr(inside, field.name, value)
