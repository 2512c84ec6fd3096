"""The PostFilter chain: what is said when nothing fits, who is asked, and how early the search may end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest
from tests.support.preemption_attempts import default_profile, tried
from tests.unit.core.preemption.test_potential import RejectsAll

import bayplan
from bayplan.core.actions import Emit
from bayplan.core.columns import row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import DEFAULT_PREEMPTION, DefaultPreemptionArgs
from bayplan.core.framework.contract import (
    Failure,
    PostFiltered,
    Proposal,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, Status, unschedulable
from bayplan.core.snapshot import View
from bayplan.model.volumes import AWSElasticBlockStoreVolumeSource, Volume
from bayplan.testing.builders import budget, csi_node, node, pod
from bayplan.testing.pods import PodBuilder

NO_CLAIMS = "no new claims to deallocate, "


def wanting(cpu: str = "4") -> PodBuilder:
    return pod("wanting").cpu(cpu).priority(100)


def on(where: str, name: str = "", priority: int = 10, cpu: str = "1") -> PodBuilder:
    return pod(name or f"on-{where}").cpu(cpu).priority(priority).running(where)


def asking(*names: str) -> Profile:
    """Asks these PostFilter plugins, in this order."""
    known = {plugin.name: plugin for plugin in default_profile().post_filter}
    return replace(default_profile(), post_filter=tuple(known[name] for name in names))


# Messages.


def test_success_says_nothing() -> None:
    done = tried(wanting(), node("n"), on("n"))
    assert done.result.status == SUCCESS
    assert done.result.message == ""
    assert done.result.found is not None


def test_policy_never() -> None:
    done = tried(wanting().never_preempts(), node("n"), on("n"))
    assert done.result.status.code is Code.UNSCHEDULABLE
    assert done.result.message == f"{NO_CLAIMS}preemption: not eligible due to preemptionPolicy=Never."
    assert done.result.found is None
    assert done.selected == []


def test_a_nomination_outlives_those_who_do_not_look_but_not_a_profile_that_asks_nobody() -> None:
    crowd: list[Any] = [node("n"), on("n", priority=200)]
    assert tried(wanting().nominated("n").never_preempts(), *crowd).result.keeps_nomination
    assert tried(wanting().nominated("n"), *crowd, profile=asking("DynamicResources")).result.keeps_nomination
    assert not tried(wanting().nominated("n"), *crowd, profile=asking()).result.keeps_nomination


def test_victims_still_leaving() -> None:
    gone = on("n").terminating().condition("DisruptionTarget", "True", "PreemptionByScheduler")
    done = tried(wanting().nominated("n"), node("n"), gone)
    reason = "not eligible due to a terminating pod on the nominated node."
    assert done.result.message == f"{NO_CLAIMS}preemption: {reason}"


def test_an_error_in_the_dry_run_is_that_nodes_status() -> None:
    """Preemption goes on, and where no candidate is left the errors are all that is said."""
    disk = Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws://bad"))
    things: list[Any] = [node("bad"), csi_node("bad"), on("bad")]
    error = (
        'running "NodeVolumeLimits" filter plugin: converting volume(v) from inline to csi: failed to translate '
        "Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://bad)"
    )
    done = tried(wanting().volume(disk), *things)
    assert (done.result.status.code, done.result.message) == (Code.ERROR, f"preemption: {error}")
    assert done.searched.node_statuses[0] == Status(Code.ERROR, (error,), "NodeVolumeLimits")
    done = tried(wanting().volume(disk), *things, node("good"), on("good"))
    assert done.selected == ["good"]
    assert done.result.status == SUCCESS


def test_reasons_are_counted_over_the_nodes_tried() -> None:
    """Nodes that were not worth a try count as such; lines are sorted as text."""
    things: list[Any] = [
        node("tainted").taint("gpu"),
        node("small").capacity(cpu=1),
        node("full-a"),
        node("full-b"),
        on("full-a", priority=100),
        on("full-b", priority=100),
        node("stuck"),
        on("stuck", "stays", priority=100),
        on("stuck", "goes", priority=1),
    ]
    done = tried(wanting(), *things)
    assert done.result.status.code is Code.UNSCHEDULABLE
    assert done.result.message == (
        f"{NO_CLAIMS}preemption: 0/5 nodes are available: 1 Insufficient cpu, "
        "2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )


def test_ten_stands_before_two() -> None:
    full = [node(f"full-{number}") for number in range(10)]
    pods = [on(f"full-{number}", priority=100) for number in range(10)]
    done = tried(wanting(), *full, *pods, node("a").taint("x"), node("b").taint("x"))
    assert done.result.message.endswith(
        "0/12 nodes are available: 10 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_nothing_worth_a_try() -> None:
    done = tried(wanting(), node("a").taint("x"), node("b").unschedulable())
    expected = "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert done.result.message == f"{NO_CLAIMS}preemption: {expected}"
    assert done.result.found is not None
    assert done.statuses == {}


def test_several_reasons_of_one_node_are_counted_each() -> None:
    things: list[Any] = [node("n"), on("n", "stays", priority=100).memory("20Gi"), on("n", "goes", priority=1)]
    done = tried(wanting().memory("20Gi"), *things)
    assert done.result.message.endswith("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.")


def test_pre_filter_ended_before_dynamic_resources_was_asked() -> None:
    """Its state is not there, which ends the chain: preemption is never reached."""
    done = tried(wanting().claim("missing"), node("n"), on("n"))
    assert done.result.status == Status(Code.ERROR, ("not found",), "DynamicResources")
    assert done.result.found is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n"], 'preemption: expected at least one victim pod on node "n"'),
        (
            ["b", "a"],
            'preemption: [expected at least one victim pod on node "a", expected at least one victim pod on node "b"]',
        ),
    ],
)
def test_errors_are_put_together(names: list[str], expected: str) -> None:
    """A pod that PreFilter turned away "fits" everywhere once it is tried, so everything can be put back."""
    rejecting = RejectsAll(Code.UNSCHEDULABLE)
    profile = replace(default_profile(), pre_filter=(rejecting, *default_profile().pre_filter))
    done = tried(pod("wanting").priority(100), *map(node, names), *map(on, names), profile=profile)
    assert done.result.status == Status(Code.ERROR, (expected,), DEFAULT_PREEMPTION)
    assert {status.code for status in done.statuses.values()} == {Code.ERROR}


# Who is asked.


@pytest.mark.parametrize(
    ("plugins", "message", "ran"),
    [
        ((), "", False),
        (("DynamicResources",), "no new claims to deallocate", False),
        (("DefaultPreemption",), "", True),
        (("DefaultPreemption", "DynamicResources"), "", True),
    ],
)
def test_the_profile_says_who_is_asked(plugins: tuple[str, ...], message: str, ran: bool) -> None:
    done = tried(wanting(), node("n"), on("n"), profile=asking(*plugins))
    assert (done.result.message, done.result.found is not None) == (message, ran)


def test_reasons_stand_in_the_order_of_the_plugins() -> None:
    profile = asking("DefaultPreemption", "DynamicResources")
    done = tried(wanting().never_preempts(), node("n"), on("n"), profile=profile)
    assert done.result.status.reasons == (
        "preemption: not eligible due to preemptionPolicy=Never.",
        "no new claims to deallocate",
    )


# Plugins of one's own.


class Replacing:
    """Evicts one pod by name, if that helps; its own reason says when it does not."""

    name: ClassVar[str] = "Replacing"

    def __init__(self, victim: str) -> None:
        self.victim = victim

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        victims = row_array([view.pods.rows_by_key[f"default/{self.victim}"]])
        node_row = view.pods.node_rows.item(victims[0])
        noted = (Emit(pod.key, pod.uid, "Normal", "Looked", "Scheduling", self.victim),)
        if failure.fits_without(node_row, victims):
            return PostFiltered(SUCCESS, Proposal(node_row, victims), noted)
        return PostFiltered(unschedulable(f"not even without {self.victim}"), actions=noted)


class Failing:
    name: ClassVar[str] = "Failing"

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        return PostFiltered(Status(Code.ERROR, ("out of order",)))


class Telling:
    """Says what it sees of a plugin."""

    name: ClassVar[str] = "Telling"

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        codes = failure.codes_of("NodeName").tolist()
        reached = [failure.state_of(name) is not None for name in ("NodeResourcesFit", "Unheard")]
        return PostFiltered(unschedulable(f"{codes} {reached}"))


def own(*plugins: Any) -> Profile:
    return replace(default_profile(), post_filter=plugins)


def test_a_plugin_may_propose_a_node_and_who_has_to_leave_it() -> None:
    """Priorities are no concern of the core's then."""
    done = tried(wanting(), node("n"), on("n", "big", priority=200, cpu="3"), profile=own(Replacing("big")))
    assert done.result.status.ok
    assert done.selected == ["n"]
    assert done.result.found is not None
    assert done.pods(done.result.found.victims_on(done.view.nodes.rows_by_name["n"])) == ["big"]
    assert [action.note for action in done.result.actions if isinstance(action, Emit)] == ["big"]


