"""Which kinds a scheduler must watch, and where an API server serves them.

Takes a configuration; gives the kinds that the plugins of its profiles look up, as they declare. Pods and nodes are
always among them, and without them nothing can be decided. Says nothing about how they are watched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bayplan.client.paths import list_path
from bayplan.config.loading import Configuration
from bayplan.config.registry import PLUGINS_BY_NAME
from bayplan.config.releases import KubernetesRelease
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import KINDS, KindInfo

#: Pods that have ended are of no interest.
UNFINISHED_PODS = "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"

INDISPENSABLE = ("Node", "Pod")
#: What any built-in plugin looks up: a plugin from outside that does not say what it looks up may need all of it.
_ANYTHING: frozenset[str] = frozenset().union(*(getattr(it, "looks_up", ()) for it in PLUGINS_BY_NAME.values()))


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """A kind and where it is served."""

    info: KindInfo
    field_selector: str = ""  # escaped as in a query

    @property
    def plural(self) -> str:
        return self.info.plural

    @property
    def path(self) -> str:
        return list_path(self.info)

    @property
    def is_indispensable(self) -> bool:
        return self.info.kind in INDISPENSABLE


def watched_kind(kind: str) -> WatchedKind:
    return WatchedKind(KINDS[kind], UNFINISHED_PODS if kind == "Pod" else "")


def kinds_to_watch(configuration: Configuration) -> list[WatchedKind]:
    """In the order in which they are to be delivered: what others refer to first, pods last."""
    needed: set[str] = set()
    for profile in configuration.profiles:
        names = {name for names in profile.plugins.values() for name in names}
        needed.update(*(getattr(PLUGINS_BY_NAME.get(name), "looks_up", ()) for name in names))
        needed.update(*(getattr(plugin, "looks_up", _ANYTHING) for plugin in profile.outside.values()))
    if "ResourceSlice" in needed and configuration.gates.dra_device_taint_rules:
        needed.add("DeviceTaintRule")
    if configuration.gates.generic_workload:
        needed.add(PodGroup.__name__)
    first = ("Namespace", "Node")
    others = sorted(needed - {*first, "Pod"})
    kinds = [watched_kind(kind) for kind in (*(k for k in first if k in needed or k == "Node"), *others, "Pod")]
    return [_as_served(kind, configuration.release) for kind in kinds]


def every_kind(release: KubernetesRelease) -> list[WatchedKind]:
    """All kinds that are known, with all their objects."""
    return [_as_served(WatchedKind(info), release) for info in KINDS.values()]


def _as_served(kind: WatchedKind, release: KubernetesRelease) -> WatchedKind:
    """With the version of its API that the scheduler of this release asks for."""
    version = release.api_versions.get(kind.info.kind)
    return kind if version is None else replace(kind, info=replace(kind.info, version=version))
