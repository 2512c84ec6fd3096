"""What another version changes: each cause by name, causes that act together, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from tests.unit.analysis.test_cluster_versions import CHANGES as CASES

from bayplan import Cluster
from bayplan.analysis.answers.upgrading.changes import CHANGES, changes_between, mixed
from bayplan.analysis.answers.upgrading.upgrade import DifferenceKind, Upgrade
from bayplan.config.feature_gates import read_feature_gates
from bayplan.config.releases import RELEASES
from bayplan.core.release import Release
from bayplan.model.errors import InvalidObject
from bayplan.testing.builders import node, pod

OLD, NEW = (read_feature_gates(None, RELEASES[version]) for version in ("1.36", "1.37"))


def cluster_of(*things: Any, version: str = "1.36") -> Cluster:
    return Cluster.from_objects([each if isinstance(each, dict) else each.dict() for each in things], version)


def causes_of(answer: Upgrade, key: str) -> list[str]:
    (found,) = [each for each in answer.differences if each.pod == key]
    return [cause.field for cause in found.causes]


def test_every_field_of_a_release_has_words_for_users() -> None:
    assert [*CHANGES] == [each.name for each in fields(Release) if each.name != "version"]


def test_words_differ_and_name_a_plugin_that_there_is() -> None:
    places = {*RELEASES["1.37"].implemented_points, "scheduling queue"}
    for name, words in CHANGES.items():
        assert words.if_so != words.if_not, name
        assert words.plugin in places, name


@pytest.mark.parametrize(("to", "said"), [("1.37", 0), ("1.36", 1)])
def test_gates_whose_defaults_changed_have_words(to: str, said: int) -> None:
    """The plugin, with the gate, and without it."""
    expected = {
        "DRADeviceTaintRules": ("DynamicResources", "devices have the taints", "have no effect"),
        "DRAFractionalCapacityRange": ("DynamicResources", "may have fractions", "whole numbers"),
        "StorageCapacityScoring": ("VolumeBinding", "nodes are scored", "nodes are not scored"),
        "VolumeLimitScaling": ("NodeVolumeLimits", "are left out if", "are not left out"),
    }
    before, after = (OLD, NEW) if to == "1.37" else (NEW, OLD)
    found = {each.gate: (each.plugin, each.text) for each in changes_between(before, after) if each.gate}
    assert found.keys() == expected.keys()
    for gate, (plugin, *words) in expected.items():
        assert found[gate][0] == plugin
        assert words[said] in found[gate][1]


def test_all_changes_together_are_the_other_version() -> None:
    for before, after in ((OLD, NEW), (NEW, OLD)):
        names = [change.field for change in changes_between(before, after)]
        assert mixed(before, after, names) == after
        assert mixed(before, after, ()) == before


@pytest.mark.parametrize(
    ("case", "cause", "kinds"),
    [
        ("a pod without claims hears nothing of claims", "says_nothing_to_deallocate", (DifferenceKind.MESSAGE,)),
        ("a preemption says what it found", "reports_preemption", (DifferenceKind.MESSAGE,)),
        (
            "a pod in resize holds the most of one moment",
            "counts_resize_by_pod",
            (DifferenceKind.NODE, DifferenceKind.MESSAGE),
        ),
        (
            "a namespace selector means the namespaces it selects",
            "merges_namespace_selector",
            (DifferenceKind.NODE, DifferenceKind.MESSAGE),
        ),
    ],
)
def test_a_difference_has_its_cause(case: str, cause: str, kinds: tuple[DifferenceKind, ...]) -> None:
    answer = cluster_of(*CASES[case].objects).upgrade("1.37")
    (found,) = [each for each in answer.differences if each.pod == "default/p"]
    assert (causes_of(answer, "default/p"), found.kinds) == ([cause], kinds)


def test_causes_that_only_act_together_are_all_named() -> None:
    """The message loses the words about claims, and the gated pod's node is not free any longer."""
    gated = pod("gated").cpu("4").priority(9).gate("wait").nominated("a")
    answer = cluster_of(node("a").capacity(cpu="4"), gated, pod("p").cpu("1")).upgrade("1.37")
    assert causes_of(answer, "default/p") == ["says_nothing_to_deallocate", "gated_pods_keep_nodes"]


def test_running_pods_are_tried_as_if_they_were_new() -> None:
    big = pod("big").cpu("4").node("a")
    answer = cluster_of(node("a").capacity(cpu="2"), big).upgrade("1.37")
    (found,) = answer.differences
    assert (answer.pending, answer.running) == (0, 1)
    assert (found.pod, found.runs_on, found.kinds) == ("default/big", "a", (DifferenceKind.MESSAGE,))


def test_pods_of_other_schedulers_are_not_tried() -> None:
    answer = cluster_of(node("a").capacity(cpu="1"), pod("p").cpu("2").scheduler("other")).upgrade("1.37")
    assert (answer.pending, answer.differences) == (0, ())


def test_gates_that_are_gone_or_locked_are_refused_in_the_words_of_the_version() -> None:
    cluster = cluster_of(node("a").capacity(cpu="1"), pod("p").cpu("2"))
    gates = {"SidecarContainers": True, "DRAPrioritizedList": False, "SchedulerPopFromBackoffQ": False}
    answer = cluster.upgrade("1.37", feature_gates=gates)
    assert {each.setting: each.text for each in answer.refused} == {
        "--feature-gates SidecarContainers": "unrecognized feature gate: SidecarContainers",
        "--feature-gates DRAPrioritizedList": (
            "cannot set feature gate DRAPrioritizedList to false, feature is locked to true"
        ),
    }
    assert answer.is_compared
    assert causes_of(answer, "default/p") == ["says_nothing_to_deallocate"]


def test_a_file_that_the_other_version_refuses_ends_the_comparison() -> None:
    plugins = {"podGroupPostFilter": {"enabled": [{"name": "DefaultPreemption"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
    }
    cluster = cluster_of(node("a").capacity(cpu="1"), pod("p").cpu("2"), version="1.37")
    answer = cluster.upgrade("1.36", config)
    assert [(each.setting, each.text) for each in answer.refused] == [
        ("profiles[0].plugins.podGroupPostFilter", "unknown field")
    ]
    assert (answer.is_compared, answer.differences) == (False, ())


def test_defaults_that_change_are_listed_unless_somebody_set_them() -> None:
    cluster = cluster_of(node("a"))
    settings = {each.setting: each.text for each in cluster.upgrade("1.37").configuration}
    assert settings["--feature-gates StorageCapacityScoring"] == "on by default, was off"
    assert settings["profiles[default-scheduler].plugins.multiPoint.enabled"] == (
        "another order: NodeName, NodeUnschedulable"
    )
    kept = cluster.upgrade("1.37", feature_gates={"StorageCapacityScoring": False}).configuration
    assert "--feature-gates StorageCapacityScoring" not in {each.setting for each in kept}


def test_a_cluster_of_that_version_has_nothing_to_upgrade_to() -> None:
    with pytest.raises(InvalidObject, match=r"has Kubernetes v1\.36 already"):
        cluster_of(node("a")).upgrade("1.36")


def test_where_no_version_is_known_the_one_before_is_compared() -> None:
    unknown = Cluster.from_objects([node("a").dict()])
    assert (unknown.upgrade("1.37").before, unknown.upgrade("1.36").before) == ("1.36", "1.37")
