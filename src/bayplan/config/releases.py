"""The Kubernetes versions that bayplan knows: what each scheduler's gates, default plugins and behavior are.

A version is named by its minor version, `1.36`; a patch version means the same scheduler. What differs in decisions is
in `bayplan.core.release`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bayplan.config.defaults import (
    DEFAULT_MULTI_POINT,
    DEFAULT_MULTI_POINT_1_37,
    EXTENSION_POINTS,
    GANG_PLUGINS,
    GROUP_EXTENSION_POINTS,
    GROUP_POINTS,
    IMPLEMENTED_POINTS,
    IMPLEMENTED_POINTS_1_37,
    NODE_DECLARED_FEATURES,
    PLACEMENT_PLUGINS,
    PLACEMENT_POINTS,
)
from bayplan.config.known_gates import DEPENDENCIES, KNOWN_GATES, KnownGate
from bayplan.config.known_gates_1_37 import DEPENDENCIES_1_37, KNOWN_GATES_1_37
from bayplan.config.schema import PluginSet
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.release import V1_36, V1_37, Release
from bayplan.model.errors import Fault, InvalidObject

_VERSION = re.compile(r"v?(\d+)\.(\d+)\+?(?:\.\d+)?(?:[-+].*)?")


class UnknownReleaseError(InvalidObject):
    """A Kubernetes version that bayplan does not know."""

    def __init__(self, message: str) -> None:
        super().__init__([Fault("", "", "", message)])


@dataclass(frozen=True, slots=True)
class KubernetesRelease:
    """The scheduler of one minor version."""

    behavior: Release
    recorded_from: str  # the patch version whose decisions were recorded, as an API server says it
    gates: Mapping[str, KnownGate]
    gate_dependencies: Mapping[str, tuple[str, ...]]
    plugins: PluginSet  # those that run unless a file says otherwise
    implemented_points: Mapping[str, frozenset[str]]  # by plugin
    extension_points: tuple[str, ...]  # that a file may have, besides multiPoint
    api_versions: Mapping[str, str]  # by kind, of those that have another one than in other releases
    has_pod_groups: bool  # bayplan knows how this version schedules them
    event_kinds: Mapping[str, str]  # what metrics call a changed object, where the newest version says it otherwise
    name_of_parked: str  # in the summary of the queue that goes to the log: pods that were tried in vain
    counts_entities: bool  # metrics of the queue count pods outside of groups, and groups, besides pods

    @property
    def version(self) -> str:
        return self.behavior.version

    def __reduce__(self) -> tuple[Any, ...]:
        """By its name: there is one object for each version."""
        return release_named, (self.version,)


RELEASES: Final[Mapping[str, KubernetesRelease]] = MappingProxyType(
    {
        release.version: release
        for release in (
            KubernetesRelease(
                V1_36,
                "v1.36.4",
                KNOWN_GATES,
                DEPENDENCIES,
                DEFAULT_MULTI_POINT,
                IMPLEMENTED_POINTS,
                (*EXTENSION_POINTS, *PLACEMENT_POINTS),
                {"DeviceTaintRule": "v1beta2"},
                has_pod_groups=False,
                event_kinds={"UnscheduledPod": "UnschedulablePod", "TargetPod": "UnschedulablePod"},
                name_of_parked="unschedulablePods",
                counts_entities=False,
            ),
            KubernetesRelease(
                V1_37,
                "v1.37.0-rc.1",
                KNOWN_GATES_1_37,
                DEPENDENCIES_1_37,
                DEFAULT_MULTI_POINT_1_37,
                IMPLEMENTED_POINTS_1_37,
                (*EXTENSION_POINTS, *GROUP_EXTENSION_POINTS),
                {"DeviceTaintRule": "v1"},
                has_pod_groups=True,
                event_kinds={},
                name_of_parked="unschedulableEntities",
                counts_entities=True,
            ),
        )
    }
)
#: Whose API `bayplan up` serves, and whose journals do not name a version.
DEFAULT_RELEASE: Final = RELEASES["1.36"]
#: Whose scheduler decides about a cluster that does not say what it is.
NEWEST_RELEASE: Final = list(RELEASES.values())[-1]
#: In place of a version: that of the cluster if it is known, otherwise the one closest to it.
NEAREST: Final = "nearest"


def release_named(version: str) -> KubernetesRelease:
    """The release of a version such as `1.36`, `v1.37.0-rc.1` or `v1.36.4-gke.100`. Raises UnknownReleaseError."""
    known = f"bayplan knows {' and '.join(RELEASES)}"
    numbers = _numbers(version)
    if numbers is None:
        raise UnknownReleaseError(f"{version!r} is not a version of Kubernetes; {known}")
    release = RELEASES.get(f"{numbers[0]}.{numbers[1]}")
    if release is None:
        raise UnknownReleaseError(f"Kubernetes {version} is not known; {known}")
    return release


def release_of(gates: FeatureGates) -> KubernetesRelease:
    """The release whose gates these are."""
    return RELEASES[gates.release.version]


@dataclass(frozen=True, slots=True)
class ChosenRelease:
    """The release that decides about a cluster, and what its users should know of the choice."""

    release: KubernetesRelease
    note: str = ""
    is_assumed: bool = False  # nothing says what it is


def choose_release(asked: str | None, found: str | None) -> ChosenRelease:
    """The release of a cluster, for a user who asked for a version, or for none.

    Args:
        asked: a version, `nearest`, or None for that of the cluster.
        found: what the cluster's API server or its dump says; None if nothing does.

    Raises UnknownReleaseError.
    """
    if asked is not None and asked != NEAREST:
        return ChosenRelease(release_named(asked))
    if found is None:
        newest = NEWEST_RELEASE.version
        why = "nothing says which version of Kubernetes the cluster has"
        return ChosenRelease(
            NEWEST_RELEASE, f"{why}: the scheduler of v{newest} decides (--kubernetes-version)", is_assumed=True
        )
    try:
        return ChosenRelease(release_named(found))
    except UnknownReleaseError as error:
        numbers = _numbers(found)
        if numbers is None:
            raise
        if asked != NEAREST:
            raise UnknownReleaseError(f"{error}; --kubernetes-version {NEAREST} takes the nearest of them") from None
    nearest = _nearest(*numbers)
    what = f"the cluster has Kubernetes {found}, which bayplan does not know"
    return ChosenRelease(nearest, f"{what}: the scheduler of v{nearest.version} decides")


def next_to(release: KubernetesRelease) -> KubernetesRelease:
    """The release before that one; of the oldest, the one after it."""
    known = [*RELEASES.values()]
    position = known.index(release)
    return known[position - 1] if position else known[1]


def _nearest(major: int, minor: int) -> KubernetesRelease:
    """The known release with the fewest minor versions in between."""

    def distance(release: KubernetesRelease) -> tuple[int, int]:
        its_major, its_minor = map(int, release.version.split("."))
        return abs(its_major - major), abs(its_minor - minor)

    return min(RELEASES.values(), key=distance)


def _numbers(version: str) -> tuple[int, int] | None:
    match = _VERSION.fullmatch(version)
    return (int(match[1]), int(match[2])) if match else None


def default_plugins(gates: FeatureGates) -> PluginSet:
    """The plugins that run unless a file says otherwise."""
    left_out = () if gates.node_declared_features else (NODE_DECLARED_FEATURES,)
    enabled = [each for each in RELEASES[gates.release.version].plugins.enabled if each.name not in left_out]
    if gates.generic_workload:
        enabled += GANG_PLUGINS
    if gates.topology_aware_workload_scheduling:
        enabled += PLACEMENT_PLUGINS
    return PluginSet(enabled=tuple(enabled))


def implemented_points(gates: FeatureGates) -> Mapping[str, frozenset[str]]:
    """The plugins there are, and the extension points that each has."""
    points = RELEASES[gates.release.version].implemented_points
    if not gates.generic_workload:
        return points
    return {
        name: points.get(name, frozenset()) | GROUP_POINTS.get(name, frozenset()) for name in (*points, *GROUP_POINTS)
    }
