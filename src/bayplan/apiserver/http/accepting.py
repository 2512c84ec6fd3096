"""In which form a client wants its answer: whole objects, metadata only, or a table; as JSON, YAML or protobuf.

Who accepts JSON as well as protobuf gets JSON, whichever is named first: it is there already, and protobuf is not.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from bayplan.store.errors import NotAcceptable

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
TABLE, PARTIAL = "Table", "PartialObjectMetadata"
_JSON_RANGES = frozenset({"application/json", "application/*", "*/*"})
_YAML_RANGES = frozenset({"application/yaml"})
_META_VERSIONS = frozenset({"v1", "v1beta1"})
_AVAILABLE = (
    "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)


class Form(NamedTuple):
    """How an answer is put into bytes."""

    shape: str = ""
    """`Table`, `PartialObjectMetadata`, or "" for objects as they are."""
    version: str = "v1"
    """Of meta.k8s.io, for a shape."""
    yaml: bool = False
    protobuf: bool = False


PLAIN = Form()
_IN_PROTOBUF: Final = Form(protobuf=True)


def form_of(accept: str) -> Form:
    """The first acceptable form; the order counts and weights do not, as with the real server's clients."""
    if not accept:
        return PLAIN
    takes_protobuf = False
    for media_range in accept.split(","):
        media, *parameters = (part.strip() for part in media_range.split(";"))
        given = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
        shape = given.get("as", "").removesuffix("List")
        if shape and (shape not in (TABLE, PARTIAL) or given.get("v") not in _META_VERSIONS):
            continue
        if media in _JSON_RANGES or media in _YAML_RANGES:
            return Form(shape, given.get("v", "v1"), media in _YAML_RANGES)
        takes_protobuf = takes_protobuf or (media == PROTOBUF and not shape)
    if takes_protobuf:
        return _IN_PROTOBUF
    raise not_acceptable()


def accepts_only_protobuf(accept: str) -> bool:
    """Whether the client takes protobuf and nothing else that is served."""
    try:
        return PROTOBUF in accept and form_of(accept).protobuf
    except NotAcceptable:
        return False


def not_acceptable() -> NotAcceptable:
    """What is said to a client that accepts no form there is."""
    return NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {_AVAILABLE}")
