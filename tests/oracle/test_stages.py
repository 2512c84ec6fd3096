"""Courses played one after another on one stage, against courses in caches built anew for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import World
from tests.oracle.settling_clusters import settings_of

from bayplan import Cluster
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course, DepartureCause
from bayplan.analysis.answers.stage import Stage
from bayplan.model.kinds import Object
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.testing import builders as make


def tainted(draw: st.DrawFn, old: Node) -> Node:
    new = deepcopy(old)
    new.spec.taints = draw(st.sampled_from([[], [Taint(key="odd", effect="NoSchedule")]]))
    new.spec.unschedulable = draw(st.booleans())
    return new


@st.composite
def changes(draw: st.DrawFn, objects: Sequence[Object]) -> list[Object]:
    """The objects with a few of them changed, gone, or new."""
    result = [*objects]
    kind = draw(st.sampled_from(["none", "node", "label", "new node", "pending", "running", "gone", "budget"]))
    places = [at for at, obj in enumerate(objects) if isinstance(obj, Node)]
    if kind in ("node", "label"):
        at = draw(st.sampled_from(places))
        changed = tainted(draw, deepcopy(objects[at]))  # type: ignore[arg-type]
        if kind == "label":
            changed.metadata.labels["new"] = "yes"
        result[at] = changed
    elif kind == "new node":
        result.append(make.node("z-new").capacity(cpu="3", memory="4Gi", pods="6").obj())
        result.append(make.pod("daemon").cpu("1").priority(draw(st.sampled_from([0, 50]))).running("z-new").obj())
    elif kind in ("pending", "running"):
        pods = [at for at, obj in enumerate(objects) if isinstance(obj, Pod)]
        pods = [at for at in pods if bool(objects[at].spec.node_name) == (kind == "running")]  # type: ignore[union-attr]
        if pods:
            at = draw(st.sampled_from(pods))
            pod = deepcopy(objects[at])
            assert isinstance(pod, Pod)
            pod.spec.priority = draw(st.sampled_from([0, 30, 200]))
            result[at] = pod
    elif kind == "gone":
        del result[draw(st.sampled_from(places))]
    elif kind == "budget":
        result.append(make.budget("all-of-them").selects({}).allows(0).obj())
    event(kind)
    return result


def story_of(course: Course, evicted: Sequence[str]) -> tuple[Any, ...]:
    course.remove(evicted, DepartureCause.DELETED, "", for_good=False)
    course.settle()
    messages = {key: course.message(key) for key in (*course.waiting, *course.held_back)}
    on_nodes = {key: pod.spec.node_name for key, pod in course.pods.items()}
    return course.arrivals, course.departures, messages, on_nodes


@settings(max_examples=60)
@given(settings_of(), st.data())
def test_a_stage_plays_what_new_caches_play(drawn: tuple[World, list[Pod]], data: st.DataObject) -> None:
    world, coming = drawn
    objects: list[Object] = [*world.nodes, *world.others, *world.budgets, *world.pods, *coming]
    base = Cluster(objects)
    foreign_victims = "never" if world.own_schedulers is not None else None
    stage = Stage(Asking.about(base, foreign_victims=foreign_victims))
    for _ in range(3):
        cluster = Cluster(data.draw(changes(base.objects)))
        keys = [key for key, pod in cluster.pods.items() if pod.spec.node_name]
        evicted = data.draw(st.lists(st.sampled_from(keys), max_size=2, unique=True)) if keys else []
        with stage.course(cluster) as course:
            played = story_of(course, evicted)
        assert played == story_of(Course(stage.asking.of(cluster)), evicted)
