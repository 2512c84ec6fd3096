"""Pods placed one after another, each in a cache built anew from objects: what fast answers are held against."""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy

from tests.oracle.preemption_clusters import World, placed
from tests.support.caches import cache_of
from tests.support.preemption_attempts import default_profile

from bayplan.core.cycle import Attempt, attempt
from bayplan.core.preemption.search import Searched
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod

PROFILE = default_profile()


def world_objects(world: World) -> list[Object]:
    for each in world.nodes:  # so that nothing fits without end
        each.status.allocatable["pods"] = min(int(each.status.allocatable["pods"]), 12)
    return [*world.nodes, *world.others, *world.budgets, *world.running(), *world.nominated]


class Slowly:
    """Places one pod after another, each time in a cache made from objects in which all happens again."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = deepcopy(objects)
        self._history: list[Pod | str] = []  # pods that came, keys of pods that went
        self.placed: dict[str, str] = {}  # key -> node
        self.victims: list[str] = []

    def place(self, pod: Pod, spared: Collection[str] = ()) -> tuple[str, list[str]]:
        """Its node, or "" if it fits nowhere or would evict one of those to be spared; and its victims."""
        cache = cache_of(*self.objects)
        for step in self._history:
            if isinstance(step, str):
                cache.remove_pod(step)
            else:
                cache.add_pod(step)
        info, view = cache.info(pod), cache.view()
        node, victims = chosen(attempt(PROFILE, info, view), view)
        if not node or not set(victims).isdisjoint(spared):
            return "", []
        overtaken = [
            view.pods.keys[row] for row in view.nominated.get(node, ()) if view.pods.priorities[row] < info.priority
        ]
        self._history += [*victims, *(overtaken if victims else ())]
        self._history.append(placed(pod, node))
        self.victims += victims
        self.placed[info.key] = node
        return node, victims


def chosen(found: Attempt, view: View) -> tuple[str, list[str]]:
    if found.scored is not None:
        rows = found.scored.best_rows() if found.scored.totals is not None else found.scored.rows
        return min(view.nodes.names[row] for row in rows), []
    searched = found.post_filter.found if found.post_filter is not None else None
    if not isinstance(searched, Searched) or not len(searched.tied_rows):
        return "", []
    node = min(view.nodes.names[row] for row in searched.tied_rows)
    return node, [view.pods.keys[row] for row in searched.victims_on(view.nodes.rows_by_name[node])]
