"""May the pod preempt now? Its policy, its nominated node, and victims of an earlier preemption decide."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import Thing, default_profile, tried

from bayplan.core.filtering import filter_pod
from bayplan.core.preemption.eligible import POLICY_NEVER, VICTIMS_LEAVING, ineligible_reason
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

MAY = ""


def wanting(nominated: str = "") -> PodBuilder:
    return pod("wanting").cpu("4").priority(100).nominated(nominated)


def leaving(name: str = "old", priority: int = 10, on: str = "n") -> PodBuilder:
    """A victim of an earlier preemption."""
    gone = pod(name).cpu("4").priority(priority).running(on).terminating()
    return gone.condition("DisruptionTarget", "True", "PreemptionByScheduler")


def departing() -> PodBuilder:
    return pod("old").cpu("4").priority(10).running("n").terminating()


CASES: dict[str, tuple[PodBuilder, tuple[Thing, ...], str]] = {
    "nothing against it": (wanting(), (node("n"), leaving()), MAY),
    "its policy forbids it": (wanting().never_preempts(), (node("n"), leaving()), POLICY_NEVER),
    "the policy is looked at first": (wanting("n").never_preempts(), (node("n"), leaving()), POLICY_NEVER),
    "victims are leaving": (wanting("n"), (node("n"), leaving()), VICTIMS_LEAVING),
    "one of several pods is leaving": (
        wanting("n"),
        (node("n"), pod("stays").cpu("2").running("n"), leaving().cpu("2")),
        VICTIMS_LEAVING,
    ),
    "victims leave another node": (wanting("n"), (node("n"), node("m"), leaving("gone", on="m"), departing()), MAY),
    "a pod of equal priority leaves": (wanting("n"), (node("n"), leaving(priority=100)), MAY),
    "a user deleted the pod": (wanting("n"), (node("n"), departing()), MAY),
    "the condition is for something else": (
        wanting("n"),
        (node("n"), departing().condition("DisruptionTarget", "True", "EvictionByEvictionAPI")),
        MAY,
    ),
    "the condition was taken back": (
        wanting("n"),
        (node("n"), departing().condition("DisruptionTarget", "False", "PreemptionByScheduler")),
        MAY,
    ),
    "the first such condition decides": (
        wanting("n"),
        (
            node("n"),
            departing()
            .condition("DisruptionTarget", "True", "DeletionByTaintManager")
            .condition("DisruptionTarget", "True", "PreemptionByScheduler"),
        ),
        MAY,
    ),
    "marked but not deleted yet": (
        wanting("n"),
        (
            node("n"),
            pod("old").cpu("4").running("n").condition("DisruptionTarget", "True", "PreemptionByScheduler"),
        ),
        MAY,
    ),
    "the nominated node is unknown": (wanting("gone"), (node("n"), leaving()), MAY),
    "the nominated node is gone, its pods are not": (
        wanting("gone"),
        (node("n"), departing(), leaving("b", on="gone")),
        MAY,
    ),
    "the nominated node can no longer be resolved": (wanting("n"), (node("n").taint("gpu"), leaving()), MAY),
    "the nominated node was not looked at": (
        wanting("n").node_affinity("metadata.name=m"),
        (node("n"), node("m").capacity(cpu=1), leaving()),
        MAY,
    ),
}


@pytest.mark.parametrize(("pending", "things", "expected"), CASES.values(), ids=CASES.keys())
def test_reason(pending: PodBuilder, things: tuple[Thing, ...], expected: str) -> None:
    """The reason a pod must not preempt, or none."""
    done = tried(pending, *things)
    assert done.result.ineligible_reason == expected
    assert (done.result.found is not None) == (expected == MAY)


def test_a_removed_node_does_not_hold_the_pod_back() -> None:
    """A node that was taken away with victims still on it is no nominated node any more."""
    cache = cache_of(node("n").obj(), node("m").obj(), leaving().obj())
    cache.remove_node("n")
    info, view = cache.info(wanting("n").obj()), cache.view()
    assert ineligible_reason(info, view, filter_pod(default_profile(), info, view)) == MAY