def test_where_it_does_not_help_the_next_plugin_is_asked_and_actions_are_kept() -> None:
    things: list[Any] = [node("n"), on("n", "small", priority=200), on("n", "other", cpu="2")]
    known = {plugin.name: plugin for plugin in default_profile().post_filter}
    done = tried(wanting("3"), *things, profile=own(Replacing("small"), known[DEFAULT_PREEMPTION]))
    assert done.result.status.ok
    assert done.candidates == {"n": ["other"]}
    assert len(done.result.actions) == 1
    alone = tried(wanting("3"), *things, profile=own(Replacing("small")))
    assert alone.result.message == "not even without small"
    assert alone.result.found is None


def test_a_plugin_that_fails_ends_the_chain() -> None:
    done = tried(wanting(), node("n"), on("n"), profile=own(Failing(), Replacing("on-n")))
    assert done.result.status == Status(Code.ERROR, ("out of order",), "Failing")


def test_a_plugin_sees_states_and_codes_of_others() -> None:
    done = tried(wanting().node("m"), node("n"), node("o").unschedulable(), profile=own(Telling()))
    assert done.result.message == "[1] [True, False]"


def test_no_node_fits_without_anybody_when_it_was_not_looked_at() -> None:
    waits = wanting().claim("missing")
    done = tried(waits, node("n"), on("n"), profile=own(Replacing("on-n")))
    assert done.result.message == "not even without on-n"


