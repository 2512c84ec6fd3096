"""The log: named events with fields, as lines that readers of kube-scheduler's log know, or as JSON.

`configure` sets structlog up for the process; everybody logs with `structlog.get_logger(name)`. An event may have a
field `v`, its level as in klog: it is written if `-v` is at least that. Errors are always written. Fields that are
numbers or true and false stand as they are, everything else in quotes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from enum import StrEnum
from typing import Any, TextIO

from bayplan.client.loggers import structlog
from bayplan.model.time_units import MICROSECOND, SECOND

_LEVELS = {"debug": "I", "info": "I", "warning": "W", "error": "E", "critical": "F"}
_NAME = "logger"

Event = MutableMapping[str, Any]


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def configure(
    log_format: LogFormat, verbosity: int, stream: TextIO | None = None, clock: Callable[[], int] = time.time_ns
) -> None:
    """From now on events go to the stream, by default standard error, in this format."""
    render = _json_line if log_format is LogFormat.JSON else _text_line

    def chosen(_logger: Any, method: str, event: Event) -> Event:
        if event.get("v", 0) > verbosity and _LEVELS[method] == "I":
            raise structlog.DropEvent
        return event

    def rendered(logger: Any, method: str, event: Event) -> str:
        event[_NAME] = logger.name
        return render(method, event, clock())

    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, chosen, rendered],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        logger_factory=_factory(stream),
        cache_logger_on_first_use=False,
    )


class _Logger:
    """Writes lines, to standard error as it is at that time unless there is a stream; knows whose."""

    def __init__(self, stream: TextIO | None, name: str) -> None:
        self.name = name
        self._stream = stream

    def msg(self, line: str) -> None:
        stream = self._stream or sys.stderr
        # Nothing depends on a log: a scheduler goes on when nobody reads it any more.
        with suppress(OSError, ValueError):
            stream.write(f"{line}\n")
            stream.flush()

    debug = info = warning = error = critical = msg


def _factory(stream: TextIO | None) -> Callable[..., _Logger]:
    return lambda *names: _Logger(stream, names[0] if names else "bayplan")


def _text_line(method: str, event: Event, now: int) -> str:
    """`I1116 14:50:28.123456       1 leaderelection] "Failed to acquire lease" lock="kube-system/kube-scheduler"`."""
    moment = time.strftime("%m%d %H:%M:%S", time.localtime(now // SECOND))
    head = f"{_LEVELS[method]}{moment}.{now % SECOND // MICROSECOND:06} {os.getpid():7} {event.pop(_NAME)}]"
    event.pop("v", None)
    text = json.dumps(event.pop("event"), ensure_ascii=False)
    return " ".join([head, text, *_pairs(event)])


def _pairs(event: Mapping[str, Any]) -> list[str]:
    # As in klog, what went wrong comes first.
    fields = sorted(event.items(), key=lambda field: field[0] != "err")
    return [f"{name}={_value(value)}" for name, value in fields]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(str(value), ensure_ascii=False)


def _json_line(method: str, event: Event, now: int) -> str:
    first: dict[str, Any] = {"ts": now // MICROSECOND / 1_000, "caller": event.pop(_NAME), "msg": event.pop("event")}
    if _LEVELS[method] == "I":
        first["v"] = event.pop("v", 0)
    else:
        event.pop("v", None)
    return json.dumps({**first, **event}, default=str, ensure_ascii=False)
