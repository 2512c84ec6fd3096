"""The disruption controller: that statuses follow pods, scales and time, and only where they must."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from tests.support.controller_stage import START, Stage

from bayplan.controllers.budgets.disruption_controller import DisruptionController
from bayplan.controllers.budgets.status import BudgetedPods, Scales, budget_status
from bayplan.model.conditions import find_condition
from bayplan.model.meta import Condition, LabelSelector, LabelSelectorRequirement
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.time_units import SECOND
from bayplan.model.watch_types import ADDED
from bayplan.model.workloads import Deployment, ReplicaSet
from bayplan.store.log import WatchEvent
from bayplan.testing.builders import budget, deployment, pod, replica_set


def status(stage: Stage, name: str = "b", namespace: str = "default") -> PodDisruptionBudgetStatus:
    found = stage.store.get(PodDisruptionBudget, namespace, name).status
    assert found is not None
    return found


def figures(stage: Stage, name: str = "b") -> tuple[int, int, int, int]:
    """Expected, desired, healthy, allowed."""
    now = status(stage, name)
    return now.expected_pods, now.desired_healthy, now.current_healthy, now.disruptions_allowed


def set_ready(stage: Stage, name: str, ready: str) -> None:
    def change(one: Pod) -> Pod:
        return replace(one, status=replace(one.status, conditions=[Condition(type="Ready", status=ready)]))

    stage.store.modify_status(Pod, "default", name, change, stage.now)
    stage.settle()


def stage_with_pods(controller: DisruptionController, count: int = 3) -> Stage:
    stage = Stage(controller)
    owner = replica_set("web").replicas(count).obj()
    stage.load(owner)
    for number in range(count):
        stage.load(pod(f"p{number}").labels(app="x").owner(owner).running("n1").obj())
    return stage


def test_a_budget_follows_its_pods() -> None:
    stage = stage_with_pods(DisruptionController())
    stage.create(budget("b").manifest().selects(app="x").min_available(2).obj())
    assert figures(stage) == (3, 2, 3, 1)
    assert status(stage).observed_generation == 1
    condition = status(stage).conditions[0]
    assert (condition.type, condition.status, condition.reason) == ("DisruptionAllowed", "True", "SufficientPods")
    stage.pass_time(5)
    set_ready(stage, "p0", "False")
    assert figures(stage) == (3, 2, 2, 0)
    condition = status(stage).conditions[0]
    assert (condition.status, condition.reason) == ("False", "InsufficientPods")
    assert condition.last_transition_time == "2026-01-01T00:00:05Z"
    stage.pass_time(5)
    stage.delete(Pod, "default", "p1")
    assert figures(stage) == (3, 2, 1, 0)
    assert status(stage).conditions[0].last_transition_time == "2026-01-01T00:00:05Z"
    stage.delete(Pod, "default", "p1", grace_seconds=0)
    assert figures(stage) == (2, 2, 1, 0)


def test_a_budget_lags_behind_when_asked_to() -> None:
    controller = DisruptionController(lag_ns=2 * SECOND)
    stage = stage_with_pods(controller)
    stage.create(budget("b").manifest().selects(app="x").min_available(2).obj())
    stage.pass_time(2)
    stage.delete(Pod, "default", "p0")
    stage.pass_time(1.5)
    stage.delete(Pod, "default", "p1")
    assert figures(stage) == (3, 2, 3, 1)
    stage.pass_time(0.5)
    assert figures(stage) == (3, 2, 1, 0)
    stage.pass_time(2)
    assert controller.wake_at() is None


def test_a_budget_follows_the_scale() -> None:
    stage = Stage(DisruptionController())
    top = deployment("web").replicas(3).obj()
    owner = replica_set("web-1").replicas(3).owner(top).obj()
    stage.load(top, owner, *(pod(f"p{i}").labels(app="x").owner(owner).running("n1").obj() for i in range(3)))
    stage.create(budget("b").manifest().selects(app="x").max_unavailable(1).obj())
    assert figures(stage) == (3, 2, 3, 1)
    stage.store.modify(
        Deployment, "default", "web", lambda one: replace(one, spec=replace(one.spec, replicas=5)), stage.now
    )
    stage.settle()
    assert figures(stage) == (5, 4, 3, 0)


def test_what_cannot_be_worked_out_allows_nothing_and_says_why() -> None:
    stage = stage_with_pods(DisruptionController())
    stage.create(budget("b").manifest().selects(app="x").max_unavailable(1).obj())
    assert figures(stage) == (3, 2, 3, 1)
    stage.delete(ReplicaSet, "default", "web")
    assert figures(stage) == (3, 2, 3, 0)
    condition = status(stage).conditions[0]
    assert (condition.reason, condition.message) == ("SyncFailed", 'found no controllers for pod "p0"')
    stage.load(replica_set("web").replicas(3).obj())
    assert figures(stage) == (3, 2, 3, 1)


def test_an_invalid_selector_allows_nothing() -> None:
    stage = stage_with_pods(DisruptionController())
    made = budget("b").manifest().min_available(0).obj()
    made.spec.selector = LabelSelector(match_expressions=[LabelSelectorRequirement(key="app", operator="Near")])
    stage.create(made)
    assert status(stage).disruptions_allowed == 0
    assert status(stage).conditions[0].message == '"Near" is not a valid label selector operator'


def test_a_budget_that_cannot_be_counted_is_not_looked_at_again_and_again() -> None:
    """Pods recorded as disrupted stay in its status for ever, as nobody can say whether they are back."""
    stage = stage_with_pods(DisruptionController())
    made = budget("b").min_available(0).allows(1, disrupted=["p0"]).obj()
    made.spec.selector = LabelSelector(match_expressions=[LabelSelectorRequirement(key="app", operator="Near")])
    stage.load(made)
    stage.pass_time(600)
    assert status(stage).disrupted_pods.keys() == {"p0"}


def test_selectors_and_labels_may_change() -> None:
    stage = stage_with_pods(DisruptionController())
    stage.create(
        budget("b").manifest().selects(app="x").min_available(0).obj(),
        budget("c").manifest().selects(app="y").min_available(0).obj(),
        budget("all").manifest().selects({}).min_available(0).obj(),
        budget("elsewhere", "other").manifest().selects({}).min_available(0).obj(),
    )
    stage.store.modify(
        Pod,
        "default",
        "p0",
        lambda one: replace(one, metadata=replace(one.metadata, labels={"app": "y"})),
        stage.now,
    )
    stage.settle()
    assert [status(stage, name).current_healthy for name in ("b", "c", "all")] == [2, 1, 3]
    assert status(stage, "elsewhere", "other").current_healthy == 0

    def select_other(one: PodDisruptionBudget) -> PodDisruptionBudget:
        return replace(one, spec=replace(one.spec, selector=LabelSelector(match_labels={"app": "y"})))

    stage.store.modify(PodDisruptionBudget, "default", "b", select_other, stage.now)
    stage.settle()
    assert status(stage).current_healthy == 1
    assert status(stage).observed_generation == 2
    stage.delete(PodDisruptionBudget, "default", "b")
    set_ready(stage, "p0", "False")
    assert status(stage, "c").current_healthy == 0


def test_labels_that_changed_unseen_count_once_the_pod_is_heard_of_again() -> None:
    controller = DisruptionController()
    stage = stage_with_pods(controller)
    stage.create(
        budget("b").manifest().selects(app="x").min_available(0).obj(),
        budget("c").manifest().selects(app="y").min_available(0).obj(),
    )
    set_ready(stage, "p0", "True")
    again = replace(stage.pod("p0"), metadata=replace(stage.pod("p0").metadata, labels={"app": "y"}))
    controller.observe(WatchEvent(ADDED, "Pod", None, again, 99, stage.now), stage.now)
    stage.settle()
    assert [status(stage, name).current_healthy for name in ("b", "c")] == [2, 1]


def test_nothing_is_written_when_nothing_changes_for_a_budget() -> None:
    stage = stage_with_pods(DisruptionController())
    stage.create(budget("b").manifest().selects(app="x").min_available(2).obj())
    version = stage.store.get(PodDisruptionBudget, "default", "b").metadata.resource_version
    stage.load(pod("other").labels(app="z").running("n1").obj())
    stage.load(pod("q", "other").labels(app="x").running("n1").obj())
    set_ready(stage, "p0", "True")
    assert stage.store.get(PodDisruptionBudget, "default", "b").metadata.resource_version == version


def test_a_granted_eviction_counts_until_the_pod_goes_or_two_minutes_are_over() -> None:
    controller = DisruptionController()
    stage = stage_with_pods(controller)
    stage.create(budget("b").manifest().selects(app="x").min_available(1).obj())

    def evict(one: PodDisruptionBudget) -> PodDisruptionBudget:
        assert one.status is not None
        granted = {"p0": "2026-01-01T00:00:00Z", "p1": "2026-01-01T00:00:00Z", "gone": "2026-01-01T00:00:00Z"}
        return replace(one, status=replace(one.status, disruptions_allowed=0, disrupted_pods=granted))

    stage.store.modify_status(PodDisruptionBudget, "default", "b", evict, stage.now)
    stage.settle()
    assert figures(stage) == (3, 1, 1, 0)
    assert list(status(stage).disrupted_pods) == ["p0", "p1"]
    stage.delete(Pod, "default", "p1")
    assert (figures(stage), list(status(stage).disrupted_pods)) == ((3, 1, 1, 0), ["p0"])
    stage.pass_time(120)
    assert list(status(stage).disrupted_pods) == ["p0"]
    stage.pass_time(0.001)
    assert (figures(stage), status(stage).disrupted_pods) == ((3, 1, 2, 1), {})
    assert controller.wake_at() is None


@pytest.mark.parametrize(
    ("reason", "phase", "status_after"),
    [
        pytest.param("PreemptionByScheduler", "Running", "False", id="taken back"),
        pytest.param("TerminationByKubelet", "Running", "True", id="the kubelet's word stands"),
        pytest.param("PreemptionByScheduler", "Failed", "True", id="it has ended"),
    ],
)
def test_a_stale_disruption_target_is_taken_back(reason: str, phase: str, status_after: str) -> None:
    controller = DisruptionController()
    stage = Stage(controller)
    stage.load(pod("a").node("n1").phase(phase).obj())
    target = Condition(
        type="DisruptionTarget", status="True", reason=reason, last_transition_time="2026-01-01T00:00:00Z"
    )
    stage.store.modify_status(
        Pod, "default", "a", lambda one: replace(one, status=replace(one.status, conditions=[target])), stage.now
    )
    stage.pass_time(119.9)
    assert stage.pod("a").status.conditions[0].status == "True"
    stage.pass_time(0.1)
    assert stage.pod("a").status.conditions[0].status == status_after
    assert controller.wake_at() is None


def test_a_disruption_target_on_a_pod_that_goes_stays() -> None:
    controller = DisruptionController()
    stage = Stage(controller)
    stage.load(pod("a").running("n1").condition("DisruptionTarget", "True", "PreemptionByScheduler").obj())
    assert controller.wake_at() == START + 120 * SECOND
    stage.delete(Pod, "default", "a")
    assert controller.wake_at() is None
    condition = find_condition(stage.pod("a").status.conditions, "DisruptionTarget")
    assert condition is not None
    assert condition.status == "True"


@pytest.mark.parametrize("seed", range(20))
def test_statuses_are_what_a_count_of_all_pods_gives(seed: int) -> None:
    """Whatever happens to pods, each budget ends up as if it had been worked out from scratch."""
    draw = random.Random(seed)
    stage = stage_with_pods(DisruptionController(), count=4)
    stage.create(
        budget("min").manifest().selects(app="x").min_available(2).obj(),
        budget("max").manifest().selects("app in (x, y)").max_unavailable("40%").obj(),
        budget("all").manifest().selects({}).min_available("50%").obj(),
    )
    owner = stage.store.get(ReplicaSet, "default", "web")
    for step in range(60):
        names = [one.metadata.name for one in stage.store.list(Pod)]
        match draw.choice(["add", "label", "ready", "delete", "remove"]):
            case "add":
                built = pod(f"q{step}").labels(app=draw.choice("xyz")).running("n1")
                stage.load((built.owner(owner) if draw.random() < 0.7 else built).obj())
            case "label" if names:
                labels = {"app": draw.choice("xyz")}

                def relabel(one: Pod, labels: dict[str, str] = labels) -> Pod:
                    return replace(one, metadata=replace(one.metadata, labels=labels))

                stage.store.modify(Pod, "default", draw.choice(names), relabel, stage.now)
            case "ready" if names:
                set_ready(stage, draw.choice(names), draw.choice(["True", "False"]))
            case "delete" if names:
                stage.delete(Pod, "default", draw.choice(names))
            case "remove" if names:
                stage.delete(Pod, "default", draw.choice(names), grace_seconds=0)
    stage.settle()
    scales = Scales([owner])
    selected = {"min": "x", "max": "xy", "all": "xyz"}
    for name, letters in selected.items():
        pods = [one for one in stage.store.list(Pod) if one.metadata.labels["app"] in letters]
        expected = budget_status(stage.store.get(PodDisruptionBudget, "default", name), pods, scales, now=stage.now)
        expected.conditions = status(stage, name).conditions
        assert status(stage, name) == expected


def test_counting_pods_as_they_come_and_go() -> None:
    owner = replica_set("web").obj()
    pods = BudgetedPods()
    assert pods.put(pod("a").owner(owner).running("n1").obj())
    assert pods.put(pod("b").running("n1").obj())
    assert not pods.put(pod("b").running("n1").labels(more="labels").obj())
    assert pods.put(pod("b").owner(owner).running("n1").obj())
    assert pods.healthy_count == 2
    assert [one.metadata.name for one in pods.one_of_each_controller()] == ["a"]
    assert pods.drop("a")
    assert not pods.drop("a")
    assert [one.metadata.name for one in pods.one_of_each_controller()] == ["b"]
    assert pods.drop("b")
    assert (pods.healthy_count, [*pods.one_of_each_controller()]) == (0, [])
