"""What a cluster comes to when everything that is pending is tried, with a change made to it or without.

Losses come first, then what is pending is tried, then workloads with a new template are rolled out one after another.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.changes import ChangedCluster
from bayplan.analysis.answers.course import Course, DepartureCause
from bayplan.analysis.answers.updates import Update, update
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.cluster_objects import is_over
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod


def settled(asking: Asking) -> Course:
    """The cluster once its pending pods have been tried."""
    course = Course(asking)
    course.settle()
    return course


def play_out(course: Course, made: ChangedCluster, evicted: Sequence[str] = ()) -> tuple[Update, ...]:
    """What follows from a change, in a course that begins with it; somebody may evict these pods as well.

    Raises InvalidObject for a bad template.
    """
    for loss in made.losses:
        course.remove(loss.pods, loss.cause, loss.by, for_good=loss.for_good)
    course.remove(evicted, DepartureCause.DELETED, "", for_good=False)
    course.enqueue(made.cluster.prepared(made.arriving(), course.cache))
    course.settle()
    return tuple(update(course, workload, made.cluster.objects, made.now) for workload in made.updates)


def cluster_after(course: Course, cluster: Cluster) -> Cluster:
    """What a cluster came to, the pods that got no node among the objects."""
    others: list[Object] = [obj for obj in cluster.objects if not isinstance(obj, Pod) or is_over(obj)]
    waiting = [cluster.pods[key] for key in (*course.waiting, *course.held_back) if key in cluster.pods]
    planned = {id(new.origin): new.origin for key in course.pods if (new := cluster.planned(key)) is not None}
    along = [obj for origin in planned.values() for obj in origin.along]
    return cluster.like([*others, *along, *course.pods.values(), *waiting])
