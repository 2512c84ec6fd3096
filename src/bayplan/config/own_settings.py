"""bayplan's own settings in a KubeSchedulerConfiguration: the args of a plugin that nobody enables.

The format refuses fields it does not know, but for one place: `pluginConfig` may hold args for plugins that are not
built in, and kube-scheduler leaves those alone. So an entry named `bayplan` says what only bayplan understands, and the
real scheduler starts with the same file. See docs/decisions/0015-no-pod-slept-through.md. Takes the profiles as read
from the file; gives the settings. They are the whole scheduler's: profiles that name them must agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from bayplan.config.decoding import decode_struct
from bayplan.config.faults import ConfigFaults
from bayplan.config.schema import KubeSchedulerProfile, Part
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.preemption.safety import ForeignVictims, PreemptionSafety

OWN_ENTRY: Final = "bayplan"

#: Some of the fields of `PreemptionSafety` by name, to replace what a configuration says.
SafetySettings: TypeAlias = Mapping[str, Any]


class OwnSettings(Part, frozen=True):
    """What the entry may say."""

    wakeups: str | None = None
    foreign_victims: str | None = None
    evictions_per_minute: int | None = None
    evictions_per_minute_per_namespace: int | None = None
    preemption_loop_rounds: int | None = None


#: The values that a field may have, for those that are words.
_WORDS: Final[Mapping[str, type[Wakeups] | type[ForeignVictims]]] = {
    "wakeups": Wakeups,
    "foreign_victims": ForeignVictims,
}


class Own(NamedTuple):
    """All settings, with what holds where the file is silent."""

    wakeups: Wakeups
    safety: PreemptionSafety


def read_own_settings(profiles: Sequence[KubeSchedulerProfile], safety: PreemptionSafety, faults: ConfigFaults) -> Own:
    """What the configuration asks for; `safety` holds where it does not say. Without an entry as kube-scheduler."""
    found: dict[str, Any] = {}
    for position, profile in enumerate(profiles):
        for place, entry in enumerate(profile.plugin_config):
            if entry.name != OWN_ENTRY or entry.args is None:
                continue
            path = f"profiles[{position}].pluginConfig[{place}].args"
            _take(decode_struct(OwnSettings, entry.args, path, faults), found, path, faults)
    wakeups = Wakeups(found.pop("wakeups", Wakeups.UPSTREAM))
    return Own(wakeups, with_settings(safety, found))


def _take(given: OwnSettings, found: dict[str, Any], path: str, faults: ConfigFaults) -> None:
    for info in msgspec.structs.fields(given):
        value, field_path = getattr(given, info.name), f"{path}.{info.encode_name}"
        if value is None or not _is_valid(info.name, value, field_path, faults):
            continue
        if found.setdefault(info.name, value) != value:
            faults.add(field_path, "must be the same for all profiles")


def _is_valid(name: str, value: Any, path: str, faults: ConfigFaults) -> bool:
    if name not in _WORDS:
        if value < 0:
            faults.invalid(path, value, "must be greater than or equal to 0")
        return bool(value >= 0)
    words = [word.value for word in _WORDS[name]]
    if value not in words:
        faults.unsupported(path, value, words)
    return value in words


def with_settings(safety: PreemptionSafety, given: SafetySettings | None) -> PreemptionSafety:
    """The limits with some of them replaced. Raises ValueError for names and values that do not exist."""
    fields = dict(given or {})
    if "foreign_victims" in fields:
        fields["foreign_victims"] = ForeignVictims(fields["foreign_victims"])
    if any(value < 0 for name, value in fields.items() if name != "foreign_victims"):
        raise ValueError("preemption limits must be greater than or equal to 0")
    try:
        return replace(safety, **fields)
    except TypeError as error:
        raise ValueError(f"preemption limits: {error}") from error
