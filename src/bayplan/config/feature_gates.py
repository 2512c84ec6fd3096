"""Feature gates by name, as kube-scheduler's `--feature-gates` takes them: `A=true,B=false`.

Takes such a text or a mapping; gives the gates that change decisions as one `FeatureGates`. What kube-scheduler would
not start with is refused in its words: unknown gates, locked ones, those that need others. Settings that it would take
but that bayplan cannot work with are refused by name. All other gates have no effect on scheduling.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Final, NamedTuple

from bayplan.config.known_gates import GateStage
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES, KubernetesRelease
from bayplan.core.feature_gates import FeatureGates

GateSettings = str | Mapping[str, bool] | None

#: Gates that stand for all of a stage that are not set themselves.
WHOLE_STAGES: Final = MappingProxyType({"AllAlpha": GateStage.ALPHA, "AllBeta": GateStage.BETA})

_POD_GROUPS = "pods are decided on one by one here, without pod groups"
_GROUPS_OF_GROUPS = "groups of groups are not known here"
#: Gates that kube-scheduler reads and that have to keep their default here, each with the reason.
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CompositePodGroup": _GROUPS_OF_GROUPS,
        "DRADerivedAttributes": "attributes that follow from others are not worked out here",
        "DRADeviceCompatibilityGroups": "which devices go together is not looked at here",
        "DRANodeAllocatableResources": "devices do not take from a node's cpu and memory here",
        "DRAOptionalNodeOperations": "allocated devices do not say here which operations of nodes they skip",
        "DRAWorkloadResourceClaims": _POD_GROUPS,
        "GangScheduling": _POD_GROUPS,
        "GenericWorkload": _POD_GROUPS,
        "InPlacePodVerticalScalingSchedulerPreemption": "pods on a node do not preempt for more room here",
        "PodGroupPreemptionPolicy": _POD_GROUPS,
        "SchedulerAsyncPreemption": "evictions are always under way while other pods are tried here",
        "TopologyAwareWorkloadScheduling": _POD_GROUPS,
        "WorkloadAwarePreemption": _POD_GROUPS,
        "WorkloadWithJob": _POD_GROUPS,
    }
)
#: Those of them that can be set for questions that know of groups, in a version whose groups are known.
GROUP_GATES: Final = frozenset(
    {
        "DRAWorkloadResourceClaims",
        "GenericWorkload",
        "PodGroupPreemptionPolicy",
        "TopologyAwareWorkloadScheduling",
        "WorkloadWithJob",
    }
)
#: As Go's strconv.ParseBool reads them.
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
GO_BOOLEANS: Final = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class FeatureGateError(ValueError):
    """A setting that kube-scheduler or bayplan cannot work with; the message names the gate."""

    def __init__(self, message: str, gates: Collection[str] = ()) -> None:
        super().__init__(message)
        self.gates = gates
        """Those that are at fault, and those that they depend on."""


class _Fault(NamedTuple):
    message: str
    gates: tuple[str, ...]


def read_feature_gates(given: GateSettings, release: KubernetesRelease, *, with_groups: bool = False) -> FeatureGates:
    """The gates as set, the others with their defaults in that version. Raises FeatureGateError.

    Only those who decide on pod groups, `with_groups`, may switch them on.
    """
    settings = settings_of(given)
    _raise_if_any(_faults(settings, release))
    gates = _resolved(settings, release)
    _raise_if_any(_unmet_dependencies(gates, release))
    _raise_if_any(
        _Fault(f"{name}={_written(gates[name])} is not supported: {why}", (name,))
        for name, why in REFUSED.items()
        if name in gates
        and gates[name] is not release.gates[name].default
        and not (with_groups and release.has_pod_groups and name in GROUP_GATES)
    )
    fields_set = {field: gates.get(name, False) for name, field in GATE_FIELDS.items()}
    return FeatureGates(**fields_set, release=release.behavior)


def changed_gates(given: GateSettings, release: KubernetesRelease) -> dict[str, bool]:
    """Gates that are not as the version has them by default, whether or not its scheduler reads them."""
    resolved = _resolved(settings_of(given), release)
    return {name: value for name, value in resolved.items() if value is not release.gates[name].default}


def settings_of(given: GateSettings) -> dict[str, bool]:
    """The settings by name, whether or not there are such gates. Raises FeatureGateError."""
    settings = _parsed(given) if isinstance(given, str) else dict(given or {})
    for name, value in settings.items():
        if not isinstance(value, bool):
            raise FeatureGateError(f"invalid value of {name}={value}, expected true or false")
    return settings


def refused_gates(settings: Mapping[str, bool], release: KubernetesRelease) -> dict[str, str]:
    """Which of these a version would not start with, each with what it says; the rest can be set."""
    refused: dict[str, str] = {}
    for name, value in settings.items():
        for fault in _faults({name: value}, release):
            refused[name] = fault.message
    while True:
        left = {name: value for name, value in settings.items() if name not in refused}
        try:
            read_feature_gates(left, release)
        except FeatureGateError as error:
            culprit = next((name for name in left if name in error.gates), next(iter(left)))
            refused[culprit] = str(error)
        else:
            return refused


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


def _faults(settings: Mapping[str, bool], release: KubernetesRelease) -> list[_Fault]:
    """As upstream: the first unknown gate is the only fault reported."""
    known = release.gates
    for name in settings:
        if name not in known and name not in WHOLE_STAGES:
            return [_Fault(f"unrecognized feature gate: {name}", (name,))]
    return [
        _Fault(
            f"cannot set feature gate {name} to {_written(value)}, feature is locked to {_written(not value)}", (name,)
        )
        for name, value in settings.items()
        if name in known and known[name].is_locked and value is not known[name].default
    ]


def _resolved(settings: Mapping[str, bool], release: KubernetesRelease) -> dict[str, bool]:
    """Every known gate: as set, as set for its whole stage, or its default."""
    by_stage = {stage: settings[name] for name, stage in WHOLE_STAGES.items() if name in settings}
    return {name: settings.get(name, by_stage.get(gate.stage, gate.default)) for name, gate in release.gates.items()}


def _unmet_dependencies(gates: Mapping[str, bool], release: KubernetesRelease) -> Iterator[_Fault]:
    for name, needed in release.gate_dependencies.items():
        missing = [other for other in needed if not gates[other]]
        if gates[name] and missing:
            message = f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
            yield _Fault(message, (name, *missing))


def _raise_if_any(faults: Iterable[_Fault]) -> None:
    """Several at once look as Go's aggregated errors do."""
    found = list(faults)
    if found:
        first, *others = [fault.message for fault in found]
        message = f"[{', '.join((first, *others))}]" if others else first
        raise FeatureGateError(message, {name for fault in found for name in fault.gates})


def _written(value: bool) -> str:
    return "true" if value else "false"


#: Gates that work both ways, with the field each of them has.
GATE_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: field_of(name)
        for name in sorted({name for release in RELEASES.values() for name in release.gates})
        if field_of(name) in {field.name for field in fields(FeatureGates)}
    }
)

DEFAULT_GATES: Final = read_feature_gates(None, DEFAULT_RELEASE)
"""What the default version of Kubernetes does unless gates are set."""