# How early the search ends.


def limited(percentage: int, absolute: int) -> Profile:
    return replace(default_profile(), preemption=DefaultPreemptionArgs(percentage, absolute))


def four_nodes(*guarded: str) -> list[Any]:
    """Nodes a to d, each with one pod to push out, the later the cheaper; pods of guarded nodes break a budget."""
    things: list[Any] = [budget("pdb").selects(app="x").allows(0)]
    for place, name in enumerate("abcd"):
        victim = on(name, priority=50 - place)
        things += [node(name), victim.labels(app="x") if name in guarded else victim]
    return things


LIMITS: dict[str, tuple[int, int, tuple[str, ...], list[str]]] = {
    "enough for all": (100, 0, (), ["a", "b", "c", "d"]),
    "a number": (0, 1, (), ["a"]),
    "a larger number": (0, 3, (), ["a", "b", "c"]),
    "more than there are": (0, 100, (), ["a", "b", "c", "d"]),
    "a share": (50, 0, (), ["a", "b"]),
    "a share is rounded down": (74, 0, (), ["a", "b"]),
    "the larger of both": (50, 3, (), ["a", "b", "c"]),
    "upstream's defaults": (10, 100, (), ["a", "b", "c", "d"]),
    "goes on until one breaks no budget": (0, 1, ("a",), ["a", "b"]),
    "keeps no more of those that do than were wanted": (0, 1, ("a", "b"), ["a", "c"]),
    "of which there may be nothing else": (0, 2, ("a", "b", "c", "d"), ["a", "b"]),
    "both kinds count together": (0, 3, ("b",), ["a", "b", "c"]),
}


@pytest.mark.parametrize(("percentage", "absolute", "guarded", "expected"), LIMITS.values(), ids=LIMITS.keys())
def test_the_search_ends_early(percentage: int, absolute: int, guarded: tuple[str, ...], expected: list[str]) -> None:
    """As if nodes were tried one at a time in the order of their rows."""
    done = tried(wanting(), *four_nodes(*guarded), profile=limited(percentage, absolute))
    assert sorted(done.candidates) == expected
    assert all(victims == [f"on-{name}"] for name, victims in done.candidates.items())
    assert done.violations == {name: int(name in guarded) for name in expected}
    harmless = [name for name in expected if name not in guarded]
    assert done.selected == [(harmless or expected)[-1]]


def test_the_share_is_one_of_nodes_worth_a_try() -> None:
    tainted = [node(f"tainted-{number}").taint("gpu") for number in range(8)]
    done = tried(wanting(), *tainted, *four_nodes(), profile=limited(50, 0))
    assert sorted(done.candidates) == ["a", "b"]


def configuration(**args: int) -> dict[str, Any]:
    plugin = {"name": "DefaultPreemption", "args": {"kind": "DefaultPreemptionArgs", **args}}
    plugin["args"] |= {"apiVersion": "kubescheduler.config.k8s.io/v1"}  # type: ignore[operator]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [plugin]}],
    }


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, 120),
        (configuration(minCandidateNodesPercentage=5, minCandidateNodesAbsolute=1), 6),
        (configuration(minCandidateNodesPercentage=10, minCandidateNodesAbsolute=100), 100),
    ],
)
def test_a_configuration_limits_the_search(config: dict[str, Any] | None, expected: int) -> None:
    """Every candidate is looked for unless a configuration says otherwise."""
    nodes = [node(f"n{number}") for number in range(120)]
    pods = [on(f"n{number}").priority(10 + number) for number in range(120)]
    things: list[Any] = [*nodes, *pods, wanting().priority(1000)]
    cluster = bayplan.Cluster.from_objects([thing.dict() for thing in things])
    preemption = cluster.explain("default/wanting", config=config).to_dict()["preemption"]
    assert len(preemption["candidates"]) == expected
