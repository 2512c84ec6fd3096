"""The second look at a binding that was seen before one that had been decided earlier."""

from __future__ import annotations

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.events import ObjectAdded, ObjectChanged
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod
from bayplan.worlds.shadow_findings import Agreement, Findings
from bayplan.worlds.shadow_judging import Judge
from bayplan.worlds.shadow_placements import LOOKS_AGAIN_AFTER_NS, OurPlacement, Placements


class Stage:
    """Two nodes, of which `a` is the better one for a first pod and `b` for a second."""

    def __init__(self) -> None:
        self.findings = Findings()
        self._judge = Judge(build_profiles(load_configuration(None, release=DEFAULT_RELEASE)), DEFAULT_GATES)
        self.placements = Placements(self._judge, self.findings)
        for name, cpu in (("a", "4"), ("b", "3")):
            self._judge.observe(ObjectAdded(node(name).capacity(cpu=cpu).obj()))

    def bind(self, name: str, where: str, now: int) -> Pod:
        waiting, bound = pod(name).cpu("2").obj(), pod(name).cpu("2").node(where).obj()
        self._judge.observe(ObjectAdded(waiting))
        self.placements.bound(waiting, bound, OurPlacement(), now)
        self._judge.observe(ObjectChanged(waiting, bound))
        return bound

    @property
    def found(self) -> dict[Agreement, int]:
        self.placements.look_again(LOOKS_AGAIN_AFTER_NS)
        return dict(self.findings.placements)


def test_a_node_that_was_taken_before() -> None:
    """The second pod was decided first, and was on its way to the node that we would have chosen."""
    stage = Stage()
    stage.bind("late", "b", 0)
    stage.bind("early", "a", 1)
    assert stage.found == {Agreement.SAME: 1, Agreement.MOVED: 1}


def test_a_node_that_nobody_took() -> None:
    stage = Stage()
    stage.bind("late", "b", 0)
    assert stage.found == {Agreement.DIFFERENT: 1}


def test_nothing_is_counted_before_its_time() -> None:
    stage = Stage()
    stage.bind("late", "b", 0)
    stage.placements.look_again(LOOKS_AGAIN_AFTER_NS - 1)
    assert not stage.findings.placements
    stage.placements.look_again(0, at_all=True)
    assert stage.findings.placements == {Agreement.DIFFERENT: 1}


def test_a_pod_that_is_gone_is_counted_as_it_was_seen() -> None:
    stage = Stage()
    stage.bind("late", "b", 0)
    stage.placements.gone("default/late")
    assert stage.findings.placements == {Agreement.DIFFERENT: 1}


def test_looking_again_leaves_the_cluster_as_it_is() -> None:
    """The pod is put back as it has become meanwhile."""
    stage = Stage()
    bound = stage.bind("late", "b", 0)
    leaving = pod("late").cpu("2").node("b").terminating().obj()
    stage.placements.changed(leaving)
    stage._judge.observe(ObjectChanged(bound, leaving))
    stage.bind("early", "a", 1)
    assert stage.found == {Agreement.SAME: 1, Agreement.MOVED: 1}
    cache = stage._judge._cache
    row = cache.pods.rows_by_key["default/late"]
    assert cache.nodes.names[cache.pods.node_rows[row]] == "b"
    assert cache.pods.terminating[row]
