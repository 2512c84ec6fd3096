"""Results of simulations from files: JSON in, runs as plain data out, every fault with file and field.

Reads what `bayplan simulate -o json` writes, of one configuration or of several. Checks all that a comparison looks at,
so that nothing after it need doubt the data; fields that it does not know are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bayplan.analysis.simulation.results.result import FORMAT
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.json_documents import JsonError, as_text, parse_json

RUNS_FORMAT = "bayplan simulations v1"
Plain = dict[str, Any]

_AT = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"Expected `(.*)`, got `(.*)`")


class _Quantiles(msgspec.Struct):
    count: int
    p50: float
    p90: float
    p99: float
    max: float


class _PodFigures(msgspec.Struct):
    created: int
    placed: int
    finished: int
    failed: int
    deleted: int
    preempted: int
    pending: int


class _Summary(msgspec.Struct, rename="camel"):
    pods: _PodFigures
    waiting: dict[str, _Quantiles]
    evictions: dict[str, int]
    evictions_by_preemptor: dict[str, int]
    budgets_broken: int
    utilisation: dict[str, float]
    fragmentation: dict[str, float]


class _Series(msgspec.Struct):
    t: list[float]
    queue: dict[str, list[int]]
    used: dict[str, list[float]]


class _Pod(msgspec.Struct, rename={"class_name": "class"}):
    key: str
    class_name: str
    priority: int
    owner: str
    node: str | None
    created: float
    bound: float | None
    ended: float | None
    end: str


class _Victim(msgspec.Struct):
    pod: str
    priority: int
    breaks: list[str]


class _Preemption(msgspec.Struct):
    t: float
    preemptor: str
    priority: int
    node: str
    victims: list[_Victim]
    decided: str


class _Run(msgspec.Struct):
    """What a comparison looks at."""

    seed: int
    configs: str
    inputs: str
    seconds: float
    partial: bool
    classes: dict[str, int]
    summary: _Summary
    series: _Series
    nodes: list[dict[str, Any]]
    pods: list[_Pod]
    preemptions: list[_Preemption]
    chains: list[dict[str, Any]]
    loops: list[dict[str, Any]]


def read_runs(path: str) -> list[Plain]:
    """The runs in a file: one, or those of several configurations. Raises InvalidObject."""
    try:
        document = parse_json(memoryview(as_text(Path(path).read_bytes())))
    except OSError as error:
        raise InvalidObject([Fault(path, "", "", error.strerror or "cannot be read")]) from error
    except (JsonError, ValueError) as error:
        raise InvalidObject([Fault(path, "", "", str(error))]) from error
    if isinstance(document, dict) and document.get("format") == RUNS_FORMAT:
        runs = document.get("runs")
        if not isinstance(runs, list) or not runs:
            raise InvalidObject([Fault(path, "", "runs", "must be a list of runs")])
        return [check_run(run, path, f"runs[{place}]") for place, run in enumerate(runs)]
    return [check_run(document, path)]


def check_run(document: Any, source: str, place: str = "") -> Plain:
    """The document itself, if it is a run; InvalidObject otherwise. `place` is where in the source it stands."""
    if not isinstance(document, dict) or "format" not in document:
        raise InvalidObject(
            [Fault(source, "", place, "not a result of `bayplan simulate -o json`: it has no `format`")]
        )
    if document["format"] != FORMAT:
        message = f"is {document['format']!r}; expected {FORMAT!r}, as `bayplan simulate -o json` writes"
        raise InvalidObject([Fault(source, "", _joined(place, "format"), message)])
    try:
        run = msgspec.convert(document, _Run)
    except msgspec.ValidationError as error:
        field, message = _located(str(error))
        raise InvalidObject([Fault(source, "", _joined(place, field), message)]) from error
    faults = [Fault(source, "", _joined(place, field), message) for field, message in _uneven(run.series)]
    if faults:
        raise InvalidObject(faults)
    return document


def _uneven(series: _Series) -> Iterator[tuple[str, str]]:
    """Columns of the series that do not fit its times."""
    columns: dict[str, Mapping[str, Sequence[float]]] = {"queue": series.queue, "used": series.used}
    for group, named in columns.items():
        for name, values in named.items():
            if len(values) != len(series.t):
                yield f"series.{group}.{name}", f"has {len(values):,} values for {len(series.t):,} times"


def _located(said: str) -> tuple[str, str]:
    """msgspec's words as a field and what is wrong with it."""
    found = _AT.fullmatch(said)
    message, field = (found[1], found[2]) if found else (said, "")
    if missing := _MISSING.fullmatch(message):
        return _joined(field, missing[1]), "is missing"
    if expected := _EXPECTED.fullmatch(message):
        return field, f"must be {expected[1].replace(' | ', ' or ')}, not {expected[2]}"
    return field, message


def _joined(place: str, field: str) -> str:
    return f"{place}.{field}" if place and field else place or field
