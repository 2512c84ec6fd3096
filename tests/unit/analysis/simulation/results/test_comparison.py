"""Runs held against each other: which pod is which, what counts as a change, and when to warn."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.unit.analysis.simulation.runs import pod, preemption, run, summary
from tests.unit.analysis.simulation.worlds import after, cluster, nodes, objects, pattern, workload

import bayplan
from bayplan.analysis.simulation.inputs.commands import Apply
from bayplan.analysis.simulation.results.comparison import short_names
from bayplan.analysis.simulation.results.differences import ChangedPreemption, ChangeKind, RunDifference, WaitDifference
from bayplan.analysis.simulation.results.pod_matching import match_pods
from bayplan.analysis.simulation.results.run_format import End, PodRow, Run
from bayplan.model.errors import InvalidObject

PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 100}]}},
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
                }
            ],
        }
    ],
}


def difference(base: Run, other: Run) -> RunDifference:
    (found,) = bayplan.compare(base, other, names=["a", "b"]).differences
    return found


class TestWhichPodIsWhich:
    @pytest.mark.parametrize(
        ("base", "other", "pairs"),
        [
            pytest.param([pod("x"), pod("y")], [pod("y"), pod("x")], [(0, 1), (1, 0)], id="by name"),
            pytest.param([pod("x"), pod("x")], [pod("x")], [(0, 0)], id="one of two lives of a name"),
            pytest.param(
                [pod("web-a", owner="Deployment default/web"), pod("web-b", owner="Deployment default/web")],
                [pod("web-b", owner="Deployment default/web"), pod("web-c", owner="Deployment default/web")],
                [(0, 1), (1, 0)],
                id="replicas whose names were made up",
            ),
            pytest.param(
                [pod("web-a", owner="Deployment default/web")],
                [pod("db-a", owner="Deployment default/db")],
                [],
                id="replicas of different workloads",
            ),
            pytest.param([pod("x")], [pod("y")], [], id="pods without a workload"),
        ],
    )
    def test_pairs(self, base: list[PodRow], other: list[PodRow], pairs: list[tuple[int, int]]) -> None:
        matching = match_pods(base, other)
        assert matching.pairs == pairs
        assert sorted([left for left, _ in pairs] + matching.only_base) == list(range(len(base)))
        assert sorted([right for _, right in pairs] + matching.only_run) == list(range(len(other)))

    def test_pods_that_only_one_run_had_are_named(self) -> None:
        pods = difference(run([pod("x"), pod("y")]), run([pod("x"), pod("z")])).pods
        assert [lone.pod for lone in pods.only_in_base] == ["default/y"]
        assert [lone.pod for lone in pods.only_in_run] == ["default/z"]


class TestWhatChanged:
    @pytest.mark.parametrize(
        ("before", "now", "changed", "counted"),
        [
            pytest.param(pod("x"), pod("x"), None, {}, id="nothing"),
            pytest.param(pod("x"), pod("x", bound=1.99), None, {}, id="a little later"),
            pytest.param(pod("x"), pod("x", bound=2.0), [ChangeKind.TIME], {"time": 1}, id="a second later"),
            pytest.param(pod("x"), pod("x", "n2"), [ChangeKind.NODE], {"node": 1}, id="another node"),
            pytest.param(
                pod("x"), pod("x", "n2", 9.0), [ChangeKind.NODE, ChangeKind.TIME], {"node": 1, "time": 1}, id="both"
            ),
            pytest.param(pod("x"), pod("x", None), [ChangeKind.PLACED], {"placedOnlyInBase": 1}, id="waits now"),
            pytest.param(pod("x", None), pod("x"), [ChangeKind.PLACED], {"placedOnlyInRun": 1}, id="waited before"),
            pytest.param(
                pod("x"),
                pod("x", end=End.PREEMPTED, ended=9.0),
                [ChangeKind.PREEMPTED],
                {"preemptedOnlyInRun": 1},
                id="preempted now",
            ),
            pytest.param(
                pod("x", end=End.PREEMPTED, ended=9.0),
                pod("x", "n2"),
                [ChangeKind.PREEMPTED, ChangeKind.NODE],
                {"preemptedOnlyInBase": 1, "node": 1},
                id="preempted before",
            ),
            pytest.param(pod("x", end=End.FINISHED, ended=9.0), pod("x"), None, {}, id="has not finished yet"),
        ],
    )
    def test_of_a_pod(
        self, before: PodRow, now: PodRow, changed: list[ChangeKind] | None, counted: dict[str, int]
    ) -> None:
        pods = difference(run([before]), run([now])).pods
        assert (pods.in_both, [change.changed for change in pods.changes]) == (1, [changed] if changed else [])
        assert {name: count for name, count in msgspec.to_builtins(pods.counts).items() if count} == counted

    def test_the_gravest_change_of_the_most_important_pod_comes_first(self) -> None:
        base = run([pod("moved"), pod("late"), pod("lost"), pod("high-lost", priority=1000)])
        other = run(
            [pod("moved", "n2"), pod("late", bound=9), pod("lost", None), pod("high-lost", None, priority=1000)]
        )
        changes = difference(base, other).pods.changes
        assert [change.pod for change in changes] == [
            "default/high-lost",
            "default/lost",
            "default/moved",
            "default/late",
        ]

    def test_a_replica_of_another_name_has_both(self) -> None:
        owner = "Deployment default/web"
        base, other = run([pod("web-a", owner=owner)]), run([pod("web-b", "n2", owner=owner)])
        (change,) = difference(base, other).pods.changes
        assert (change.pod, change.pod_in_run) == ("default/web-a", "default/web-b")

    def test_figures_are_the_run_less_the_base(self) -> None:
        base = run(
            summary=summary([pod("x")], evictions={"drain": 2}, budgets_broken=1, utilization={"cpu": 0.5, "gpu": 0.2})
        )
        other = run(summary=summary([pod("x", bound=4.0), pod("y", None)], evictions={"preemption": 3}))
        found = difference(base, other).summary
        assert (found.pods.created, found.pods.placed, found.pods.pending) == (1, 0, 1)
        assert found.waiting["low"] == WaitDifference(0, 3.0, 3.0, 3.0, 3.0)
        assert found.evictions == {"drain": -2, "preemption": 3}
        assert found.budgets_broken == -1
        assert found.utilization == {"cpu": 0.0, "gpu": -0.2}

    def test_a_class_that_waited_in_one_run_only_has_no_difference(self) -> None:
        base, other = run([pod("x")]), run([pod("x", None)])
        waited = difference(base, other).summary.waiting["low"]
        assert waited == WaitDifference(-1, None, None, None, None)
        (of_class,) = bayplan.compare(base, other).comparison.classes
        assert [(figures.placed, figures.pending, figures.p90) for figures in of_class.runs] == [
            (1, 0, 1.0),
            (0, 1, None),
        ]


class TestPreemptions:
    def test_the_same_pod_for_the_same_victims_is_the_same_wherever_and_whenever(self) -> None:
        pods = [pod("urgent"), pod("x"), pod("y")]
        base = run(pods, [preemption("urgent", "x", "y")])
        other = run(pods, [preemption("urgent", "y", "x", at=60.0, node="n2")])
        assert difference(base, other).preemptions == ChangedPreemption(1, [], [])

    def test_other_victims_make_another_preemption(self) -> None:
        pods = [pod("urgent"), pod("x"), pod("y")]
        found = difference(run(pods, [preemption("urgent", "x")]), run(pods, [preemption("urgent", "y")]))
        assert [made.victims[0].pod for made in found.preemptions.only_in_base] == ["default/x"]
        assert [made.victims[0].pod for made in found.preemptions.only_in_run] == ["default/y"]

    def test_replicas_are_the_same_under_made_up_names(self) -> None:
        owner = "Deployment default/web"
        base = run([pod("urgent"), pod("web-a", owner=owner)], [preemption("urgent", "web-a")])
        other = run([pod("urgent"), pod("web-b", owner=owner)], [preemption("urgent", "web-b")])
        assert difference(base, other).preemptions.in_both == 1

    def test_a_name_stands_for_the_pod_that_was_there_then(self) -> None:
        """The base evicts db-0 and then its successor, the other run only the successor."""
        pods = [pod("urgent"), pod("db-0"), pod("db-0", created=55.0, bound=56.0)]
        base = run(pods, [preemption("urgent", "db-0", at=50.0), preemption("urgent", "db-0", at=60.0)])
        other = run(pods, [preemption("urgent", "db-0", at=60.0)])
        found = difference(base, other).preemptions
        assert (found.in_both, [made.t for made in found.only_in_base]) == (1, [50.0])


class TestWarnings:
    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({}, []),
            ({"configs": "other.yaml"}, []),
            ({"seed": 7}, ["The seeds of a and b differ (0 and 7)"]),
            ({"inputs": "other"}, ["The inputs of a and b differ (objects, timeline or trace)"]),
            ({"seconds": 90.0}, ["a and b do not cover the same time (100 s and 90 s)"]),
            ({"partial": True}, ["b ended early"]),
            (
                {"seed": 7, "inputs": "other"},
                ["The inputs of a and b differ", "The seeds of a and b differ"],
            ),
        ],
        ids=str,
    )
    def test_what_makes_runs_hard_to_compare(self, changed: dict[str, Any], said: list[str]) -> None:
        warnings = bayplan.compare(run(), run(**changed), names=["a", "b"]).warnings
        assert len(warnings) == len(said)
        assert all(found.startswith(start) for found, start in zip(warnings, said, strict=True))

    def test_each_run_is_held_against_the_first(self) -> None:
        compared = bayplan.compare(run(), run(seed=1), run(seed=2), names=["a", "b", "c"])
        assert [found.run for found in compared.differences] == [1, 2]
        assert ["a and b" in compared.warnings[0], "a and c" in compared.warnings[1]] == [True, True]


class TestNames:
    @pytest.mark.parametrize(
        ("paths", "names"),
        [
            (["runs/a.json", "runs/b.yaml"], ["a", "b"]),
            (["old/run.json", "new/run.json"], ["old/run.json", "new/run.json"]),
            (["a.json", "a.json"], ["a", "a (2)"]),
            (["default", "v1.36"], ["default", "v1.36"]),
            ([".json", "b"], [".json", "b"]),
        ],
    )
    def test_short_as_long_as_they_differ(self, paths: list[str], names: list[str]) -> None:
        assert short_names(paths) == names

    def test_one_name_for_each_run(self) -> None:
        with pytest.raises(ValueError, match="1 names for 2 runs"):
            bayplan.compare(run(), run(), names=["a"])

    def test_something_else_is_no_run(self) -> None:
        with pytest.raises(InvalidObject, match="run 2: not a result"):
            bayplan.compare(run(), {"kind": "Pod"})


class TestRealRuns:
    """A full cluster in which an urgent pod comes after a minute."""

    def simulated(self, config: Any = None, seed: int = 1) -> Any:
        world = cluster(*nodes(3), workload("web", 4, "1", "low"))
        urgent = after(1, Apply(objects(pattern("urgent", "4", "high"))))
        return bayplan.simulate(world, [urgent], config=config, seed=seed, until=300)

    def test_a_run_does_not_differ_from_itself(self) -> None:
        compared = bayplan.compare(self.simulated(), self.simulated())
        (found,) = compared.differences
        assert compared.warnings == []
        # Four replicas, the urgent pod, and the successor of its victim.
        assert (found.pods.in_both, found.pods.changed) == (6, 0)
        assert not any(msgspec.structs.astuple(found.summary.pods))

    def test_packing_leaves_room_for_the_urgent_pod(self) -> None:
        """Spread over all nodes somebody must make room; packed on one, nobody."""
        compared = bayplan.compare(self.simulated(), self.simulated(PACKED), names=["spread", "packed"])
        (found,) = compared.differences
        assert compared.warnings == []
        assert found.summary.pods.preempted < 0
        assert (found.preemptions.in_both, len(found.preemptions.only_in_base)) == (0, 1)
        assert found.pods.counts.node > 0

    def test_other_input_and_seed_are_noticed(self) -> None:
        other = bayplan.simulate(cluster(*nodes(2), workload("web", 4, "1", "low")), seed=2, until=300)
        warnings = " ".join(bayplan.compare(self.simulated(), other).warnings)
        assert "inputs" in warnings
        assert "seeds" in warnings

    def test_results_and_their_json_give_the_same_comparison(self) -> None:
        results = [self.simulated(), self.simulated(PACKED)]
        read_back = [json.loads(json.dumps(result.to_dict())) for result in results]
        plain = [bayplan.compare(*ones, names=["a", "b"]).to_dict() for ones in (results, read_back)]
        assert json.dumps(plain[0]) == json.dumps(plain[1])
