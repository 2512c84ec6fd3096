"""Spoils valid input, always in the same way for the same random numbers.

Takes plain data or text and gives it changed in a few places: values deleted, doubled, exchanged, renamed, replaced
by extremes or by values of another type, fields added that the model knows, text cut or torn. `as_text` writes the
data as YAML or JSON. Nothing here knows what is valid.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import yaml

from bayplan.model.kinds import KINDS

NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 7, 100, 101, -100, 65_536),
    *(2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**40, -(10**400)),
    *(0.5, -0.0, 1e-320, 1e19, 1e308, float("nan"), float("inf"), float("-inf")),
)
QUANTITIES = (
    *("1", "0", "-1", "1m", "1u", "1n", "999n", "0.0000000000001", "1Ei", "99999999999Ei", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775808", "1e3", "1e30", "1E999999", "1e-999999", "1e", "1K", "1ki", "+5"),
    *("0x10", "1_000", "NaN", "inf", "-Infinity", ".5", "5.", "1 Gi", "½", "٣", "1" * 400),
)
TIMES = (
    *("2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-02-30T00:00:00Z"),
    *(
        "2026-13-45T99:99:99Z",
        "2026-01-01",
        "2026-01-01T00:00:00+14:00",
        "-2026-01-01T00:00:00Z",
        "1969-12-31T23:59:60Z",
    ),
    *("10s", "1h30m", "-5s", "1.5h", "99999999999h", "1d", "1ns", "@daily", "* * * * *", "0 0 31 2 *", "*/0 * * * *"),
)
WORDS = (
    *(
        "",
        " ",
        "a",
        "A",
        "n1",
        "n2",
        "web",
        "default",
        "default/web",
        "a/b/c",
        "/",
        "-",
        "--help",
        "*",
        "%",
        "50%",
        "150%",
    ),
    *(
        "-10%",
        "1.5%",
        "x" * 300,
        "x" * 70_000,
        "ü",
        "日本",
        "\u202e",
        "\ud7ff",
        "a\nb",
        "a\tb",
        "🙂",
        "null",
        "true",
        "~",
    ),
    *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule", "NoExecute", "PreferNoSchedule"),
    *("Always", "Never", "Honor", "Ignore", "DoNotSchedule", "ScheduleAnyway", "Recreate", "OnDelete", "Indexed"),
    *("Running", "Succeeded", "Failed", "Pending", "Bound", "Lost", "Released", "ReadWriteOncePod", "ReadWriteOnce"),
    *("topology.kubernetes.io/zone", "kubernetes.io/hostname", "metadata.name", "example.com/gpu", "cpu", "memory"),
    *("pods", "storage", "hugepages-2Mi", "late", "data", "disk", "high", "system-node-critical", "default-scheduler"),
)
SHAPES: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], [None], [1, "a", None], {"": ""}, {"a": {"b": [1]}}, {"a": None}, ["x"] * 60),
    {f"key-{number}": str(number) for number in range(60)},
)
KINDS_AND_OTHERS = (*KINDS, "List", "ConfigMap", "pod", "")


def extreme(rng: Random) -> Any:
    return deepcopy(rng.choice(rng.choice((NUMBERS, QUANTITIES, TIMES, WORDS, WORDS, SHAPES))))


def mutated(document: Any, rng: Random) -> Any:
    """The document, changed in one to three places."""
    document = deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        places = list(_places(document))
        if places:
            parent, key = rng.choice(places)
            rng.choice(_MUTATIONS)(parent, key, rng)
    return document


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value in the document, as the map or list that holds it and its key or position there."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield value, key
        yield from _places(item)


def _replace(parent: Any, key: Any, rng: Random) -> None:
    parent[key] = extreme(rng)


def _delete(parent: Any, key: Any, rng: Random) -> None:
    del parent[key]


def _double(parent: Any, key: Any, rng: Random) -> None:
    if isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), deepcopy(parent[key]))
    else:
        parent[f"{key}{rng.choice(('', '2', ' ', '/x'))}"] = deepcopy(parent[key])


def _rename(parent: Any, key: Any, rng: Random) -> None:
    if isinstance(parent, dict):
        wanted = (str(key).upper(), f"{key}s", rng.choice(WORDS), rng.choice((None, 5, True, 1.5)))
        parent[rng.choice(wanted)] = parent.pop(key)
    else:
        rng.shuffle(parent)


def _retype(parent: Any, key: Any, rng: Random) -> None:
    value = parent[key]
    forms: tuple[Callable[[], Any], ...] = (lambda: [value], lambda: {"value": value}, lambda: str(value), lambda: None)
    parent[key] = rng.choice(forms)()


def _change_number(parent: Any, key: Any, rng: Random) -> None:
    """A number by a number and text by text: what passes the types and fails later."""
    if isinstance(parent[key], bool):
        parent[key] = not parent[key]
    elif isinstance(parent[key], int | float):
        parent[key] = rng.choice(NUMBERS)
    elif isinstance(parent[key], str):
        parent[key] = rng.choice(rng.choice((QUANTITIES, TIMES, WORDS)))
    else:
        _add_field(parent, key, rng)


def _change_kind(parent: Any, key: Any, rng: Random) -> None:
    if isinstance(parent[key], dict) and "kind" in parent[key]:
        parent[key]["kind"] = rng.choice(KINDS_AND_OTHERS)
    else:
        _add_field(parent, key, rng)


def _add_field(parent: Any, key: Any, rng: Random) -> None:
    """A field that the kind's struct knows, somewhere in the object, with a value of its type."""
    value = parent[key]
    if not (isinstance(value, dict) and isinstance(value.get("kind"), str) and value["kind"] in KINDS):
        _replace(parent, key, rng)
        return
    plain: Any = value
    struct: Any = KINDS[value["kind"]].struct
    while True:
        field = rng.choice(msgspec.structs.fields(struct))
        inner = _struct_in(field.type)
        if inner is None or not isinstance(plain.get(field.encode_name), dict) or rng.random() < 0.1:
            plain[field.encode_name] = _sample(field.type, rng)
            return
        plain, struct = plain[field.encode_name], inner


