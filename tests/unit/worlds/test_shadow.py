"""Another scheduler's decisions held against ours, one at a time, and what our scheduler is told of reality."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.checkers import check_always
from tests.support.shadow_stage import VirtualShadow

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import NodeBuilder, node, pod
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder
from bayplan.worlds.shadow import GIVES_WAY_NS, PATIENCE_NS
from bayplan.worlds.shadow_findings import Agreement, Findings

NOW = 1_700_000_000 * SECOND


class Stage:
    """What the watch shows, step by step."""

    def __init__(self, *things: Builder[Any]) -> None:
        self.beside = VirtualShadow(load_configuration(None, release=DEFAULT_RELEASE), NOW)
        self.now = NOW
        self.pods: dict[str, Pod] = {}
        for thing in things:
            self.see(thing)

    def see(self, thing: Builder[Any]) -> None:
        """Something new, or a pod that has changed."""
        built = thing.obj()
        if not isinstance(built, Pod):
            self.beside.event(ObjectAdded(built), self.now)
            return
        before = self.pods.get(built.metadata.name)
        self.pods[built.metadata.name] = built
        self.beside.event(ObjectAdded(built) if before is None else ObjectChanged(before, built), self.now)

    def bind(self, name: str, where: str) -> None:
        """The other scheduler does."""
        before = self.pods[name]
        bound = replace(before, spec=replace(before.spec, node_name=where))
        self.pods[name] = bound
        self.beside.event(ObjectChanged(before, bound), self.now)

    def remove(self, name: str) -> None:
        self.beside.event(ObjectRemoved(self.pods.pop(name)), self.now)

    def wait(self, time_ns: int) -> None:
        self.now += time_ns
        self.beside.decide(self.now)

    def where(self, name: str) -> str:
        """The node on which our scheduler believes the pod to be."""
        cache = self.beside.scheduler.cache
        row = cache.pods.rows_by_key.get(f"default/{name}")
        return "" if row is None or cache.pods.node_rows[row] < 0 else cache.nodes.names[cache.pods.node_rows[row]]

    @property
    def found(self) -> Findings:
        check_always(self.beside.scheduler)
        return self.beside.shadow.finish(self.now)

    @property
    def placements(self) -> dict[Agreement, int]:
        return dict(self.found.placements)


def big(name: str) -> NodeBuilder:
    return node(name).capacity(cpu="8")


def small(name: str) -> NodeBuilder:
    return node(name).capacity(cpu="2")


def wanting(name: str, cpu: str = "1") -> PodBuilder:
    return pod(name).cpu(cpu)


def refused(name: str, message: str, cpu: str = "1") -> PodBuilder:
    """As the other scheduler leaves a pod that it cannot place."""
    return wanting(name, cpu).condition("PodScheduled", "False", "Unschedulable", message=message)


class TestPlacements:
    def test_the_same_node(self) -> None:
        stage = Stage(big("a"), small("b"), wanting("p"))
        assert stage.where("p") == "a", "assumed at once"
        stage.bind("p", "a")
        assert stage.placements == {Agreement.SAME: 1}

    def test_a_node_of_the_same_total_is_as_good(self) -> None:
        stage = Stage(big("a"), big("b"), wanting("p"))
        stage.bind("p", "b")
        assert stage.placements == {Agreement.TIED: 1}
        assert stage.where("p") == "b", "what is so comes before what we thought"

    def test_scores_tell_why(self) -> None:
        stage = Stage(big("a"), small("b"), wanting("p"))
        stage.bind("p", "b")
        (difference,) = stage.found.placement_differences
        assert (difference.agreement, difference.ours, difference.theirs) == (Agreement.DIFFERENT, "a", "b")
        assert difference.our_total is not None
        assert difference.their_total is not None
        assert difference.our_total > difference.their_total
        ours, theirs = difference.scores["NodeResourcesFit"]
        assert ours > theirs
        assert f"NodeResourcesFit {ours} to {theirs}" in difference.why

    def test_a_filter_tells_why(self) -> None:
        stage = Stage(big("a"), big("b").taint("gpu"), wanting("p"))
        stage.bind("p", "b")
        (difference,) = stage.found.placement_differences
        assert difference.why == "TaintToleration rejects b: node(s) had untolerated taint(s)"

    def test_what_only_they_could_place(self) -> None:
        stage = Stage(small("a"), wanting("p", "4"))
        stage.bind("p", "a")
        (difference,) = stage.found.placement_differences
        assert (difference.agreement, difference.ours) == (Agreement.ONLY_THEIRS, "")
        assert difference.why == "NodeResourcesFit rejects a: Insufficient cpu"

    def test_a_cluster_that_had_changed(self) -> None:
        """We chose the small node when there was no other; they chose when there was."""
        stage = Stage(small("a"), wanting("p"))
        stage.see(big("b"))
        stage.bind("p", "b")
        assert stage.placements == {Agreement.MOVED: 1}

    def test_pods_that_are_placed_in_our_mind_only_count_for_nothing(self) -> None:
        """Of two pods and two nodes the other scheduler begins with the second pod."""
        stage = Stage(big("a"), small("b"), wanting("p", "4"), wanting("q", "2"))
        assert (stage.where("p"), stage.where("q")) == ("a", "a")
        stage = Stage(node("a").capacity(cpu="4"), small("b"), wanting("p", "4"), wanting("q", "2"))
        assert (stage.where("p"), stage.where("q")) == ("a", "b")
        stage.bind("q", "a")
        assert stage.placements == {Agreement.MOVED: 1}

    def test_pods_of_others_and_pods_that_ran_before_are_not_compared(self) -> None:
        stage = Stage(big("a"), wanting("f").scheduler("somebody"), wanting("r").running("a"))
        stage.bind("f", "a")
        assert stage.placements == {}


class TestOnlyOurs:
    def test_a_pod_that_nobody_places(self) -> None:
        stage = Stage(big("a"), wanting("p"))
        stage.wait(PATIENCE_NS)
        (difference,) = stage.found.only_ours.values()
        assert (difference.agreement, difference.ours, difference.theirs) == (Agreement.ONLY_OURS, "a", "")
        stage.bind("p", "a")
        assert stage.found.only_ours == {}
        assert stage.placements == {Agreement.SAME: 1}

    def test_room_that_is_only_in_our_mind(self) -> None:
        """Somebody else's pod was given the room in the meantime."""
        stage = Stage(small("a"), wanting("p", "2"), wanting("q", "2"))
        assert (stage.where("p"), stage.where("q")) == ("a", "")
        stage.bind("q", "a")
        stage.wait(PATIENCE_NS)
        assert stage.found.only_ours == {}

    def test_a_pod_that_goes_is_forgotten(self) -> None:
        stage = Stage(big("a"), wanting("p"))
        stage.wait(PATIENCE_NS)
        stage.remove("p")
        assert stage.found.only_ours == {}
        assert stage.where("p") == ""


