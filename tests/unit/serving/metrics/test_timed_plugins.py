"""Timed plugins do what the plugins do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

import pytest
from tests.support.caches import cache_of

from bayplan.analysis.bench.building import build_cache, pods_of
from bayplan.analysis.bench.workloads import WORKLOADS, Workload
from bayplan.analysis.placement import place_pods
from bayplan.analysis.tie_breaks import smallest_name
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.columns import IntArray, Rows, every_row
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits, Unschedulable
from bayplan.core.events import Event
from bayplan.core.framework.contract import (
    FilterPlugin,
    PreFilterPlugin,
    Reads,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, Status, unschedulable
from bayplan.core.snapshot import View
from bayplan.serving.metrics.stopwatch import Stopwatch, TimedStep
from bayplan.serving.metrics.timed_plugins import timed_profile
from bayplan.testing.builders import node, pod


class Deaf:
    def called(self, step: TimedStep, status: Code, took_ns: int) -> None: ...

    def hinted(self, plugin: str, cluster_event: str, *, helps: bool, took_ns: int) -> None: ...

    def handled(self, event: Event, took_ns: int) -> None: ...

    def looked_up(self, profile: str, *, reused: bool, reusable: bool, took_ns: int) -> None: ...


@dataclass(frozen=True)
class Odd:
    """Nodes of an odd row."""

    name: ClassVar[str] = "Odd"
    reads: ClassVar[Reads] = Reads.NODE

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        return (every_row(view.nodes.count)[rows] % 2).astype("int64")

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:
        return unschedulable("odd")


class Slotted:
    __slots__ = ()
    name: ClassVar[str] = "Odd"
    reads: ClassVar[Reads] = Reads.NODE
    filter = Odd.filter
    explain_failure = Odd.explain_failure


def running_stopwatch() -> Stopwatch:
    stopwatch = Stopwatch(count().__next__, Deaf())
    stopwatch.start(0)
    return stopwatch


def default_profiles() -> Mapping[str, Profile]:
    return build_profiles(load_configuration(None, release=DEFAULT_RELEASE))


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_decisions_are_the_same(workload: Workload) -> None:
    pods = pods_of(workload, 60)
    plain = default_profiles()
    timed = {name: timed_profile(profile, running_stopwatch()) for name, profile in plain.items()}
    placed = [
        place_pods(build_cache(workload, 20, pods, DEFAULT_GATES), profiles, pods, smallest_name)
        for profiles in (plain, timed)
    ]
    assert placed[0] == placed[1]


def test_a_plugin_is_of_the_same_class_and_one_in_all_its_lists() -> None:
    (profile,) = default_profiles().values()
    timed = timed_profile(profile, running_stopwatch())
    assert [type(plugin) for plugin in timed.filter] == [type(plugin) for plugin in profile.filter]
    by_name = {plugin.name: id(plugin) for plugin in timed.filter}
    assert all(by_name[plugin.name] == id(plugin) for plugin in timed.pre_filter if plugin.name in by_name)
    assert all(isinstance(plugin, FilterPlugin) for plugin in timed.filter)
    assert not any(isinstance(p, PreFilterPlugin) for p in timed.filter if p.name == "TaintToleration")
    assert len(timed.local_filters) == len(profile.local_filters)


def test_a_frozen_plugin_is_timed_and_one_with_slots_works_untimed() -> None:
    (profile,) = default_profiles().values()
    view = cache_of(node("a").obj(), node("b").obj()).view()
    for plugin, calls in ((Odd(), 1), (Slotted(), 0)):
        watch = running_stopwatch()
        timed = timed_profile(replace(profile, filter=(plugin,), pre_filter=()), watch)
        assert timed.filter[0].filter(None, view, every_row(2)).tolist() == [0, 1]
        assert watch.step(profile.scheduler_name, "Odd", "Filter").calls == calls


def test_the_status_of_a_filter_is_what_it_says_of_the_nodes() -> None:
    (profile,) = default_profiles().values()
    for cpu, choice, status in (("1", Fits, Code.SUCCESS), ("3", Unschedulable, Code.UNRESOLVABLE)):
        watch = running_stopwatch()
        timed = {profile.scheduler_name: timed_profile(profile, watch)}
        cache = cache_of(node("n").capacity(cpu="2", memory="8Gi", pods=10).obj())
        assert isinstance(Decider(timed, reuse=False).decide(cache.info(pod("p").cpu(cpu).obj()), cache.view()), choice)
        assert watch.step(profile.scheduler_name, "NodeResourcesFit", "Filter").status is status
