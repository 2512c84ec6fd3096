"""What another version makes of the scheduler's flags and configuration file: refused, or with other defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bayplan.config.feature_gates import GATE_FIELDS, GateSettings, refused_gates
from bayplan.config.loading import ConfigSource, load_configuration
from bayplan.config.releases import KubernetesRelease, release_of
from bayplan.config.writing import configuration_document
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.errors import InvalidObject


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """A setting that the other version refuses, or one that has another default there."""

    setting: str  # `--feature-gates GangScheduling`, or a field of the file
    text: str
    is_refused: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"setting": self.setting, "text": self.text, "refused": self.is_refused}


def split_gates(
    given: Mapping[str, bool], release: KubernetesRelease
) -> tuple[dict[str, bool], list[ConfigurationChange]]:
    """The settings that the version takes, and those that it refuses, in its own words."""
    refused = refused_gates(given, release)
    taken = {name: value for name, value in given.items() if name not in refused}
    return taken, [ConfigurationChange(f"--feature-gates {name}", why, True) for name, why in refused.items()]


def changed_defaults(given: GateSettings, before: FeatureGates, after: FeatureGates) -> Iterator[ConfigurationChange]:
    """Gates that nobody has set, and that are not what they were."""
    names = given if isinstance(given, Mapping) else {}
    for gate, field in GATE_FIELDS.items():
        is_on = getattr(after, field)
        if gate not in names and is_on is not getattr(before, field):
            words = ("off", "on") if is_on else ("on", "off")
            yield ConfigurationChange(f"--feature-gates {gate}", f"{words[1]} by default, was {words[0]}")


def file_changes(config: ConfigSource, before: FeatureGates, after: FeatureGates) -> list[ConfigurationChange]:
    """What the other version refuses of the file; if it takes it, the fields whose meaning or default differs."""
    try:
        new = configuration_document(load_configuration(config, after, release=release_of(after)))
    except InvalidObject as error:
        return [ConfigurationChange(fault.field, fault.message, True) for fault in error.faults]
    old = configuration_document(load_configuration(config, before, release=release_of(before)))
    return [ConfigurationChange(path, text) for path, text in _differences(old, new, "")]


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, str]]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif _are_named(old) and _are_named(new):
        yield from _named_differences(old, new, path)
    else:
        yield path, f"{_written(new)}, was {_written(old)}"


def _named_differences(old: list[Any], new: list[Any], path: str) -> Iterator[tuple[str, str]]:
    """Of lists of plugins or profiles: by name, and in their order."""
    before, after = ({_name(each): each for each in side} for side in (old, new))
    for name in dict.fromkeys([*before, *after]):
        yield from _differences(before.get(name), after.get(name), f"{path}[{name}]")
    common = [name for name in before if name in after]
    order = [name for name in after if name in before]
    moved = [name for name, other in zip(order, common, strict=True) if name != other]
    if moved:
        yield path, f"another order: {', '.join(moved)}"


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and _name(each) for each in value)


def _name(value: Mapping[str, Any]) -> str:
    """Of a profile, a plugin or a plugin's arguments; "" of anything else."""
    return str(value.get("schedulerName") or value.get("name") or "")


def _written(value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_written(each)}" for key, each in value.items()) + "}"
    return str(value)
