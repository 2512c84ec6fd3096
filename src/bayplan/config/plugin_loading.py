"""External plugins: found by the name in a configuration, loaded, and inspected.

A name is an entry point of the group `bayplan.plugins`, or the location of a class: `package.module:Class`, or
`path/to/file.py:Class` with the path relative to the configuration's directory. Returns the class and its extension
points, derived from its methods. Every error is a `PluginError` with one sentence, including errors in the plugin's own
code. Names of built-in plugins never get here. Loading a plugin runs its code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from bayplan.core.framework import contract, group_contract
from bayplan.core.framework.contract import Reads
from bayplan.core.framework.per_node import PerNodePlugin
from bayplan.core.framework.requeue import EnqueueExtensions

ENTRY_POINT_GROUP: Final = "bayplan.plugins"

#: What a plugin at each extension point must have.
POINT_PROTOCOLS: Final[Mapping[str, type]] = MappingProxyType(
    {
        "preEnqueue": contract.PreEnqueuePlugin,
        "queueSort": contract.QueueSortPlugin,
        "preFilter": contract.PreFilterPlugin,
        "filter": contract.FilterPlugin,
        "postFilter": contract.PostFilterPlugin,
        "preScore": contract.PreScorePlugin,
        "score": contract.ScorePlugin,
        "reserve": contract.ReservePlugin,
        "permit": contract.PermitPlugin,
        "preBind": contract.PreBindPlugin,
        "bind": contract.BindPlugin,
        "postBind": contract.PostBindPlugin,
        "placementGenerate": group_contract.PlacementGeneratePlugin,
        "placementScore": group_contract.PlacementScorePlugin,
        "podGroupPostFilter": group_contract.PodGroupPostFilterPlugin,
    }
)
#: What a plugin may have besides.
SIDE_PROTOCOLS: Final[tuple[type, ...]] = (
    contract.WhatIfPlugin,
    contract.NormalizePlugin,
    contract.UnreservePlugin,
    contract.AnsweringPlugin,
    contract.PreFlightPlugin,
    group_contract.NormalizePlacementsPlugin,
    EnqueueExtensions,
)
#: The method by which a per-node plugin takes part in a point.
_PER_NODE_METHODS: Final = {"filter": "fits", "score": "rate"}


class PluginError(Exception):
    """Why a plugin cannot be used."""


@dataclass(frozen=True, slots=True)
class PluginClass:
    """A plugin from outside, not yet built."""

    make: type[Any]
    points: frozenset[str]

    def build(self, *args: Any) -> Any:
        """An instance; `args` is what its constructor takes, if anything."""
        try:
            return self.make(*args)
        except Exception as error:
            raise PluginError(f"{self.make.__name__} cannot be built: {_said(error)}") from error


def find_plugin(name: str, folder: Path) -> PluginClass | None:
    """The plugin of this name, None if it is unknown. Raises PluginError."""
    found = _load_reference(name, folder) if ":" in name else _load_entry_point(name)
    if found is None:
        return None
    if not isinstance(found, type):
        raise PluginError(f"{name} is not a class but {type(found).__name__}")
    return PluginClass(found, checked_points(found))


def checked_points(plugin: type) -> frozenset[str]:
    """The extension points of a plugin class. Raises PluginError if it is none, or half of one."""
    points = frozenset(implemented_points(plugin))
    flaws = list(_flaws(plugin))
    if flaws:
        raise PluginError(f"{plugin.__name__} is not a complete plugin: {'; '.join(flaws)}")
    if not points:
        raise PluginError(f"{plugin.__name__} is not a plugin: it implements no extension point")
    return points


def implemented_points(plugin: type) -> Iterator[str]:
    """The extension points whose protocol a class satisfies."""
    for point, protocol in POINT_PROTOCOLS.items():
        if all(hasattr(plugin, member) for member in _members(protocol)) and _takes_part(plugin, point):
            yield point


def _takes_part(plugin: type, point: str) -> bool:
    """A per-node plugin has all methods from its base class; it takes part where it overrides something."""
    method = _PER_NODE_METHODS.get(point)
    if method is None or not issubclass(plugin, PerNodePlugin):
        return True
    return getattr(plugin, method) is not getattr(PerNodePlugin, method)


def _flaws(plugin: type) -> Iterator[str]:
    if not isinstance(getattr(plugin, "name", None), str) or not plugin.name:  # type: ignore[attr-defined]
        yield 'it has no name (name: ClassVar[str] = "...")'
    for protocol in (*POINT_PROTOCOLS.values(), *SIDE_PROTOCOLS):
        methods = _methods(protocol)
        present = [method for method in methods if hasattr(plugin, method)]
        missing = [member for member in _members(protocol) if member != "name" and not hasattr(plugin, member)]
        if present and missing:
            yield f"it has {' and '.join(present)} but no {' and no '.join(missing)}"
    for attribute in ("reads", "score_reads"):
        if not isinstance(getattr(plugin, attribute, Reads.CLUSTER), Reads):
            yield f"{attribute} is not a combination of Reads"
    if normalizes_usage(plugin):
        yield "it normalizes scores that depend on usage, so its score_reads must include Reads.CLUSTER"


def normalizes_usage(plugin: Any) -> bool:
    """Whether its scores are kept, follow a node's pods and are scaled: one pod could then change every score."""
    reads = getattr(plugin, "score_reads", None)
    if not hasattr(plugin, "normalize") or not isinstance(reads, Reads):
        return False
    return Reads.USAGE in reads and Reads.CLUSTER not in reads


def _members(protocol: type) -> list[str]:
    return [*protocol.__annotations__, *_methods(protocol)]


def _methods(protocol: type) -> list[str]:
    return [name for name, value in vars(protocol).items() if not name.startswith("_") and callable(value)]


# ---------------------------------------------------------------- where a plugin is


def _load_entry_point(name: str) -> Any:
    found: dict[str, EntryPoint] = {point.value: point for point in entry_points(group=ENTRY_POINT_GROUP, name=name)}
    if not found:
        return None
    if len(found) > 1:
        raise PluginError(f"several packages provide it: {', '.join(sorted(found))}; pick one with module:Class")
    (point,) = found.values()
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise PluginError(f"entry point {point.value} cannot be loaded: {_said(error)}") from error


def _load_reference(reference: str, folder: Path) -> Any:
    where, _, class_name = reference.rpartition(":")
    if not where or not class_name:
        raise PluginError("expected module:Class or path/to/file.py:Class")
    module = _module_of_file(folder / where) if where.endswith(".py") else _module(where)
    try:
        return getattr(module, class_name)
    except AttributeError:
        raise PluginError(f"{where} has no class {class_name}") from None


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        raise PluginError(f"module {name} cannot be loaded: {_said(error)}") from error


def _module_of_file(path: Path) -> ModuleType:
    """The module in a file, executed once in a process as any module is."""
    if not path.is_file():
        raise PluginError(f"no such file: {path}")
    name = f"bayplan_plugin_{path.stem}_{sha256(bytes(path.resolve())).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    assert spec is not None, "a file that ends in .py can be a module"
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)  # dataclasses look their module up while it is executed
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(f"{path} cannot be loaded: {_said(error)}") from error
    return module


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
