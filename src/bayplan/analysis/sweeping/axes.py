"""Axes of a sweep: what varies, and what each value of it makes of a KubeSchedulerConfiguration.

    seed                    the seed of a run; each combination of the others is run with every seed
    config                  None or "default", a file, or what such a file holds
    config.PATH             any field of the configuration: config.profiles[0].percentageOfNodesToScore
    weight.PLUGIN           the weight of a score plugin, in every profile; 0: it does not score
    args.PLUGIN.PATH        an argument of a plugin, in every profile
    gate.GATE               a feature gate
    kubernetesVersion       whose scheduler decides
    pool.NAME.FIELD         a field of a NodePool: pool.spot.max
    autoscaler.FIELD        a field of the Autoscaler: autoscaler.expander
    nodes, nodes.TEMPLATE   nodes to add: `8cpu,32Gi=5`, or as many of a template as the value says
    timeline, trace, recording, until, wakeups        as `simulate` takes them
    trace.shrink …, recording.nodes                   as `load_trace` and `load_recording` take them

Takes names and values; refuses names that do not exist. Does not know how values are combined.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from bayplan.analysis.sweeping.setting_values import check_value
from bayplan.config.faults import CONFIGURATION_KIND
from bayplan.config.schema import API_VERSION
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.near_matches import did_you_mean, near

SEED: Final = "seed"
CONFIG: Final = "config"
DEFAULT_CONFIG: Final = "default"
TRACE_OPTIONS: Final = ("shrink", "stretch", "repeat", "departures", "nodes")
RECORDING_OPTIONS: Final = ("nodes",)
_PLAIN = (SEED, CONFIG, "kubernetesVersion", "nodes", "timeline", "trace", "recording", "until", "wakeups")
_PREFIXES = (
    "config.",
    "weight.",
    "args.",
    "gate.",
    "nodes.",
    "pool.",
    "autoscaler.",
    *(f"trace.{name}" for name in TRACE_OPTIONS),
    *(f"recording.{name}" for name in RECORDING_OPTIONS),
)
_STEP = re.compile(r"([^.\[\]]+)((?:\[\d+\])*)(?:\.|$)")


@dataclass(frozen=True, slots=True)
class Axis:
    """Values to choose from, or the bounds of numbers to draw."""

    name: str
    values: tuple[Any, ...] = ()
    bounds: tuple[float, float] | None = None
    is_whole: bool = False
    is_logarithmic: bool = False


def read_axes(given: Mapping[str, Any], source: str = "") -> list[Axis]:
    """Raises InvalidObject with every fault."""
    faults: list[Fault] = []
    axes = []
    for name, values in given.items():
        try:
            check_name(str(name))
            axes.append(_axis(str(name), values))
        except ValueError as error:
            faults.append(Fault(source, "", f"axes.{name}", str(error)))
    if faults:
        raise InvalidObject(faults)
    return axes


def check_name(name: str) -> None:
    """Raises ValueError for an axis that does not exist."""
    if name in _PLAIN:
        return
    if name.startswith(_PREFIXES):
        if name.startswith(("config.", "args.", "autoscaler.")):
            steps_of(name.partition(".")[2])
        if name.startswith("args.") and name.count(".") < 2:
            raise ValueError("expected args.PLUGIN.FIELD")
        if name.startswith("pool.") and name.count(".") < 2:
            raise ValueError("expected pool.NAME.FIELD")
        if name.endswith("."):
            raise ValueError("ends with a dot")
        return
    known = [*_PLAIN, *(prefix for prefix in _PREFIXES)]
    hint = did_you_mean(near(name, known)) or f"; axes are {', '.join(known)}"
    raise ValueError(f"no such axis{hint}")


def _axis(name: str, given: Any) -> Axis:
    if isinstance(given, Mapping) and {"from", "to"} <= given.keys() <= {"from", "to", "log"}:
        return _bounded(name, given)
    values = _span(given) if name == SEED and isinstance(given, str) else given
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError("expected a list of values, or from and to")
    if not values:
        raise ValueError("has no values")
    if name == SEED and not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in values):
        raise ValueError("seeds are whole numbers")
    for value in values:
        check_value(name, value)
    labels = [label_of(value) for value in values]
    twice = next((label for place, label in enumerate(labels) if label in labels[:place]), None)
    if twice is not None:
        raise ValueError(f"has {twice} twice")
    return Axis(name, tuple(values))


def _bounded(name: str, given: Mapping[str, Any]) -> Axis:
    low, high = given["from"], given["to"]
    if not all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in (low, high)) or low >= high:
        raise ValueError(f"from must be a number less than to, not {low!r} and {high!r}")
    if given.get("log") and low <= 0:
        raise ValueError("from must be greater than 0 for log")
    check_value(name, low)
    is_whole = isinstance(low, int) and isinstance(high, int)
    if name == SEED:
        return Axis(name, tuple(range(low, high + 1)))
    return Axis(name, bounds=(low, high), is_whole=is_whole, is_logarithmic=bool(given.get("log")))


def _span(text: str) -> tuple[int, ...]:
    """`1..20`."""
    found = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", text.strip())
    if found is None or int(found[1]) > int(found[2]):
        raise ValueError(f"expected seeds such as 1..20, not {text!r}")
    return tuple(range(int(found[1]), int(found[2]) + 1))


def label_of(value: Any) -> Any:
    """What a table says for a value: numbers and texts as they are, everything else in short."""
    if value is None:
        return DEFAULT_CONFIG
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | str):
        return value
    return _short(value)


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {label_of(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence):
        return ", ".join(str(label_of(inner)) for inner in value)
    return str(value)


# ---------------------------------------------------------------- fields of a configuration


def changes_config(name: str) -> bool:
    """Whether the axis sets a part of the configuration."""
    return name.startswith(("config.", "weight.", "args."))


def with_setting(config: Mapping[str, Any] | None, name: str, value: Any) -> dict[str, Any]:
    """The configuration with one setting. Raises ValueError if it has no such place."""
    changed: dict[str, Any] = deepcopy(dict(config or {"apiVersion": API_VERSION, "kind": CONFIGURATION_KIND}))
    kind, _, rest = name.partition(".")
    if kind == CONFIG:
        set_field(changed, rest, value)
        return changed
    for profile in _profiles(changed):
        if kind == "weight":
            _set_weight(profile, rest, value)
        else:
            plugin, _, path = rest.partition(".")
            set_field(_args(profile, plugin), path, value)
    return changed


def steps_of(path: str) -> list[str | int]:
    """`a.b[0].c` as names and numbers. Raises ValueError."""
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise ValueError(f"{path!r} is not a path such as profiles[0].percentageOfNodesToScore")
        steps += [found[1], *(int(number) for number in re.findall(r"\d+", found[2]))]
        position = found.end()
    if not steps:
        raise ValueError("the path is empty")
    return steps


def set_field(document: dict[str, Any], path: str, value: Any) -> None:
    """Sets what is at a path such as `a.b[0].c`. Raises ValueError if there is no such place."""
    steps = steps_of(path)
    place: Any = document
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, str) != isinstance(place, dict):
            raise ValueError(f"{path}: {'a list' if isinstance(place, list) else 'no list'} at {step}")
        if isinstance(step, int) and step > len(place):
            raise ValueError(f"{path}: the list has only {len(place)} entries")
        if following is None:
            _put(place, step, value)
        else:
            place = _inner(place, step, [] if isinstance(following, int) else {})


def _inner(place: Any, step: str | int, empty: Any) -> Any:
    if isinstance(step, str):
        if not isinstance(place.get(step), dict | list):
            place[step] = empty
    elif step == len(place):
        place.append(empty)
    return place[step]


def _put(place: Any, step: str | int, value: Any) -> None:
    if isinstance(step, int) and step == len(place):
        place.append(value)
    else:
        place[step] = value


def _profiles(config: dict[str, Any]) -> list[dict[str, Any]]:
    if not config.get("profiles"):
        config["profiles"] = [{"schedulerName": "default-scheduler"}]
    profiles: list[dict[str, Any]] = config["profiles"]
    return profiles


def _set_weight(profile: dict[str, Any], plugin: str, weight: Any) -> None:
    score = _inner(_inner(profile, "plugins", {}), "score", {})
    others = [entry for entry in score.get("enabled") or [] if entry.get("name") != plugin]
    if weight == 0:
        score["enabled"] = others
        score["disabled"] = [*(score.get("disabled") or []), {"name": plugin}]
    else:
        score["enabled"] = [*others, {"name": plugin, "weight": weight}]


def _args(profile: dict[str, Any], plugin: str) -> dict[str, Any]:
    entries = _inner(profile, "pluginConfig", [])
    for entry in entries:
        if entry.get("name") == plugin:
            found: dict[str, Any] = _inner(entry, "args", {})
            return found
    entries.append({"name": plugin, "args": {}})
    made: dict[str, Any] = entries[-1]["args"]
    return made
