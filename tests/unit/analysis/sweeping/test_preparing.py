"""What each run of a sweep is, and what is refused before the first one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.sweeping.stories import MOST, prepared

from bayplan.model.errors import InvalidObject


def test_runs_are_known_by_what_they_are() -> None:
    wide = prepared({"seed": [1, 2, 3], "weight.ImageLocality": [1, 2]})
    narrow = prepared({"weight.ImageLocality": [2], "seed": [3]})
    assert len(set(wide.names)) == 6
    assert narrow.names == [wide.names[5]]
    assert not set(prepared({"seed": [1]}, nodes="8cpu,32Gi=1").names) & set(prepared({"seed": [1]}).names)


def test_a_spec_has_what_the_axes_say(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", encoding="utf-8")
    found = prepared(
        {
            "config": [None, str(path)],
            "kubernetesVersion": ["1.37"],
            "nodes.8cpu,32Gi": [0, 2],
            "until": ["2min"],
            "wakeups": ["complete"],
            "gate.PodLevelResources": [False],
            "timeline": [None],
        }
    )
    plain, last = found.spec_at(0), found.spec_at(3)
    assert (plain.config, plain.config_name, plain.nodes) == (None, "default", "")
    assert (last.config_name, last.nodes, last.until_ns) == (str(path), "8cpu,32Gi=2", 120 * 10**9)
    assert (last.kubernetes_version, last.wakeups, last.timeline) == ("1.37", "complete", "")
    assert last.feature_gates == {"PodLevelResources": False}
    assert [node.metadata.name for node in found.story.nodes["8cpu,32Gi=2"]] == ["8cpu-32gi-0", "8cpu-32gi-1"]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"config.podInitalBackoffSeconds": [1]}, r"axes\.config\.podInitalBackoffSeconds: .*unknown field"),
        ({"args.NodeResourcesFit.scoring": ["x"]}, r"axes\.args\.NodeResourcesFit\.scoring: .*unknown field"),
        ({"args.NodeResourceFit.scoringStrategy.type": ["x"]}, "no such plugin: NodeResourceFit; did you mean"),
        ({"weight.NodeResourceFit": [1]}, r"axes\.weight\.NodeResourceFit: .*does not exist"),
        ({"gate.NoSuchGate": [True]}, r"axes\.gate\.NoSuchGate"),
        ({"gate.PodLevelResources": ["yes"]}, "must be true or false, not 'yes'"),
        ({"kubernetesVersion": ["1.9"]}, r"axes\.kubernetesVersion: Kubernetes 1\.9 is not known"),
        ({"wakeups": ["never"]}, r"axes\.wakeups: must be one of"),
        ({"config": ["no-such-file.yaml"]}, "no-such-file.yaml"),
        ({"timeline": ["no-such-file.yaml"]}, "no-such-file.yaml"),
        ({"until": ["soon"]}, "until: invalid duration"),
        ({"until": [0]}, "until: must be greater than 0"),
        ({"nodes.8cpu": [2]}, "memory is missing"),
    ],
)
def test_what_is_wrong_with_an_axis_itself(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        prepared(axes)


def test_a_value_that_only_some_combinations_make_invalid_is_left_to_its_run() -> None:
    assert len(prepared({MOST: ["LeastAllocated", "NoSuchStrategy"]}).names) == 2
