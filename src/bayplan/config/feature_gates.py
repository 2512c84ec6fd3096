"""Feature gates by name, as kube-scheduler's `--feature-gates` takes them: `A=true,B=false`.

Takes such a text or a mapping; gives the gates that change decisions as one `FeatureGates`. What kube-scheduler would
not start with is refused in its words: unknown gates, locked ones, those that need others. Settings that it would take
but that bayplan cannot work with are refused by name. All other gates have no effect on scheduling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Final

from bayplan.config.known_gates import DEPENDENCIES, KNOWN_GATES, Stage
from bayplan.core.feature_gates import FeatureGates

GateSettings = str | Mapping[str, bool] | None

#: Gates that stand for all of a stage that are not set themselves.
WHOLE_STAGES: Final = MappingProxyType({"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA})

_POD_GROUPS = "bayplan schedules pods one by one, and has no pod groups"
#: Gates that kube-scheduler reads and that have to keep their default here, each with the reason.
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "DRANodeAllocatableResources": "devices do not take from a node's cpu and memory here",
        "DRAWorkloadResourceClaims": _POD_GROUPS,
        "GangScheduling": _POD_GROUPS,
        "GenericWorkload": _POD_GROUPS,
        "SchedulerAsyncPreemption": "evictions are always under way while other pods are tried here",
        "TopologyAwareWorkloadScheduling": _POD_GROUPS,
        "WorkloadAwarePreemption": _POD_GROUPS,
    }
)
#: As Go's strconv.ParseBool reads them.
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
GO_BOOLEANS: Final = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class FeatureGateError(ValueError):
    """A setting that kube-scheduler or bayplan cannot work with; the message names the gate."""


def read_feature_gates(given: GateSettings) -> FeatureGates:
    """The gates as set, the others with their defaults. Raises FeatureGateError."""
    settings = _parsed(given) if isinstance(given, str) else dict(given or {})
    for name, value in settings.items():
        if not isinstance(value, bool):
            raise FeatureGateError(f"invalid value of {name}={value}, expected true or false")
    _raise_if_any(_faults(settings))
    gates = _resolved(settings)
    _raise_if_any(_unmet_dependencies(gates))
    _raise_if_any(
        f"{name}={_written(gates[name])} is not supported: {why}"
        for name, why in REFUSED.items()
        if gates[name] is not KNOWN_GATES[name].default
    )
    return FeatureGates(**{field: gates[name] for name, field in GATE_FIELDS.items()})


def field_of(name: str) -> str:
    """The field of `FeatureGates` that a gate would have: `DRADeviceTaints` is `dra_device_taints`."""
    return _WORD_START.sub("_", name).lower()


def _parsed(text: str) -> dict[str, bool]:
    settings: dict[str, bool] = {}
    for part in text.split(","):
        if not part:
            continue
        name, equals, value = (piece.strip() for piece in part.removeprefix("kube:").partition("="))
        if not equals:
            raise FeatureGateError(f"missing bool value for {name}")
        if value not in GO_BOOLEANS:
            problem = f'strconv.ParseBool: parsing "{value}": invalid syntax'
            raise FeatureGateError(f"invalid value of {name}={value}, err: {problem}")
        settings[name] = GO_BOOLEANS[value]
    return settings


def _faults(settings: Mapping[str, bool]) -> list[str]:
    """As upstream: the first unknown gate is the only fault reported."""
    for name in settings:
        if name not in KNOWN_GATES and name not in WHOLE_STAGES:
            return [f"unrecognized feature gate: {name}"]
    return [
        f"cannot set feature gate {name} to {_written(value)}, feature is locked to {_written(not value)}"
        for name, value in settings.items()
        if name in KNOWN_GATES and KNOWN_GATES[name].is_locked and value is not KNOWN_GATES[name].default
    ]


def _resolved(settings: Mapping[str, bool]) -> dict[str, bool]:
    """Every known gate: as set, as set for its whole stage, or its default."""
    by_stage = {stage: settings[name] for name, stage in WHOLE_STAGES.items() if name in settings}
    return {name: settings.get(name, by_stage.get(gate.stage, gate.default)) for name, gate in KNOWN_GATES.items()}


def _unmet_dependencies(gates: Mapping[str, bool]) -> Iterable[str]:
    for name, needed in DEPENDENCIES.items():
        missing = [other for other in needed if not gates[other]]
        if gates[name] and missing:
            yield f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"


def _raise_if_any(messages: Iterable[str]) -> None:
    """Several at once look as Go's aggregated errors do."""
    found = list(messages)
    if found:
        raise FeatureGateError(found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _written(value: bool) -> str:
    return "true" if value else "false"


#: Gates that work both ways, with the field each of them has.
GATE_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: field_of(name)
        for name in sorted(KNOWN_GATES)
        if field_of(name) in {field.name for field in fields(FeatureGates)}
    }
)