class TestGivingWay:
    def test_room_is_given_back_after_seconds(self) -> None:
        stage = Stage(small("a"), wanting("p", "2"), wanting("q", "2"))
        stage.wait(GIVES_WAY_NS)
        assert stage.where("p") == ""
        stage.wait(SECOND)
        assert stage.where("q") == "a", "it was woken"

    def test_room_is_given_back_at_once_when_they_refuse_the_pod(self) -> None:
        stage = Stage(big("a"), wanting("p"))
        stage.see(refused("p", "0/1 nodes are available: 1 Insufficient cpu."))
        assert stage.where("p") == ""

    def test_a_pod_set_aside_comes_back_with_its_next_change(self) -> None:
        stage = Stage(big("a"), wanting("p"))
        stage.wait(GIVES_WAY_NS)
        assert stage.where("p") == ""
        stage.see(wanting("p").labels(app="x"))
        assert stage.where("p") == "a"

    def test_a_pod_set_aside_is_bound(self) -> None:
        stage = Stage(big("a"), wanting("p"))
        stage.wait(GIVES_WAY_NS)
        stage.bind("p", "a")
        assert stage.where("p") == "a"
        assert stage.placements == {Agreement.SAME: 1}

    @pytest.mark.parametrize("how", ["bound", "replaced"])
    def test_nothing_is_kept_of_pods_that_are_over(self, how: str) -> None:
        stage = Stage(big("a"), wanting("p"))
        if how == "bound":
            stage.bind("p", "a")
        else:
            stage.remove("p")
        assert stage.beside.shadow._pods == {}
        assert stage.beside.scheduler.pods_on_the_way() == []


def victim(name: str, where: str, priority: int = 0, *, leaving: bool = False) -> PodBuilder:
    built = wanting(name, "2").priority(priority).running(where)
    if leaving:
        message = "default-scheduler: preempting to accommodate a higher priority pod"
        built.condition("DisruptionTarget", "True", "PreemptionByScheduler", message=message).terminating()
    return built


def preemptor(nominated: str = "") -> PodBuilder:
    built = wanting("pre", "2").priority(10)
    return built.nominated(nominated) if nominated else built


def two_full_nodes() -> Stage:
    return Stage(small("a"), small("b"), victim("v", "a"), victim("w", "b"))