def _struct_in(kind: Any) -> Any:
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return next((option for option in options if isinstance(option, type) and issubclass(option, msgspec.Struct)), None)


def _sample(kind: Any, rng: Random, depth: int = 0) -> Any:
    """A value of the type, small more often than extreme."""
    origin = get_origin(kind)
    if origin is Annotated or kind is int:
        return rng.choice((0, 1, 2, 5, rng.choice(NUMBERS)))
    if origin in (Union, UnionType):
        return _sample(rng.choice(get_args(kind)), rng, depth)
    if origin is list:
        return [_sample(get_args(kind)[0], rng, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))]
    if origin is dict:
        return {_sample(str, rng): _sample(get_args(kind)[1], rng, depth + 1) for _ in range(rng.choice((0, 1, 2)))}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        chosen = rng.sample(fields, min(len(fields), rng.randint(0, 4) if depth < 6 else 0))
        return {field.encode_name: _sample(field.type, rng, depth + 1) for field in chosen}
    if kind is bool:
        return rng.random() < 0.5
    if kind is float:
        return rng.choice(NUMBERS)
    return None if kind is type(None) else rng.choice(rng.choice((WORDS, WORDS, QUANTITIES, TIMES)))


_MUTATIONS = (
    _replace,
    _replace,
    _delete,
    _double,
    _rename,
    _retype,
    *[_change_number] * 5,
    _change_kind,
    *[_add_field] * 3,
)


# ---------------------------------------------------------------- text


def as_text(document: Any, rng: Random) -> str:
    """YAML or JSON: one document for each object, or all in a list."""
    if rng.random() < 0.5:
        listed = {"apiVersion": "v1", "kind": "List", "items": document} if _is_objects(document) else document
        return json.dumps(listed, ensure_ascii=rng.random() < 0.5)
    documents = document if _is_objects(document) else [document]
    return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


def _is_objects(document: Any) -> bool:
    return isinstance(document, list) and any(isinstance(item, dict) and "kind" in item for item in document)


def torn(text: str, rng: Random) -> bytes:
    """The text, damaged as files are; most of it stays as it was."""
    at = rng.randrange(len(text) + 1)
    lines = text.splitlines(keepends=True)
    line = rng.randrange(len(lines)) if lines else 0
    forms: tuple[Callable[[], str], ...] = (
        lambda: text[:at],
        lambda: text[:at] + text[at + rng.randint(1, 20) :],
        lambda: text[:at] + rng.choice("{}[]:,'\"\t&*!|>%@`\\\0\x7f\ufeff\u2028") + text[at:],
        lambda: "".join([*lines[:line], lines[line], *lines[line:]]) if lines else text,  # a key twice
        lambda: f"loop: &loop [*loop]\n---\n{text}",
        lambda: f"{text}\n---\nmap: &map\n  inner: *map\n",
        lambda: f"{text}\n---\n{'[' * 3000}",
        lambda: f"{text}\n---\n" + "".join(f"{' ' * depth}a:\n" for depth in range(1500)),
        lambda: f"{text}\n---\n!!python/object/apply:os.system ['true']\n",
        lambda: text.replace(": ", ":", 3),
        lambda: text.replace("\n", "\r\n"),
        lambda: text * 2,
        lambda: "",
    )
    damaged = rng.choice(forms)().encode("utf-8", "surrogatepass")
    return rng.choice((damaged, damaged, damaged, b"\xef\xbb\xbf" + damaged, damaged.replace(b"a", b"\xff", 1)))


def mutated_csv(text: str, rng: Random) -> str:
    """A CSV file with some cells, rows or columns spoilt."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(rng.choice((1, 1, 2, 3))):
        row = rng.choice(rows)
        at = rng.randrange(len(row)) if row else 0
        match rng.choice(("cell", "cell", "cell", "cell", "short", "long", "twice", "gone", "empty")):
            case "cell" if row:
                row[at] = str(extreme(rng)) if rng.random() < 0.7 else f'"{row[at]}'
            case "short" if row:
                row.pop(at)
            case "long":
                row.insert(at, str(extreme(rng)))
            case "twice":
                rows.append(list(row))
            case "gone" if len(rows) > 1:
                rows.remove(row)
            case _:
                row.clear()
    return "".join(",".join(row) + "\n" for row in rows)
