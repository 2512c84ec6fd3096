"""What an assistant gets for a question, and how it is made small enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from typing_extensions import TypedDict

from bayplan.report.answers.parts import Details, Next, Part, Sentence

#: The name that stands for the elements of any list in a path.
_ANY = "[]"
_KEPT_AT_LEAST = 1


class Reply(TypedDict):
    """The answer to a question about scheduling."""

    answer: str
    """The answer in one sentence."""
    why: list[str]
    """A few lines of why."""
    next: list[str]
    """Commands to run next, for a person to judge first."""
    document: dict[str, Any]
    """Everything as data; the fields are those of `-o json` on the command line."""
    kubernetes: str
    """The version whose scheduler decided, such as v1.37."""
    notes: list[str]
    """What was assumed about the cluster."""
    shortened: list[str]
    """Lists of the document that are not complete, with their full length: it was too large."""


def reply_of(
    parts: Iterable[Part], document: Mapping[str, Any], most_bytes: int, *, kubernetes: str, notes: Sequence[str] = ()
) -> Reply:
    """A reply of about this size at most."""
    texts: list[str] = []
    commands: list[str] = []
    for part in parts:
        if isinstance(part, Sentence):
            texts.append(part.text)
        elif isinstance(part, Next):
            commands.append(part.command)
        elif isinstance(part, Details):
            break
    plain = msgspec.json.decode(msgspec.json.encode(document))
    shortened = shorten(plain, most_bytes)
    return Reply(
        answer=texts[0] if texts else "",
        why=texts[1:],
        next=commands,
        document=plain,
        kubernetes=kubernetes,
        notes=[*notes],
        shortened=shortened,
    )


def shorten(document: dict[str, Any], most_bytes: int) -> list[str]:
    """Cuts the document's longest lists and maps until its JSON fits; says which ones, with their full length."""
    full: dict[str, int] = {}
    while len(msgspec.json.encode(document)) > most_bytes:
        sizes: dict[str, int] = {}
        _measure(document, "", sizes)
        if not sizes:
            break
        path = max(sizes, key=lambda each: (sizes[each], each))
        longest = _cut(document, path.split("."))
        full[path] = max(full.get(path, 0), longest)
    return [f"{path}: {length:,} in full" for path, length in sorted(full.items())]


def _measure(value: Any, path: str, sizes: dict[str, int]) -> None:
    """Path -> bytes that could be saved there; lists in lists count as one."""
    if not isinstance(value, list | dict):
        return
    if len(value) > _KEPT_AT_LEAST and path and _is_collection(value):
        sizes[path] = sizes.get(path, 0) + len(msgspec.json.encode(value))
    inner = value.items() if isinstance(value, dict) else ((_ANY, each) for each in value)
    for name, each in inner:
        # A collection is cut as a whole: its keys are names of objects, not of fields.
        step = _ANY if isinstance(value, dict) and path and _is_collection(value) else str(name).replace(".", "_")
        _measure(each, f"{path}.{step}" if path else step, sizes)


def _is_collection(value: list[Any] | dict[str, Any]) -> bool:
    """A list, or a map by names of objects: fields have names without dots, dashes and slashes."""
    if isinstance(value, list):
        return True
    return any(not name.isidentifier() for name in value)


def _cut(value: Any, steps: list[str]) -> int:
    """Halves what is at the path, wherever that leads; gives the greatest length before."""
    if not steps:
        length = len(value) if isinstance(value, list | dict) else 0
        for key in list(value)[max(_KEPT_AT_LEAST, length // 2) :] if isinstance(value, dict) else ():
            del value[key]
        if isinstance(value, list):
            del value[max(_KEPT_AT_LEAST, length // 2) :]
        return length
    step, *rest = steps
    if step == _ANY:
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        return max((_cut(each, rest) for each in inner), default=0)
    if isinstance(value, dict):
        found = next((each for name, each in value.items() if name.replace(".", "_") == step), None)
        return _cut(found, rest) if found is not None else 0
    return 0