class TestPreemptions:
    def play(self, stage: Stage, victim_name: str, where: str, priority: int = 0) -> dict[Agreement, int]:
        """The other scheduler evicts that pod, and binds the preemptor when it is gone."""
        stage.see(preemptor())
        stage.see(victim(victim_name, where, priority, leaving=True))
        stage.see(preemptor(where))
        stage.wait(SECOND)
        stage.remove(victim_name)
        stage.bind("pre", where)
        return dict(stage.found.preemptions)

    def test_the_same_victims(self) -> None:
        assert self.play(two_full_nodes(), "v", "a") == {Agreement.SAME: 1}

    def test_equally_cheap_victims(self) -> None:
        stage = two_full_nodes()
        assert self.play(stage, "w", "b") == {Agreement.TIED: 1}

    @pytest.mark.parametrize(
        ("other_priority", "agreements"),
        [(0, {Agreement.SAME, Agreement.TIED}), (5, {Agreement.SAME, Agreement.DIFFERENT})],
        ids=["equally important", "one more important"],
    )
    def test_which_of_two_pods_on_a_node_goes(self, other_priority: int, agreements: set[Agreement]) -> None:
        """Of equally important pods it depends on how they came to upstream's list which of them goes."""
        found: set[Agreement] = set()
        for name, priority in (("v", other_priority), ("w", 0)):
            stage = Stage(node("a").capacity(cpu="4"), victim("v", "a", other_priority), victim("w", "a"))
            found |= self.play(stage, name, "a", priority).keys()
        assert found == agreements
        assert stage.placements == {Agreement.SAME: 1}
        assert stage.where("v") == "a", "nobody is gone but in truth"

    def test_other_victims(self) -> None:
        stage = Stage(small("a"), small("b"), victim("v", "a"), victim("w", "b", 5))
        assert self.play(stage, "w", "b", 5) == {Agreement.DIFFERENT: 1}
        (difference,) = stage.found.preemption_differences
        assert (difference.our_node, difference.our_victims) == ("a", ("default/v",))
        assert (difference.their_node, difference.their_victims) == ("b", ("default/w",))

    def test_only_we_would_have_evicted(self) -> None:
        stage = two_full_nodes()
        stage.see(preemptor())
        stage.see(big("c"))
        stage.bind("pre", "c")
        assert dict(stage.found.preemptions) == {Agreement.ONLY_OURS: 1}

    def test_only_they_evict(self) -> None:
        stage = Stage(small("a"), big("b"), victim("v", "a"))
        assert self.play(stage, "v", "a") == {Agreement.ONLY_THEIRS: 1}

    def test_a_preemptor_waits_until_its_victim_is_seen_to_leave(self) -> None:
        stage = two_full_nodes()
        stage.see(preemptor())
        attempts = stage.found.decisions
        stage.see(wanting("bystander").running("a"))
        stage.remove("bystander")
        stage.wait(SECOND)
        assert stage.found.decisions == attempts, "it is not tried while its evictions are under way"

    def test_a_preemption_that_never_happens_is_given_up(self) -> None:
        stage = two_full_nodes()
        stage.see(preemptor())
        assert stage.beside.scheduler.queue.nominations.keys() == ["default/pre"]
        stage.wait(PATIENCE_NS)
        assert stage.beside.scheduler.queue.nominations.keys() == []

    def test_their_nomination_replaces_ours(self) -> None:
        stage = two_full_nodes()
        stage.see(preemptor())
        stage.see(preemptor("b"))
        assert [info.name for info in stage.beside.scheduler.queue.nominations.on("b")] == ["pre"]
        stage.wait(PATIENCE_NS)
        assert [info.name for info in stage.beside.scheduler.queue.nominations.on("b")] == ["pre"]


INSUFFICIENT = (
    "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: "
    "1 Preemption is not helpful for scheduling."
)


class TestMessages:
    @pytest.mark.parametrize(
        ("theirs", "agreement"),
        [
            (INSUFFICIENT, Agreement.SAME),
            ("0/1 nodes are available: 1 Insufficient cpu. preemption: another story.", Agreement.MOVED),
            ("0/1 nodes are available: 1 Too many pods.", Agreement.DIFFERENT),
        ],
    )
    def test_why_a_pod_fits_nowhere(self, theirs: str, agreement: Agreement) -> None:
        stage = Stage(small("a"), wanting("p", "4"))
        stage.see(refused("p", theirs, "4"))
        stage.remove("p")
        assert dict(stage.found.messages) == {agreement: 1}

    def test_the_same_message_is_not_counted_twice(self) -> None:
        stage = Stage(small("a"), wanting("p", "4"))
        stage.see(refused("p", INSUFFICIENT, "4"))
        stage.see(refused("p", INSUFFICIENT, "4").labels(app="x"))
        assert dict(stage.found.messages) == {Agreement.SAME: 1}

    def test_who_was_faster_is_not_compared_with_nothing(self) -> None:
        stage = Stage()
        stage.beside.scheduler.profiles = {}  # it is never asked
        stage.see(wanting("p"))
        stage.see(refused("p", "whatever."))
        stage.remove("p")
        assert dict(stage.found.messages) == {}
