"""Results of simulations from files or plain data: JSON in, typed runs out, a fault with file and field.

Reads what `bayplan simulate -o json` writes, of one configuration or of several, without a copy as plain data between.
Fields that a run does not have are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bayplan.analysis.simulation.results.run_format import FORMAT, ClusterSeries, Run
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.json_documents import JsonError, as_text, parse_json

RUNS_FORMAT = "bayplan simulations v1"
T = TypeVar("T")

_AT = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"Expected `(.*)`, got `(.*)`")
_UNKNOWN = re.compile(r"Invalid enum value (.*)")


class _Head(msgspec.Struct):
    format: Any


class _Runs(msgspec.Struct):
    runs: list[msgspec.Raw]


def read_runs(path: str) -> list[Run]:
    """The runs in a file: one, or those of several configurations. Raises InvalidObject."""
    try:
        text = as_text(Path(path).read_bytes())
        found = _format_of(text)
    except OSError as error:
        raise InvalidObject([Fault(path, "", "", error.strerror or "cannot be read")]) from error
    except (JsonError, ValueError) as error:
        message = f"not a result of `bayplan simulate -o json`: {error}"
        raise InvalidObject([Fault(path, "", "", message)]) from error
    if found != RUNS_FORMAT:
        return [as_run(text, path)]
    try:
        runs = _decode(text, _Runs).runs
    except msgspec.ValidationError:
        runs = []
    if not runs:
        raise InvalidObject([Fault(path, "", "runs", "must be a list of runs")])
    return [as_run(run, path, f"runs[{place}]") for place, run in enumerate(runs)]


def as_run(document: Any, source: str, place: str = "") -> Run:
    """A run from JSON text or plain data; InvalidObject otherwise. `place` is its position in the source."""
    found = _format_of(document)
    if found is None:
        message = "not a result of `bayplan simulate -o json`: it has no `format`"
        raise InvalidObject([Fault(source, "", place, message)])
    if found != FORMAT:
        message = f"is {found!r}; expected {FORMAT!r}, as `bayplan simulate -o json` writes"
        raise InvalidObject([Fault(source, "", _joined(place, "format"), message)])
    try:
        run = _decode(document, Run)
    except msgspec.ValidationError as error:
        field, message = _located(str(error))
        raise InvalidObject([Fault(source, "", _joined(place, field), message)]) from error
    faults = [Fault(source, "", _joined(place, field), message) for field, message in _uneven(run.series)]
    if faults:
        raise InvalidObject(faults)
    return run


def _format_of(document: Any) -> Any:
    """None if there is none. JsonError for text that is not JSON: this reads past all of it."""
    try:
        return _decode(document, _Head).format
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, RecursionError):
        return parse_json(memoryview(document))  # raises, and says where


def _decode(document: Any, kind: type[T]) -> T:
    if isinstance(document, bytes | msgspec.Raw):
        return msgspec.json.decode(document, type=kind)
    return msgspec.convert(document, kind)


def _uneven(series: ClusterSeries) -> Iterator[tuple[str, str]]:
    """Columns of the series that do not fit its times."""
    columns: dict[str, Sequence[float]] = {
        **{f"queue.{place}": lengths for place, lengths in series.queue.items()},
        **{f"used.{name}": shares for name, shares in series.used.items()},
        "running": series.running,
        "fragmentation": series.fragmentation,
    }
    for name, values in columns.items():
        if len(values) != len(series.t):
            yield f"series.{name}", f"has {len(values):,} values for {len(series.t):,} timestamps"


def _located(said: str) -> tuple[str, str]:
    """msgspec's words as a field and what is wrong with it."""
    found = _AT.fullmatch(said)
    message, field = (found[1], found[2]) if found else (said, "")
    if missing := _MISSING.fullmatch(message):
        return _joined(field, missing[1]), "is missing"
    if expected := _EXPECTED.fullmatch(message):
        return field, f"must be {expected[1].replace(' | ', ' or ')}, not {expected[2]}"
    unknown = _UNKNOWN.fullmatch(message)
    return field, f"cannot be {unknown[1]}" if unknown else message


def _joined(place: str, field: str) -> str:
    return f"{place}.{field}" if place and field else place or field
