"""What a KubeSchedulerConfiguration may contain, with defaults; the default plugins; all feature gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import msgspec

from bayplan.config import schema
from bayplan.config.defaults import DEFAULT_MULTI_POINT, EXTENSION_POINTS, IMPLEMENTED_POINTS
from bayplan.config.feature_gates import REFUSED, field_of
from bayplan.config.known_gates import KNOWN_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.own_settings import OWN_ENTRY, OwnSettings
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.writing import configuration_text
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.durations import Duration, format_duration
from website.reference.markdown import code, prose, table

#: The objects of the file, outermost first.
PARTS = (
    schema.KubeSchedulerConfiguration,
    schema.KubeSchedulerProfile,
    schema.Plugins,
    schema.PluginSet,
    schema.Plugin,
    schema.PluginConfig,
    schema.Extender,
    schema.ExtenderTls,
    schema.ManagedResource,
    schema.LeaderElection,
    schema.ClientConnection,
)
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "bytes": "base64"}
_EFFECTIVE = {field.name for field in fields(FeatureGates)}


def page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from ("# Configuration", "")
    yield f"`--config` takes a KubeSchedulerConfiguration, `{schema.API_VERSION}`, as kube-scheduler does. A field"
    yield "that is not listed here is an error. `bayplan run --write-config-to FILE` writes what is in effect."
    for part in PARTS:
        yield from ("", f"## {part.__name__}", "", prose((part.__doc__ or "").splitlines()[0]))
        yield from _fields(part)
    yield from ("## bayplan's own settings", "")
    yield f"The args of a `pluginConfig` entry named `{OWN_ENTRY}`; kube-scheduler ignores them."
    yield "See [Limiting preemption](../guide/safety.md) and [wake-ups](../guide/simulate.md#wake-ups)."
    yield from _fields(OwnSettings)
    yield from ("## Default plugins", "")
    yield from table(("Plugin", "Weight", "Extension points"), map(_plugin, DEFAULT_MULTI_POINT.enabled))
    yield from ("## All defaults as a file", "", "With the arguments of all plugins:", "")
    yield from ("```yaml", configuration_text(load_configuration(None, release=DEFAULT_RELEASE)).rstrip(), "```", "")
    yield from _gates()


def _fields(part: type[msgspec.Struct]) -> Iterator[str]:
    rows = (
        (code(field.encode_name), _type(field.type), code(_default(field))) for field in msgspec.structs.fields(part)
    )
    return table(("Field", "Type", "Default"), rows)


def _type(hint: Any) -> str:
    """In the words of the file: a list of KubeSchedulerProfile, a duration, a string."""
    inner = [_type(each) for each in get_args(hint) if each not in (type(None), Ellipsis) and not _is_meta(each)]
    name = getattr(hint, "__name__", "")
    if getattr(hint, "__origin__", None) is tuple:
        return f"list of {inner[0]}"
    if inner:
        return inner[0]
    if hint is Any:
        return "any"
    if isinstance(hint, type) and issubclass(hint, Duration):
        return "duration"
    if hint in PARTS:
        return f"[{name}](#{name.lower()})"
    return _TYPES.get(name, name)


def _is_meta(each: Any) -> bool:
    return isinstance(each, msgspec.Meta)


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default
    if isinstance(value, Duration):
        return format_duration(value) if value else ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value and isinstance(value, str | int | float) else ""


def _plugin(plugin: schema.Plugin) -> tuple[str, str, str]:
    points = [point for point in EXTENSION_POINTS if point in IMPLEMENTED_POINTS[plugin.name]]
    return code(plugin.name), str(plugin.weight or ""), ", ".join(points)


def _gates() -> Iterator[str]:
    yield from ("## Feature gates", "")
    yield "All gates that kube-scheduler v1.36 accepts. What those with an effect do is told in"
    yield "[Parity](../parity.md#feature-gates); the others are accepted and change no decision."
    rows = ((code(name), *_gate(name)) for name in sorted(KNOWN_GATES))
    yield from table(("Gate", "Stage", "Default", "Other setting"), rows)


def _gate(name: str) -> tuple[str, str, str]:
    gate = KNOWN_GATES[name]
    if gate.is_locked:
        other = "locked"
    elif name in REFUSED:
        other = "rejected"
    else:
        other = "works" if field_of(name) in _EFFECTIVE else "no effect"
    return gate.stage.value, "on" if gate.default else "off", other
