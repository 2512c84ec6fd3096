"""Asking a cluster: pods that run, pods that workloads would create, the queue, and what comes after."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.model.volumes import AWSElasticBlockStoreVolumeSource, Volume
from bayplan.testing import builders as make
from bayplan.testing.building import Builder


def cluster(*things: Builder[Any]) -> Cluster:
    return Cluster.from_objects([thing.dict() for thing in things])


def web(replicas: int = 3) -> Builder[Any]:
    pattern = make.pod("web").labels(app="web").cpu("1")
    return make.deployment("web", "prod").replicas(replicas).template(pattern).manifest()


class TestExplain:
    def test_running_pod_counts_as_pending(self) -> None:
        """Its own room is free again, and it is not bound to its node."""
        asked = cluster(
            make.node("a").capacity(cpu="1"),
            make.node("b").capacity(cpu="2"),
            make.pod("x").cpu("1").running("a"),
        )
        why = asked.explain("default/x")
        assert why.to_dict()["feasible"] == ["a", "b"]
        assert why.subject.runs_on == "a"
        assert asked.pods["default/x"].spec.node_name == "a", "a question leaves the cluster as it was"

    def test_next_pod_of_a_workload(self) -> None:
        why = cluster(make.node("a"), web()).explain("prod/deployment/web")
        assert why.fits
        assert why.subject.workload == "Deployment prod/web"
        assert why.subject.key.startswith("prod/web-")

    def test_workload_in_the_namespace_given(self) -> None:
        assert cluster(make.node("a"), web()).explain("deploy/web", namespace="prod").fits

    def test_namespace_called_as_a_kind(self) -> None:
        why = cluster(make.node("a"), make.pod("x", "job")).explain("job/x")
        assert why.subject.key == "job/x"

    def test_pod_that_a_workload_would_create_has_a_name(self) -> None:
        asked = cluster(make.node("a"), web())
        planned = asked.pending_pods()[0]
        assert asked.explain(planned).subject.key == planned

    def test_unknown_pod_is_said_with_what_was_meant(self) -> None:
        with pytest.raises(InvalidObject, match=r"Pod default/checkuot: .*did you mean default/checkout"):
            cluster(make.node("a"), make.pod("checkout")).explain("checkuot")

    def test_unknown_scheduler(self) -> None:
        with pytest.raises(InvalidObject, match=r"spec.schedulerName: no profile for scheduler 'other'"):
            cluster(make.node("a"), make.pod("x").scheduler("other")).explain("default/x")

    def test_an_error_in_pre_filter_is_an_answer(self) -> None:
        """What is known by then is given, and the error in upstream's words."""
        odd = make.pod("x").spread("zone", {"app": "not a value!"})
        plain = cluster(make.node("a"), odd).explain("default/x").to_dict()
        error = plain["error"]
        assert error.startswith('running PreFilter plugin "PodTopologySpread": get constraints from pod: ')
        assert plain["message"] == error
        rejection = {"code": "Error", "plugin": "PodTopologySpread", "reasons": [error], "nodes": None}
        assert plain["prefilter"] == rejection
        assert [plain[key] for key in ("filter", "feasible", "best", "preemption")] == [{}, [], [], None]

    def test_an_error_in_filter_is_an_answer(self) -> None:
        """It is about some node, so nothing is said of any."""
        disk = Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws://bad"))
        nodes: list[Builder[Any]] = [make.node("a").taint("k"), make.node("b"), make.csi_node("b")]
        plain = cluster(*nodes, make.pod("x").volume(disk)).explain("default/x").to_dict(all_reasons=True)
        assert plain["error"].startswith('running "NodeVolumeLimits" filter plugin: converting volume(v) from inline')
        assert plain["prefilter"]["code"] == "Success"
        assert [plain[key] for key in ("filter", "feasible", "best", "preemption")] == [{}, [], [], None]
        obstacles = {node: [reason["code"] for reason in found] for node, found in plain["allReasons"].items()}
        assert obstacles == {"a": ["UnschedulableAndUnresolvable"], "b": ["Error"]}

    def test_an_error_while_scoring_leaves_what_was_filtered(self) -> None:
        odd = make.pod("x").node_affinity("gen > many", weight=1)
        nodes = [make.node("a"), make.node("b"), make.node("c").taint("k")]
        plain = cluster(*nodes, odd).explain("default/x").to_dict()
        assert plain["error"].startswith('running PreScore plugin "NodeAffinity": [0].matchExpressions[0]')
        assert (plain["feasible"], list(plain["filter"])) == (["a", "b"], ["c"])
        assert [plain[key] for key in ("scores", "totals", "best", "preemption")] == [{}, {}, [], None]

    @pytest.mark.parametrize(
        ("nominated", "verdict", "plugins"),
        [
            pytest.param("b", "NodeAffinity", "NodeAffinity", id="outside-the-names"),
            pytest.param("t", "TaintToleration", "NodeAffinity TaintToleration", id="outside-and-rejected-by-another"),
            pytest.param("gone", "", "NodeAffinity", id="does-not-exist"),
        ],
    )
    def test_a_nominated_node_has_a_verdict_of_its_own(self, nominated: str, verdict: str, plugins: str) -> None:
        """It is tried before PreFilter's names are looked at; who rejects it is named with those that narrowed."""
        waiting = make.pod("x").node_affinity("metadata.name=a").nominated(nominated)
        nodes = [make.node("a"), make.node("b"), make.node("c"), make.node("t").taint("k")]
        plain = cluster(*nodes, waiting).explain("default/x").to_dict()
        assert plain["feasible"] == ["a"]
        assert plain["filter"].get(nominated, {"plugin": ""})["plugin"] == verdict
        assert plain["filter"]["c"]["reasons"] == [f"node(s) didn't satisfy plugin(s) [{plugins}]"]

    def test_broken_template_elsewhere_does_not_matter(self) -> None:
        broken = make.deployment("bad").template(make.pod("p").labels(a="b").priority_class("none")).manifest()
        asked = cluster(make.node("a"), make.pod("x"), broken)
        assert asked.explain("default/x").fits
        with pytest.raises(InvalidObject) as raised:
            asked.explain("deployment/bad")
        (fault,) = raised.value.faults
        assert str(fault).startswith("objects: Deployment default/bad: spec.template.spec.priorityClassName: ")

    def test_pod_without_a_name_gets_one(self) -> None:
        nameless = make.pod("").manifest().dict()
        nameless["metadata"]["generateName"] = "job-"
        asked = Cluster.from_objects([make.node("a").dict(), nameless, nameless])
        assert asked.pending_pods() == ["default/job-new-1", "default/job-new-2"]


