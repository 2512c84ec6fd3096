"""Cluster Autoscaler's way up: when pods fit nowhere, the pool that suits them best gets as many nodes as they take.

Takes a picture that is up to date, inside a trial that knows of machines under way; asks for machines. One pool grows
at a time; what it does not help waits for the next look. Upstream: core/scaleup/orchestrator (1.33).
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bayplan.controllers.autoscaling.expanders import best
from bayplan.controllers.autoscaling.machines import Machine, Machines
from bayplan.controllers.autoscaling.packing import grouped, option_of
from bayplan.controllers.autoscaling.picture import Picture
from bayplan.controllers.autoscaling.settings import Settings
from bayplan.core.framework.verdict import CycleError
from bayplan.model.pod import Pod

#: Pods of lower priority do not make pools grow. Upstream: --expendable-pods-priority-cutoff.
EXPENDABLE_BELOW = -10


def scale_up(picture: Picture, machines: Machines, settings: Settings, random: Random, now: int) -> list[Machine]:
    """The machines that were asked for."""
    waiting = [pod for pod in picture.refused.values() if (pod.spec.priority or 0) >= EXPENDABLE_BELOW]
    without_place = _still_waiting(picture, _without_nomination(picture, waiting))
    if not without_place:
        return []
    options = []
    for pool in machines.pools.values():
        room = machines.room(pool, settings.max_nodes)
        option = option_of(picture, pool, without_place, room) if room else None
        if option is not None:
            options.append(option)
    chosen = best(options, settings.expanders, random)
    return [] if chosen is None else machines.ask_for(chosen.pool, chosen.nodes, now)


def _without_nomination(picture: Picture, pods: Iterable[Pod]) -> list[Pod]:
    """Pods that wait for their victims to go count as placed where they are nominated."""
    others = []
    for pod in pods:
        name = pod.status.nominated_node_name
        if name and name in picture.nodes:
            try:
                picture.put(pod, name)
            except CycleError:
                others.append(pod)
        else:
            others.append(pod)
    return others


def _still_waiting(picture: Picture, pods: Iterable[Pod]) -> list[Pod]:
    """Pods for which there is no room on nodes and machines that are there; the others are put there."""
    by_importance = sorted(pods, key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or ""))
    waiting = []
    for group in grouped(picture, by_importance):
        for position, pod in enumerate(group):
            if not picture.place(pod):
                waiting += group[position:]
                break
    return waiting
