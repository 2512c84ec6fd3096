"""The kubelet: how pods start, end and stop, and that nothing happens on nodes that are away."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.support.controller_stage import START, Stage

from bayplan.controllers.delays import FixedDelays
from bayplan.controllers.nodes.kubelet import Initialization, Kubelet, annotated_exit_codes, annotated_run_seconds
from bayplan.model.conditions import find_condition
from bayplan.model.node import Node
from bayplan.model.pod import (
    Container,
    ContainerState,
    ContainerStateTerminated,
    Lifecycle,
    LifecycleHandler,
    Pod,
    SleepAction,
)
from bayplan.model.time_units import SECOND
from bayplan.model.watch_types import ADDED
from bayplan.store.log import WatchEvent
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

DELAYS = FixedDelays(start=2 * SECOND + SECOND // 2, stop=SECOND)


def stage_with_node(kubelet: Kubelet | None = None) -> Stage:
    stage = Stage(kubelet or Kubelet(DELAYS))
    stage.create(node("n1").manifest().obj())
    return stage


def ready_status(stage: Stage, name: str) -> tuple[str, str]:
    condition = find_condition(stage.pod(name).status.conditions, "Ready")
    return ("", "") if condition is None else (condition.status, condition.reason)


def exits(stage: Stage, name: str) -> dict[str, int]:
    """The exit codes of containers that have ended."""
    found = ((one.name, one.state) for one in stage.pod(name).status.container_statuses)
    return {name: state.terminated.exit_code for name, state in found if state is not None and state.terminated}


def running(*pods: PodBuilder) -> Stage:
    stage = stage_with_node()
    for built in pods:
        stage.create(built.obj())
        stage.bind(built.obj().metadata.name, "n1")
    stage.pass_time(3)
    return stage


def test_a_bound_pod_runs_after_the_start_latency() -> None:
    stage = stage_with_node()
    stage.create(pod("a").manifest().obj())
    stage.pass_time(10.7)
    assert stage.pod("a").status.phase == "Pending"
    stage.bind("a", "n1")
    stage.pass_time(2.4)
    assert stage.pod("a").status.start_time is None
    stage.pass_time(0.1)
    status = stage.pod("a").status
    assert (status.phase, status.start_time) == ("Running", "2026-01-01T00:00:10Z")
    assert ready_status(stage, "a") == ("True", "")
    ready = find_condition(status.conditions, "Ready")
    assert ready is not None
    assert ready.last_transition_time == "2026-01-01T00:00:13Z"
    assert find_condition(status.conditions, "PodScheduled") is not None


def test_a_pod_without_a_run_time_costs_nothing_once_it_runs() -> None:
    kubelet = Kubelet(DELAYS)
    stage = stage_with_node(kubelet)
    stage.create(pod("a").manifest().node("n1").obj())
    assert kubelet.wake_at() == START + DELAYS.start
    stage.pass_time(3)
    assert kubelet.wake_at() is None
    assert not kubelet._plans


@pytest.mark.parametrize(
    ("annotations", "phase", "reason"),
    [
        ({"bayplan/run-seconds": "5.5"}, "Succeeded", "PodCompleted"),
        ({"bayplan/run-seconds": "5.5", "bayplan/fails": "true"}, "Failed", "PodFailed"),
        ({"bayplan/run-seconds": "5.5", "bayplan/fails": "false"}, "Succeeded", "PodCompleted"),
    ],
)
def test_a_pod_ends_after_its_run_time(annotations: dict[str, str], phase: str, reason: str) -> None:
    stage = stage_with_node()
    stage.create(pod("a").manifest().annotations(annotations).node("n1").obj())
    stage.pass_time(7.9)
    assert stage.pod("a").status.phase == "Running"
    stage.pass_time(0.1)
    assert stage.pod("a").status.phase == phase
    assert ready_status(stage, "a") == ("False", reason)


@pytest.mark.parametrize(
    ("written", "seconds"), [("3", 3.0), ("0.25", 0.25), ("-1", 0.0), ("soon", None), ("inf", None), ("nan", None)]
)
def test_run_time_as_annotated(written: str, seconds: float | None) -> None:
    assert annotated_run_seconds(pod("a").annotations({"bayplan/run-seconds": written}).obj()) == seconds
    assert annotated_run_seconds(pod("a").annotations({"others/run-seconds": written}).obj()) == seconds


def test_the_run_time_may_come_from_elsewhere() -> None:
    stage = stage_with_node(Kubelet(DELAYS, run_seconds=lambda one: 1.0 if one.metadata.name == "short" else None))
    stage.create(pod("short").manifest().node("n1").obj(), pod("long").manifest().node("n1").obj())
    stage.pass_time(1000)
    assert [stage.pod(name).status.phase for name in ("short", "long")] == ["Succeeded", "Running"]


def test_whether_a_pod_fails_may_come_from_elsewhere() -> None:
    codes = {"bad": {"c": 3}}
    kubelet = Kubelet(DELAYS, run_seconds=lambda _: 1.0, exit_codes=lambda one: codes.get(one.metadata.name, {}))
    stage = stage_with_node(kubelet)
    stage.create(pod("good").manifest().node("n1").obj(), pod("bad").manifest().node("n1").obj())
    stage.pass_time(1000)
    assert [stage.pod(name).status.phase for name in ("good", "bad")] == ["Succeeded", "Failed"]
    assert [exits(stage, name) for name in ("good", "bad")] == [{}, {"c": 3}]


@pytest.mark.parametrize(
    ("annotations", "code"),
    [
        ({"fails": "true"}, 1),
        ({"exit-code": "42"}, 42),
        ({"exit-code": "42", "fails": "true"}, 42),
        ({"exit-code": "0", "fails": "true"}, 1),
        ({"exit-code": "256", "fails": "true"}, 1),
        ({"exit-code": "-2"}, 0),
        ({}, 0),
    ],
)
def test_exit_codes_as_annotated(annotations: dict[str, str], code: int) -> None:
    """Containers of a pod that is to fail end with 1, unless it says with what."""
    written = {f"bayplan/{name}": value for name, value in annotations.items()}
    made = pod("a").annotations(written).cpu("1").obj()
    assert annotated_exit_codes(made) == ({made.spec.containers[0].name: code} if code else {})


@pytest.mark.parametrize(
    ("ends", "starts_after", "phase"),
    [
        (None, 2.5, "Running"),
        (Initialization(5, {}, is_repeated=False), 7.5, "Running"),
        (Initialization(5, {"init": 4}, is_repeated=False), 7.5, "Failed"),
        (Initialization(5, {"init": 4}, is_repeated=True), None, "Pending"),
    ],
)
def test_init_containers_come_first(ends: Initialization | None, starts_after: float | None, phase: str) -> None:
    """They take their time; if one fails for good the pod has failed, and if it is tried again the pod waits."""
    stage = stage_with_node(Kubelet(DELAYS, initialization=lambda _: ends))
    made = pod("a").manifest().node("n1").obj()
    made.spec.init_containers = [Container(name="init")]
    stage.create(made)
    if starts_after is not None:
        stage.pass_time(starts_after - 0.1)
        assert stage.pod("a").status.phase == "Pending"
        stage.pass_time(0.1)
    stage.pass_time(100)
    assert stage.pod("a").status.phase == phase
    ended = [(one.name, one.state) for one in stage.pod("a").status.init_container_statuses]
    failed = ContainerState(terminated=ContainerStateTerminated(exit_code=4))
    assert ended == ([("init", failed)] if phase == "Failed" else [])


def test_a_kubelet_that_starts_late_counts_the_run_time_from_the_start_time() -> None:
    stage = stage_with_node()
    stage.load(pod("a").annotations({"bayplan/run-seconds": "100"}).running("n1", "2025-12-31T23:59:00Z").obj())
    stage.pass_time(39)
    assert stage.pod("a").status.phase == "Running"
    stage.pass_time(1)
    assert stage.pod("a").status.phase == "Succeeded"


@pytest.mark.parametrize(
    ("own", "asked", "annotation", "gone_after"),
    [
        pytest.param(30, None, None, 1.0, id="as long as it takes"),
        pytest.param(30, None, "20", 20.0, id="as annotated"),
        pytest.param(30, None, "50", 30.0, id="never longer than its grace period"),
        pytest.param(30, 5, "20", 5.0, id="nor than the request allows"),
        pytest.param(0, None, "20", 0.0, id="no grace"),
        pytest.param(30, 0, "20", 0.0, id="forced"),
    ],
)
def test_graceful_stop(own: int, asked: int | None, annotation: str | None, gone_after: float) -> None:
    built = pod("a").manifest().grace(own)
    if annotation is not None:
        built.annotations({"bayplan/stop-seconds": annotation})
    stage = running(built)
    stage.delete(Pod, "default", "a", grace_seconds=asked)
    if gone_after:
        stage.pass_time(gone_after - 0.001)
        assert stage.pod("a").metadata.deletion_timestamp is not None
        stage.pass_time(0.001)
    assert not stage.has_pod("a")


def test_a_second_request_shortens_the_wait() -> None:
    stage = running(pod("a").manifest().annotations({"bayplan/stop-seconds": "25"}))
    stage.delete(Pod, "default", "a")
    stage.pass_time(10)
    stage.delete(Pod, "default", "a", grace_seconds=3)
    stage.pass_time(2.9)
    assert stage.has_pod("a")
    stage.pass_time(0.1)
    assert not stage.has_pod("a")


def test_a_pod_that_never_ran_goes_at_once() -> None:
    stage = stage_with_node()
    stage.create(pod("a").manifest().node("n1").obj())
    stage.pass_time(1)
    stage.delete(Pod, "default", "a")
    assert not stage.has_pod("a")


def test_a_pod_with_finalizers_says_that_it_has_ended() -> None:
    built = pod("a").manifest().node("n1").obj()
    built.metadata.finalizers = ["batch.kubernetes.io/job-tracking"]
    stage = stage_with_node()
    stage.create(built)
    stage.pass_time(3)
    stage.delete(Pod, "default", "a")
    stage.pass_time(1)
    left = stage.pod("a")
    assert (left.status.phase, left.metadata.deletion_grace_period_seconds) == ("Failed", 0)
    stage.store.modify(
        Pod, "default", "a", lambda one: replace(one, metadata=replace(one.metadata, finalizers=[])), stage.now
    )
    stage.settle()
    assert not stage.has_pod("a")


def test_an_ended_pod_is_left_alone() -> None:
    stage = running(pod("a").manifest().annotations({"bayplan/run-seconds": "0"}))
    version = stage.store.resource_version
    stage.pass_time(1000)
    assert stage.pod("a").status.phase == "Succeeded"
    assert stage.store.resource_version == version


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    stage = running(pod("a").manifest().annotations({"bayplan/run-seconds": "10"}))
    stage.delete(Pod, "default", "a", grace_seconds=0)
    stage.create(pod("a").manifest().annotations({"bayplan/run-seconds": "10"}).node("n1").obj())
    stage.pass_time(12.4)
    assert stage.pod("a").status.phase == "Running"
    stage.pass_time(0.1)
    assert stage.pod("a").status.phase == "Succeeded"


def test_nothing_happens_before_the_node_is_there() -> None:
    stage = Stage(Kubelet(DELAYS))
    stage.create(pod("a").manifest().node("n1").obj())
    stage.pass_time(100)
    assert stage.pod("a").status.phase == "Pending"
    stage.create(node("n1").manifest().obj())
    stage.pass_time(2.5)
    assert stage.pod("a").status.start_time == "2026-01-01T00:01:40Z"


def test_nothing_happens_on_a_node_that_is_down() -> None:
    kubelet = Kubelet(DELAYS)
    stage = stage_with_node(kubelet)
    ends = {"bayplan/run-seconds": "5"}
    stage.create(pod("ends").manifest().annotations(ends).node("n1").obj(), pod("stops").manifest().node("n1").obj())
    stage.pass_time(3)
    kubelet.node_down("n1", stage.now)
    stage.create(pod("starts").manifest().node("n1").obj())
    stage.delete(Pod, "default", "stops")
    stage.pass_time(100)
    assert stage.pod("ends").status.phase == "Running"
    assert stage.pod("starts").status.phase == "Pending"
    assert stage.has_pod("stops")
    kubelet.node_up("n1", stage.now)
    stage.settle()
    assert stage.pod("ends").status.phase == "Succeeded"
    assert not stage.has_pod("stops")
    stage.pass_time(2.5)
    assert stage.pod("starts").status.start_time == "2026-01-01T00:01:43Z"


def test_a_forced_deletion_on_a_node_that_is_down_leaves_nothing_behind() -> None:
    kubelet = Kubelet(DELAYS)
    stage = stage_with_node(kubelet)
    stage.create(pod("a").manifest().node("n1").obj())
    kubelet.node_down("n1", stage.now)
    stage.pass_time(10)
    stage.delete(Pod, "default", "a", grace_seconds=0)
    kubelet.node_up("n1", stage.now)
    stage.settle()
    assert not stage.has_pod("a")
    assert not kubelet._plans
    assert not kubelet._held


@pytest.mark.parametrize(("reason", "status"), [("", "True"), ("ContainersNotReady", "False")])
def test_a_node_that_is_back_says_again_that_its_pods_are_ready(reason: str, status: str) -> None:
    kubelet = Kubelet(DELAYS)
    stage = stage_with_node(kubelet)
    kubelet.node_down("n1", stage.now)
    stage.load(pod("a").node("n1").phase("Running").condition("Ready", "False", reason).obj())
    kubelet.node_up("n1", stage.now)
    stage.settle()
    assert ready_status(stage, "a") == (status, reason)


def test_hearing_of_everything_again_changes_nothing() -> None:
    kubelet = Kubelet(DELAYS)
    stage = stage_with_node(kubelet)
    stage.create(pod("a").manifest().node("n1").obj())
    stage.pass_time(1)
    before = kubelet.wake_at()
    for kind in (Node, Pod):
        for one in stage.store.list(kind):
            kubelet.observe(WatchEvent(ADDED, kind.__name__, None, one, 1, stage.now), stage.now)
    stage.settle()
    assert kubelet.wake_at() == before


@pytest.mark.slow
def test_a_hundred_thousand_pods() -> None:
    kubelet = Kubelet(DELAYS)
    stage = stage_with_node(kubelet)
    pattern = pod("p").manifest().annotations({"bayplan/run-seconds": "60"}).node("n1").obj()
    for number in range(100_000):
        stage.store.create(replace(pattern, metadata=replace(pattern.metadata, name=f"p{number}")), stage.now)
    stage.settle()
    assert len(kubelet._timers) == 100_000
    stage.pass_time(3)
    stage.pass_time(60)
    assert {one.status.phase for one in stage.store.list(Pod)} == {"Succeeded"}
    assert not kubelet._plans


def test_a_pod_that_does_not_fit_its_node_is_refused() -> None:
    stage = Stage(Kubelet(DELAYS, is_strict=True))
    stage.create(node("n1").capacity(cpu=1, pods=9).manifest().obj())
    stage.create(pod("a").request(cpu=2).node("n1").manifest().obj())
    stage.pass_time(3)
    status = stage.pod("a").status
    assert (status.phase, status.reason) == ("Failed", "OutOfcpu")


def test_the_deadline_of_a_pod_ends_it_and_may_be_set_while_it_runs() -> None:
    stage = running(pod("a").manifest())
    stage.store.modify(
        Pod,
        "default",
        "a",
        lambda known: replace(known, spec=replace(known.spec, active_deadline_seconds=5)),
        stage.now,
    )
    stage.pass_time(1)
    assert stage.pod("a").status.phase == "Running"
    stage.pass_time(2)
    status = stage.pod("a").status
    assert (status.phase, status.reason) == ("Failed", "DeadlineExceeded")


def test_a_pod_sleeps_before_it_stops_as_its_hook_says() -> None:
    stage = stage_with_node()
    made = pod("a").manifest().node("n1").obj()
    made.spec.containers[0].lifecycle = Lifecycle(pre_stop=LifecycleHandler(sleep=SleepAction(seconds=4)))
    stage.create(made)
    stage.pass_time(3)
    stage.delete(Pod, "default", "a", grace_seconds=30)
    stage.pass_time(4.5)
    assert stage.store.find(Pod, "default", "a") is not None
    stage.pass_time(1)
    assert stage.store.find(Pod, "default", "a") is None


def test_a_strict_kubelet_says_that_a_pod_has_ended_before_it_goes() -> None:
    stage = stage_with_node(Kubelet(DELAYS, is_strict=True))
    stage.create(pod("a").manifest().node("n1").obj())
    stage.pass_time(3)
    seen = stage.store.watch(Pod)
    stage.delete(Pod, "default", "a", grace_seconds=30)
    stage.pass_time(2)
    phases = [change.new.status.phase for change in seen.read() if isinstance(change.new, Pod)]
    assert phases[0] == "Running"  # to be deleted
    assert set(phases[1:]) == {"Failed"}