class TestAllReasons:
    def test_every_obstacle_is_listed(self) -> None:
        """The scheduler stops at the taint; the missing room would show only afterwards."""
        asked = cluster(
            make.node("free"),
            make.node("small").capacity(cpu="1").taint("gpu", "true").unschedulable(),
            make.pod("x").cpu("2").node_selector({"kubernetes.io/hostname": "free"}),
        )
        plain = asked.explain("default/x").to_dict(all_reasons=True)
        assert plain["filter"]["small"]["plugin"] == "NodeUnschedulable"
        plugins = [one["plugin"] for one in plain["allReasons"]["small"]]
        assert plugins == ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"]
        assert "free" not in plain["allReasons"]

    def test_only_when_asked_for(self) -> None:
        assert "allReasons" not in cluster(make.node("a"), make.pod("x")).explain("default/x").to_dict()

    def test_first_obstacle_is_the_schedulers(self) -> None:
        asked = cluster(
            make.node("a").capacity(cpu="1"),
            make.node("b").taint("k"),
            make.node("c").unschedulable(),
            make.pod("x").cpu("2"),
        )
        plain = asked.explain("default/x").to_dict(all_reasons=True)
        assert {node: found[0] for node, found in plain["allReasons"].items()} == plain["filter"]

    def test_rejection_before_any_node_hides_nothing(self) -> None:
        asked = cluster(make.node("a").taint("k"), make.pod("x").claim("missing"))
        reasons = asked.explain("default/x").all_reasons()["a"]
        assert {one["plugin"] for one in reasons} >= {"VolumeBinding", "TaintToleration"}

    def test_room_promised_to_a_nominated_pod_is_not_free(self) -> None:
        asked = cluster(
            make.node("a").capacity(cpu="2"),
            make.pod("first").cpu("2").priority(10).nominated("a"),
            make.pod("x").cpu("1"),
        )
        plain = asked.explain("default/x").to_dict(all_reasons=True)
        assert [one["reasons"] for one in plain["allReasons"]["a"]] == [["Insufficient cpu"]]


