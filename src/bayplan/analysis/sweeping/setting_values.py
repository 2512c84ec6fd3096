"""What values a setting of a run can have, in the base of a sweep and on its axes.

Takes the name of an axis and a value of it; raises ValueError for a value that no run could use. What is in files, and
fields of configurations and of pools, are checked where they are read. Does not know which settings exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from bayplan.core.framework.requeue import Wakeups

_WAKEUPS = [wakeups.value for wakeups in Wakeups]


def check_value(name: str, value: Any) -> None:
    """Raises ValueError. None stands for what a run has without the setting."""
    found = _EXPECTED.get(name) or next((each for prefix, each in _BY_PREFIX.items() if name.startswith(prefix)), None)
    if found is not None and value is not None and not found[1](value):
        raise ValueError(f"expected {found[0]}, not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_input(value: Any) -> bool:
    """A file, or what Python callers have read already."""
    return not isinstance(value, bool | int | float | Mapping | bytes)


def _is_file(value: Any) -> bool:
    return _is_input(value) and not isinstance(value, list | tuple)


def _are_nodes(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(each, str) for each in value))


#: What is expected, and whether a value is that.
_Expected = tuple[str, Callable[[Any], bool]]
_TRUTH: _Expected = ("true or false", _is_truth)
_NUMBER: _Expected = ("a number", _is_number)
_COUNT: _Expected = ("a whole number", _is_count)
_EXPECTED: Final[dict[str, _Expected]] = {
    "config": ("a file", lambda value: isinstance(value, str | Path | Mapping)),
    "timeline": ("a file", _is_input),
    "trace": ("a trace such as csv:FILE", _is_file),
    "trace.shrink": _NUMBER,
    "trace.stretch": _NUMBER,
    "trace.repeat": _COUNT,
    "trace.departures": _TRUTH,
    "trace.nodes": _COUNT,
    "recording": ("a file", _is_file),
    "recording.nodes": _TRUTH,
    "nodes": ("nodes such as 8cpu,32Gi=5", _are_nodes),
    "until": ("a time such as 30m", lambda value: isinstance(value, str) or _is_number(value)),
    "wakeups": (" or ".join(_WAKEUPS), lambda value: value in _WAKEUPS),
}
_BY_PREFIX: Final[dict[str, _Expected]] = {"gate.": _TRUTH, "nodes.": _COUNT}
