"""The state of queue, cache and the limits of preemption when the page is made. Takes the scheduler, keeps nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping

from bayplan.config.releases import KubernetesRelease
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.figures import Figures
from bayplan.core.scheduler import Scheduler
from bayplan.serving.metrics import families
from bayplan.serving.metrics.event_labels import EventNames
from bayplan.serving.metrics.group_families import POD_GROUP_TYPE
from bayplan.serving.metrics.own import own_family
from bayplan.serving.metrics.tallies import Labels, Reading

#: Operations that upstream splits up among goroutines and that are single array operations here.
_IN_ONE_GO = (
    "DefaultPreemption",
    "Filter",
    "InterPodAffinity",
    "PodTopologySpread",
    "Score",
    "prioritizing_extender",
)
_POD_POPPED = "PodPopped"
_POD = "pod"

WITHHELD = own_family(
    "bayplan_preemptions_withheld_total", "counter", "Preemptions that a limit withheld, by limit.", ("reason",)
)
WITHHELD_NOW = own_family("bayplan_preemptors_withheld", "gauge", "Pods that a limit keeps from preempting now.")
EVICTIONS = own_family("bayplan_evictions_total", "counter", "Victims of preemption.")
PAUSED = own_family(
    "bayplan_preemption_pairs_paused", "gauge", "Pairs of workloads that may not evict each other for a while."
)
LOOPS = own_family("bayplan_preemption_loops_total", "counter", "Preempt-recreate loops that were found and paused.")


def state_of(scheduler: Scheduler, release: KubernetesRelease) -> tuple[Reading, ...]:
    guard = scheduler.guard
    names = EventNames(release)
    # The queue is another one after the scheduler has started over.
    entities = (
        Reading(families.QUEUED_ENTITIES, lambda: _entities(scheduler.queue)),
        Reading(families.QUEUE_INCOMING_ENTITIES, lambda: _incoming_entities(scheduler.queue.figures)),
    )
    return (
        *(entities if release.counts_entities else ()),
        Reading(families.PENDING_PODS, lambda: {(place.value,): n for place, n in scheduler.queue.counts().items()}),
        Reading(families.UNSCHEDULABLE_PODS, lambda: scheduler.queue.figures.rejected),
        Reading(families.QUEUE_INCOMING, lambda: names.last_of(scheduler.queue.figures.incoming)),
        Reading(families.IN_FLIGHT_EVENTS, lambda: names.last_of(_in_flight(scheduler))),
        Reading(families.CACHE_SIZE, lambda: _cache_size(scheduler)),
        Reading(families.GOROUTINES, lambda: _work_under_way(scheduler)),
        Reading(WITHHELD, lambda: {(reason,): count for reason, count in dict(guard.figures.withheld).items()}),
        Reading(WITHHELD_NOW, lambda: {(): guard.waiting}),
        Reading(EVICTIONS, lambda: {(): guard.figures.evictions}),
        Reading(LOOPS, lambda: {(): guard.figures.loops}),
        Reading(PAUSED, lambda: {(): guard.paused_pairs(time.time_ns())}),
    )


def _entities(queue: SchedulingQueue) -> Mapping[Labels, float]:
    counts: dict[Labels, float] = {(place.value, _POD): n for place, n in queue.counts_outside_groups().items()}
    if queue.groups is not None:
        counts |= {(place.value, POD_GROUP_TYPE): n for place, n in queue.groups.group_counts().items()}
    return counts


def _incoming_entities(figures: Figures) -> Mapping[Labels, float]:
    pods = figures.incoming - figures.incoming_members
    return {(*labels, _POD): n for labels, n in pods.items()} | {
        (*labels, POD_GROUP_TYPE): n for labels, n in figures.incoming_groups.items()
    }


def _in_flight(scheduler: Scheduler) -> Mapping[Labels, float]:
    queue = scheduler.queue
    events: dict[Labels, float] = {(label,): count for label, count in queue.in_flight_events().items()}
    return {(_POD_POPPED,): queue.in_flight_counts()[0], **events}


def _cache_size(scheduler: Scheduler) -> Mapping[Labels, float]:
    cache = scheduler.cache
    nominated = sum(map(len, cache.nominated.values()))
    return {
        ("nodes",): cache.nodes.alive_count,
        ("pods",): len(cache.pods.rows_by_key) - nominated,
        ("assumed_pods",): len(scheduler.pods_on_the_way()),
    }


def _work_under_way(scheduler: Scheduler) -> Mapping[Labels, float]:
    return {("binding",): len(scheduler.pods_on_the_way()), **{(operation,): 0 for operation in _IN_ONE_GO}}
