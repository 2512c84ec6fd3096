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

_VERSION = re.compile(r"v?(\d+)\.(\d+)\+?(?:\.\d+)?(?:[-+].*)?")


class UnknownReleaseError(ValueError):
    """A Kubernetes version that bayplan does not know."""


@dataclass(frozen=True, slots=True)
class KubernetesRelease:
    """The scheduler of one minor version."""

    behavior: Release
    gates: Mapping[str, KnownGate]
    gate_dependencies: Mapping[str, tuple[str, ...]]
    plugins: PluginSet  # those that run unless a file says otherwise
    implemented_points: Mapping[str, frozenset[str]]  # by plugin
    extension_points: tuple[str, ...]  # that a file may have, besides multiPoint
    has_pod_groups: bool  # bayplan knows how this version schedules them

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
                KNOWN_GATES,
                DEPENDENCIES,
                DEFAULT_MULTI_POINT,
                IMPLEMENTED_POINTS,
                (*EXTENSION_POINTS, *PLACEMENT_POINTS),
                has_pod_groups=False,
            ),
            KubernetesRelease(
                V1_37,
                KNOWN_GATES_1_37,
                DEPENDENCIES_1_37,
                DEFAULT_MULTI_POINT_1_37,
                IMPLEMENTED_POINTS_1_37,
                (*EXTENSION_POINTS, *GROUP_EXTENSION_POINTS),
                has_pod_groups=True,
            ),
        )
    }
)
DEFAULT_RELEASE: Final = RELEASES["1.36"]


def release_named(version: str | None) -> KubernetesRelease:
    """The release of a version such as `1.36` or `v1.36.4`; of None the default. Raises UnknownReleaseError."""
    if version is None:
        return DEFAULT_RELEASE
    match = _VERSION.fullmatch(version)
    release = RELEASES.get(f"{match[1]}.{match[2]}") if match else None
    if release is None:
        known = " and ".join(RELEASES)
        raise UnknownReleaseError(f"Kubernetes {version} is not known; bayplan knows {known}")
    return release


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
