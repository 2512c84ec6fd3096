"""The plugin sets of a profile, merged with the defaults, as one ordered list for each extension point.

Takes the `plugins` of a profile and, for each plugin name, the points it implements; gives the plugins each
point calls, in order, and the weights of those that score. First the file's multiPoint list is merged with
the default one (`merge_plugin_sets`), then multiPoint is spread over the points (`expand_plugins`). Plugins
are only names here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bayplan.config.defaults import EXTENSION_POINTS, GROUP_EXTENSION_POINTS, REMOVED_PLUGINS
from bayplan.config.faults import ConfigFaults
from bayplan.config.schema import Plugin, Plugins, PluginSet

ALL = "*"
MULTI_POINT = "multiPoint"


@dataclass(frozen=True, slots=True)
class ExpandedPlugins:
    """Names in calling order for each extension point, and the weights of those that score nodes or placements."""

    by_point: Mapping[str, tuple[str, ...]]
    score_weights: Mapping[str, int]
    placement_weights: Mapping[str, int]


def expand_plugins(
    custom: Plugins,
    default: PluginSet,
    implements: Mapping[str, frozenset[str]],
    scheduler_name: str,
    path: str,
    faults: ConfigFaults,
) -> ExpandedPlugins:
    """The plugins of a profile by extension point; what is wrong goes to `faults` under `path`."""
    multi = merge_plugin_sets(default, custom.multi_point)
    _check_names(custom, multi, implements, path, faults)
    known_multi = [plugin.name for plugin in multi.enabled if plugin.name in implements]
    by_point = {
        point: tuple(expand_point(custom.at(point), [name for name in known_multi if point in implements[name]]))
        for point in (*EXTENSION_POINTS, *GROUP_EXTENSION_POINTS)
    }
    _check_counts(by_point, scheduler_name, path, faults)
    return ExpandedPlugins(
        by_point,
        _score_weights(by_point["score"], custom.score, multi),
        _score_weights(by_point["placementScore"], custom.placement_score, multi),
    )


def merge_plugin_sets(default: PluginSet, custom: PluginSet) -> PluginSet:
    """The default set with the custom one laid over it: replaced in place, dropped, appended."""
    disabled_names = {plugin.name for plugin in (*custom.disabled, *default.disabled)}
    # The last of repeated entries replaces; the others are appended, and refused later as repeated.
    replacement_positions = {plugin.name: position for position, plugin in enumerate(custom.enabled)}
    replaced: set[int] = set()
    enabled: list[Plugin] = []
    for plugin in () if ALL in disabled_names else default.enabled:
        if plugin.name in disabled_names:
            continue
        position = replacement_positions.get(plugin.name)
        if position is None:
            enabled.append(plugin)
        else:
            enabled.append(custom.enabled[position])
            replaced.add(position)
    enabled += [plugin for position, plugin in enumerate(custom.enabled) if position not in replaced]
    return PluginSet(enabled=tuple(enabled), disabled=(*custom.disabled, *default.disabled))


def expand_point(own: PluginSet, multi_names: Iterable[str]) -> list[str]:
    """The names one point calls: overrides, then the rest of multiPoint, then the rest of its own list."""
    own_names = [plugin.name for plugin in own.enabled]
    disabled_names = {plugin.name for plugin in own.disabled}
    if ALL in disabled_names:
        return own_names
    # Disabling wins here: a plugin both disabled and enabled at a point is no override and moves to the end.
    spread = [name for name in multi_names if name not in disabled_names]
    overrides = [name for name in own_names if name in spread]
    multi = [name for name in spread if name not in own_names]
    rest = [name for name in own_names if name not in spread]
    return overrides + multi + rest


def _score_weights(names: Iterable[str], own: PluginSet, multi: PluginSet) -> dict[str, int]:
    # Weights are 32-bit, so upstream's check that the total score fits 64 bits can never fail.
    weights: dict[str, int] = {}
    for plugin in (*own.enabled, *multi.enabled):
        weights.setdefault(plugin.name, plugin.weight or 1)
    return {name: weights[name] for name in names}


def _check_names(
    custom: Plugins,
    multi: PluginSet,
    implements: Mapping[str, frozenset[str]],
    path: str,
    faults: ConfigFaults,
) -> None:
    for point in (*EXTENSION_POINTS, *GROUP_EXTENSION_POINTS):
        enabled_path = f"{path}.{point}.enabled"
        _check_point(point, custom.at(point).enabled, implements, enabled_path, faults)
    seen: set[str] = set()
    multi_path = f"{path}.{MULTI_POINT}.enabled"
    for plugin in multi.enabled:
        if plugin.name not in implements:
            faults.add(multi_path, f'plugin "{plugin.name}" does not exist')
        elif plugin.name in seen:
            faults.add(multi_path, f'plugin "{plugin.name}" already registered')
        seen.add(plugin.name)


def _check_point(
    point: str,
    enabled: tuple[Plugin, ...],
    implements: Mapping[str, frozenset[str]],
    path: str,
    faults: ConfigFaults,
) -> None:
    type_name = f"{point[0].upper()}{point[1:]}Plugin"
    seen: set[str] = set()
    for position, plugin in enumerate(enabled):
        name, plugin_path = plugin.name, f"{path}[{position}]"
        if name in REMOVED_PLUGINS:
            continue  # `validation` says so in words of its own
        if name not in implements:
            faults.add(plugin_path, f'{type_name} "{name}" does not exist')
        elif point not in implements[name]:
            faults.add(plugin_path, f'plugin "{name}" does not extend {type_name} plugin')
        elif name in seen:
            faults.add(plugin_path, f'plugin "{name}" already registered as "{type_name}"')
        seen.add(name)


def _check_counts(
    by_point: Mapping[str, tuple[str, ...]], scheduler_name: str, path: str, faults: ConfigFaults
) -> None:
    queue_sort_count = len(by_point["queueSort"])
    if queue_sort_count != 1:
        faults.add(
            f"{path}.queueSort",
            f'only one queue sort plugin required for profile with scheduler name "{scheduler_name}", '
            f"but got {queue_sort_count}",
        )
    if not by_point["bind"]:
        faults.add(
            f"{path}.bind",
            f'at least one bind plugin is needed for profile with scheduler name "{scheduler_name}"',
        )