class TestQueue:
    def test_priority_then_arrival(self) -> None:
        asked = cluster(
            make.node("a"),
            make.pod("late-low"),
            make.pod("high").priority(10),
            web(2),
            make.pod("low"),
            make.pod("done").phase("Succeeded"),
            make.pod("running").running("a"),
        )
        keys = asked.queue().keys
        assert keys == [
            "default/high",
            "default/late-low",
            *(key for key in keys if key.startswith("prod/web-")),
            "default/low",
        ]
        assert len(keys) == 5

    def test_existing_pods_of_a_workload_are_taken_off(self) -> None:
        owner = make.replica_set("web").replicas(3).template(make.pod("web").labels(app="web"))
        asked = cluster(make.node("a"), owner, make.pod("web-x").labels(app="web").owner(owner).running("a"))
        assert len(asked.queue().keys) == 2

    def test_gated_and_foreign_pods_are_left_out(self) -> None:
        asked = cluster(make.node("a"), make.pod("g").gate("later"), make.pod("f").scheduler("other"), make.pod("x"))
        queue = asked.queue()
        assert queue.keys == ["default/x"]
        assert "later" in queue.gated["default/g"]
        assert queue.foreign == {"default/f": "other"}

    def test_foreign_pod_that_was_asked_for_is_a_fault(self) -> None:
        with pytest.raises(InvalidObject, match="no profile for scheduler 'other'"):
            cluster(make.node("a"), make.pod("f").scheduler("other")).queue(named=["f"])

    def test_named_workload_stands_for_all_it_lacks(self) -> None:
        asked = cluster(make.node("a"), web(3), make.pod("x"))
        assert len(asked.queue(named=["prod/deployment/web"]).keys) == 3

    def test_named_pods_keep_the_queues_order(self) -> None:
        asked = cluster(make.node("a"), make.pod("a"), make.pod("b"), make.pod("c").priority(1))
        assert asked.queue(named=["b", "a", "c"]).keys == ["default/c", "default/a", "default/b"]

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("r", "already has node a"),
            ("over", "the pod has finished"),
            ("nobody", "not found"),
            ("deployment/full", "already has all its pods"),
            ("deployment/nobody", "not found"),
        ],
    )
    def test_names_that_cannot_be_placed(self, name: str, message: str) -> None:
        full = make.deployment("full").replicas(0).template(make.pod("p").labels(a="b"))
        asked = cluster(make.node("a"), make.pod("r").running("a"), make.pod("over").phase("Failed"), full)
        with pytest.raises(InvalidObject, match=message):
            asked.queue(named=[name])

    def test_broken_template_is_a_fault_of_the_whole_queue(self) -> None:
        broken = make.deployment("bad").replicas(3).template(make.pod("p").labels(a="b").priority_class("none"))
        with pytest.raises(InvalidObject) as raised:
            cluster(make.node("a"), broken.manifest()).queue()
        assert len(raised.value.faults) == 1


class TestPlace:
    def test_whole_queue_by_default(self) -> None:
        run = cluster(make.node("a"), web(2), make.pod("x").priority(5)).place()
        assert [one.node for one in run.decisions] == ["a", "a", "a"]
        assert run.decisions[0].pod == "default/x"

    def test_after_the_pods_are_there_and_the_victims_gone(self) -> None:
        before = cluster(
            make.node("a").capacity(cpu="2"),
            make.node("b").capacity(cpu="1"),
            make.pod("low").cpu("2").running("a"),
            make.pod("high").cpu("2").priority(10),
            web(1),
        )
        run = before.place()
        after = before.after(run)
        assert run.decisions[0].victims == ("default/low",)
        assert "default/low" not in after.pods
        assert after.pods["default/high"].spec.node_name == "a"
        assert [key for key in after.pods if key.startswith("prod/web-")] == [run.decisions[1].pod]
        assert after.pending_pods() == [], "the Deployment has what it wants"
        assert "default/low" in before.pods

    def test_attempt_that_fails_is_that_pods_trouble_alone(self) -> None:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {"schedulerName": "default-scheduler"},
                {"schedulerName": "odd", "plugins": {"preFilter": {"disabled": [{"name": "NodeResourcesFit"}]}}},
            ],
        }
        asked = cluster(make.node("a"), make.pod("x").scheduler("odd"), make.pod("y"))
        first, second = asked.place(config=config).decisions
        assert first.node is None
        assert first.message.startswith('running "NodeResourcesFit" filter plugin: error reading ')
        assert second.node == "a"


class TestForeignVictims:
    """A pod of another scheduler stands on the only node, and one of this scheduler's own beside it."""

    ASKED = cluster(
        make.node("a").capacity(cpu="4"),
        make.pod("foreign").cpu("2").scheduler("somebody-else").running("a"),
        make.pod("own").cpu("2").priority(5).running("a"),
        make.pod("small").cpu("2").priority(10),
        make.pod("large").cpu("4").priority(10),
    )

    @pytest.mark.parametrize(("setting", "victim"), [(None, "foreign"), ("allow", "foreign"), ("never", "own")])
    def test_who_has_to_go(self, setting: str | None, victim: str) -> None:
        plain = self.ASKED.explain("small", foreign_victims=setting).to_dict()
        assert plain["preemption"]["candidates"]["a"]["victims"] == [f"default/{victim}"]
        (placed,) = self.ASKED.place(["default/small"], foreign_victims=setting).decisions
        assert placed.victims == (f"default/{victim}",)

    def test_nothing_is_gained_where_foreign_pods_are_in_the_way(self) -> None:
        plain = self.ASKED.explain("large", foreign_victims="never").to_dict()
        assert plain["preemption"]["candidates"] == {}
        assert plain["preemption"]["record"]["foreignPods"] == 1
        assert plain["message"] == (
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."
        )

    def test_the_configuration_may_say_so(self) -> None:
        entry = {"name": "bayplan", "args": {"foreignVictims": "never"}}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [entry]}],
        }
        assert self.ASKED.explain("small", config).to_dict()["preemption"]["record"]["foreignPods"] == 1
        free = self.ASKED.explain("small", config, foreign_victims="allow").to_dict()
        assert free["preemption"]["record"]["foreignPods"] == 0
