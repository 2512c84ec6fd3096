"""One cache in which courses of events are played one after another, each in a cluster much like the first.

Takes a cluster and builds its cache once. For another cluster, what differs goes into that cache for as long as its
course takes, in a trial that is undone (docs/decisions/0036). Where that would not give what a new cache has, the
course gets one: with other pods on known nodes, with nodes or objects that are gone, and with nodes that differ in
more than their spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import is_over
from bayplan.analysis.placement import Placer
from bayplan.controllers.ownership import key_of
from bayplan.core.cache import Cache
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod


class Stage:
    """Plays what may become of one cluster."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self._known = {id(obj): obj for obj in asking.cluster.objects}
        self._nodes = {obj.metadata.name: obj for obj in asking.cluster.objects if isinstance(obj, Node)}

    @cached_property
    def _cache(self) -> Cache:
        return self.asking.cache()

    @cached_property
    def _placer(self) -> Placer:
        return self.asking.placer(self._cache)

    @contextmanager
    def course(self, cluster: Cluster | None = None) -> Iterator[Course]:
        """A course that begins with this cluster, or with the first one, and is over with the context."""
        asking = self.asking.of(cluster or self.asking.cluster)
        new = self._new_in(asking.cluster)
        if new is None:
            yield Course(asking)
            return
        with self._cache.trial():
            for obj in new:
                self._cache.add(obj)
            self._placer.forget_nominations()
            yield Course(asking, self._cache, self._placer)

    def _new_in(self, cluster: Cluster) -> list[Object] | None:
        """What the cache lacks of a cluster, or has otherwise; None if it cannot be made one of that cluster."""
        there = {id(obj) for obj in cluster.objects}
        gone = {key_of(obj): obj for number, obj in self._known.items() if number not in there}
        new = [obj for obj in cluster.objects if id(obj) not in self._known]
        replaced = {key_of(obj) for obj in new}
        if all(self._may_come(obj, gone.get(key_of(obj))) for obj in new) and all(
            key in replaced or not self._holds(obj) for key, obj in gone.items()
        ):
            return new
        return None

    def _may_come(self, new: Object, old: Object | None) -> bool:
        """Whether the cache with the new object is like one that was built with it."""
        if isinstance(new, Pod):
            is_fine = not self._holds(new) or (new.spec.node_name != "" and new.spec.node_name not in self._nodes)
            return is_fine and (old is None or not self._holds(old))
        if isinstance(new, Node):
            if isinstance(old, Node):
                return _differs_in_spec_alone(new, old)
            return new.metadata.name not in self._cache.nodes.rows_by_name  # as if pods had named it
        return True

    def _holds(self, obj: Object) -> bool:
        """Whether a cache looks at such an object."""
        if isinstance(obj, Pod):
            return bool(obj.spec.node_name or obj.status.nominated_node_name) and not is_over(obj)
        return isinstance(obj, Node) or self._cache.objects.find(obj) is not None


def _differs_in_spec_alone(new: Node, old: Node) -> bool:
    return new.metadata.labels == old.metadata.labels and new.status == old.status
