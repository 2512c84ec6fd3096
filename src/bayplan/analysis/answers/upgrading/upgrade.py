"""The answer: every pod that another version's scheduler decides on differently, and why; and what else changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.analysis.answers.upgrading.causes import find_causes
from bayplan.analysis.answers.upgrading.changes import VersionChange, changes_between, mixed
from bayplan.analysis.answers.upgrading.configuration import (
    ConfigurationChange,
    changed_defaults,
    file_changes,
    split_gates,
)
from bayplan.analysis.answers.upgrading.metric_names import StaleName, stale_names
from bayplan.analysis.answers.upgrading.outcomes import Outcomes, VersionOutcome, pods_to_try
from bayplan.config.feature_gates import GateSettings, read_feature_gates, settings_of
from bayplan.config.loading import ConfigSource
from bayplan.config.releases import KubernetesRelease
from bayplan.core.feature_gates import FeatureGates


class DifferenceKind(StrEnum):
    """What can be different for a pod, the gravest first."""

    NODE = "node"  # another node, or one where there was none, or none where there was one
    VICTIMS = "victims"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """A pod that the two schedulers do not agree on."""

    pod: str
    workload: str
    runs_on: str  # its node now; "" for a pending pod
    before: VersionOutcome
    after: VersionOutcome
    causes: tuple[VersionChange, ...]

    @property
    def kinds(self) -> tuple[DifferenceKind, ...]:
        pairs = zip(DifferenceKind, ("node", "victims", "message"), strict=True)
        return tuple(kind for kind, name in pairs if getattr(self.before, name) != getattr(self.after, name))

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "workload": self.workload,
            "runsOn": self.runs_on or None,
            "kinds": [kind.value for kind in self.kinds],
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "causes": [cause.to_dict() for cause in self.causes],
        }


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What changes from one version to another."""

    before: str  # `1.36`
    after: str
    pending: int  # pods that were tried
    running: int  # and those that were tried as if they were new
    is_compared: bool  # not if the version refuses the configuration
    differences: tuple[VersionDifference, ...]
    configuration: tuple[ConfigurationChange, ...]
    metrics: tuple[StaleName, ...]
    over_time: tuple[VersionChange, ...]  # changes that show only when a cluster is looked at for a while

    def of_kind(self, kind: DifferenceKind) -> list[VersionDifference]:
        return [each for each in self.differences if kind in each.kinds]

    @property
    def refused(self) -> list[ConfigurationChange]:
        return [each for each in self.configuration if each.is_refused]

    def to_dict(self) -> dict[str, Any]:
        return {
            "fromVersion": self.before,
            "toVersion": self.after,
            "pending": self.pending,
            "running": self.running,
            "compared": self.is_compared,
            "pods": [each.to_dict() for each in self.differences],
            "configuration": [each.to_dict() for each in self.configuration],
            "metrics": [each.to_dict() for each in self.metrics],
            "overTime": [each.to_dict() for each in self.over_time],
        }


def upgrade(
    asking: Asking, to: KubernetesRelease, config: ConfigSource, feature_gates: GateSettings, rules: Sequence[str] = ()
) -> Upgrade:
    """From the cluster's version to another one. Raises InvalidObject for rules that cannot be read."""
    before = asking.configuration.gates
    given = settings_of(feature_gates)
    taken, settings = split_gates(given, to)
    after = read_feature_gates(taken, to)
    settings += changed_defaults(taken, before, after)
    of_file = file_changes(config, before, after)
    is_compared = not any(change.is_refused for change in of_file)
    changes = changes_between(before, after)
    pending, running = pods_to_try(asking)
    return Upgrade(
        before.release.version,
        to.version,
        len(pending),
        len(running),
        is_compared,
        _differences(asking, config, after, changes, [*pending, *running]) if is_compared else (),
        (*settings, *of_file),
        tuple(stale_names(rules, before.release.version, to.version)),
        tuple(change for change in changes if change.over_time),
    )


def _differences(
    asking: Asking, config: ConfigSource, after: FeatureGates, changes: Sequence[VersionChange], keys: Sequence[str]
) -> tuple[VersionDifference, ...]:
    before = asking.configuration.gates
    old, new = (_outcomes(asking, config, gates, keys) for gates in (before, after))
    differing = {key: outcome for key, outcome in new.items() if outcome != old[key]}

    def make(fields: frozenset[str]) -> Outcomes:
        return Outcomes(asking, config, mixed(before, after, fields))

    causes = find_causes(differing, [change for change in changes if not change.over_time], make)
    cluster = asking.cluster
    owner = partial(workload_of, ownership=cluster.ownership)
    return tuple(
        VersionDifference(
            key,
            short_name(owner(cluster.find_pod(key))),
            cluster.find_pod(key).spec.node_name,
            old[key],
            outcome,
            causes[key],
        )
        for key, outcome in differing.items()
    )


def _outcomes(
    asking: Asking, config: ConfigSource, gates: FeatureGates, keys: Sequence[str]
) -> dict[str, VersionOutcome]:
    outcomes = Outcomes(asking, config, gates)
    found: dict[str, VersionOutcome] = {}
    for number, key in enumerate(keys):
        asking.tell(f"pods under v{gates.release.version}", number, len(keys))
        found[key] = outcomes.of(key)
    return found
