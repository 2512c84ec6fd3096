"""One attempt to place a pod that fits nowhere, told in names instead of rows.

Takes plain objects or builders, filters with the default profile and runs the PostFilter chain; nothing is scored, so
nothing here depends on scores. Pods of the namespace `default` go by their bare name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.caches import cache_of

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES
from bayplan.core.cache import Cache
from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import PASSED, Filtered, filter_pod
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Status
from bayplan.core.preemption.post_filter import PostFilterResult, run_post_filters
from bayplan.core.preemption.record import preemption_record
from bayplan.core.preemption.search import Searched
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.testing.building import Builder

Thing = Builder[Any] | Object


@cache
def default_profile(version: str = DEFAULT_RELEASE.version) -> Profile:
    return build_profiles(load_configuration(None, release=RELEASES[version]))["default-scheduler"]


def built(thing: Any) -> Any:
    return thing.obj() if isinstance(thing, Builder) else thing


def short(key: str) -> str:
    return key.removeprefix("default/")


@dataclass(frozen=True)
class Tried:
    """What came of the attempt."""

    pod: PodInfo
    view: View
    filtered: Filtered
    result: PostFilterResult

    @property
    def searched(self) -> Searched:
        found = self.result.found
        assert isinstance(found, Searched), f"no search took place: {self.result.message}"
        return found

    def names(self, node_rows: RowArray) -> list[str]:
        return [self.view.nodes.names[row] for row in node_rows]

    def pods(self, pod_rows: RowArray) -> list[str]:
        return [short(self.view.pods.keys[row]) for row in pod_rows]

    @property
    def candidates(self) -> dict[str, list[str]]:
        """Node -> victims, most important first."""
        candidates = self.searched.candidates
        return {
            name: self.pods(candidates.victims_of(position))
            for position, name in enumerate(self.names(candidates.rows))
        }

    @property
    def violations(self) -> dict[str, int]:
        candidates = self.searched.candidates
        return dict(zip(self.names(candidates.rows), candidates.violations.tolist(), strict=True))

    @property
    def selected(self) -> list[str]:
        return sorted(self.names(self.result.found.tied_rows)) if self.result.found else []

    @property
    def statuses(self) -> dict[str, Status]:
        """Node -> why making room there did not help."""
        return {self.view.nodes.names[row]: status for row, status in self.searched.node_statuses.items()}

    @property
    def reprieves(self) -> dict[str, list[tuple[str, bool]]]:
        """Node -> the pods put back on trial, in order, and whether they could stay."""
        dry_run, attempts = self.searched.dry_run, dict[str, list[tuple[str, bool]]]()
        for step in dry_run.steps:
            node_names = self.names(dry_run.potential.node_rows[step.positions])
            pods = self.pods(dry_run.potential.pod_rows[step.positions])
            for node_name, pod, rejected_by in zip(node_names, pods, step.verdicts.rejected_by, strict=True):
                attempts.setdefault(node_name, []).append((pod, bool(rejected_by == PASSED)))
        return attempts

    @property
    def record(self) -> dict[str, Any]:
        record = preemption_record(self.result.found, self.view, self.filtered)
        assert record is not None
        return record


def tried_in(cache: Cache, wanting: Pod, profile: Profile | None = None) -> Tried:
    profile = profile or default_profile()
    info = cache.info(wanting)
    view = cache.view()
    filtered = filter_pod(profile, info, view)
    assert not len(filtered.feasible_rows), "the pod fits somewhere: nobody has to make room"
    return Tried(info, view, filtered, run_post_filters(profile, info, view, filtered))


def tried(wanting: Thing, *things: Thing, profile: Profile | None = None) -> Tried:
    return tried_in(cache_of(*map(built, things)), built(wanting), profile)
