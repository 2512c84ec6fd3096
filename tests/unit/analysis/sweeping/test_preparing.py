"""What each run of a sweep is, and what is refused before the first one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.simulation.replaying.recorded_worlds import record
from tests.unit.analysis.simulation.worlds import after, objects, pattern
from tests.unit.analysis.sweeping.stories import MOST, prepared, story_cluster, urgent

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.analysis.simulation.inputs.commands import Apply
from bayplan.model.errors import InvalidObject
from bayplan.model.time_units import SECOND


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


def test_inputs_that_were_read_already_are_told_apart() -> None:
    later = [after(3, Apply(objects(pattern("urgent", "4", "high"))))]
    found = prepared({"timeline": [urgent(), later]})
    assert [plans[0].at for plans in (found.story.timelines[found.spec_at(place).timeline] for place in (0, 1))] == [
        plans[0].at for plans in (urgent(), later)
    ]


def test_a_recording_decides_the_version_unless_somebody_else_does(tmp_path: Path) -> None:
    path = tmp_path / "old.rec"
    writer = RecordingWriter(str(path), {"kubernetesVersion": "v1.36.2"})
    writer.begin(story_cluster().objects, 0)
    writer.close(60 * SECOND)
    known: dict[str, Any] = {"base_cluster": Cluster([]), "recording": path}
    assert prepared({"seed": [1]}, has_version=False, **known).spec_at(0).kubernetes_version == "1.36"
    assert prepared({"seed": [1]}, **known).spec_at(0).kubernetes_version is None
    asked = prepared({"kubernetesVersion": ["1.37"]}, has_version=False, **known)
    assert asked.spec_at(0).kubernetes_version == "1.37"


def test_recordings_are_known_by_what_they_tell(tmp_path: Path) -> None:
    def name(file: str, minutes: int, seconds: int = 300) -> str:
        arrival = after(minutes, Apply(objects(pattern("p", "4", "high"))))
        (tmp_path / file).unlink(missing_ok=True)
        record(tmp_path / file, story_cluster(), [arrival], until_ns=seconds * SECOND)
        return prepared({"seed": [1]}, recording=tmp_path / file).names[0]

    first = name("a", 1)
    assert name("a", 1) == first  # written anew
    found = {name("a", 2), name("a", 1, 240), name("b", 1)}
    assert len(found) == 3
    assert first not in found


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"config.podInitalBackoffSeconds": [1]}, r"axes\.config\.podInitalBackoffSeconds: .*unknown field"),
        ({"args.NodeResourcesFit.scoring": ["x"]}, r"axes\.args\.NodeResourcesFit\.scoring: .*unknown field"),
        ({"args.NodeResourceFit.scoringStrategy.type": ["x"]}, "no such plugin: NodeResourceFit; did you mean"),
        ({"weight.NodeResourceFit": [1]}, r"axes\.weight\.NodeResourceFit: .*does not exist"),
        ({"gate.NoSuchGate": [True]}, r"axes\.gate\.NoSuchGate"),
        ({"gate.PodLevelResources": ["yes"]}, r"axes\.gate\.PodLevelResources: expected true or false, not 'yes'"),
        ({"kubernetesVersion": ["1.9"]}, r"axes\.kubernetesVersion: Kubernetes 1\.9 is not known"),
        ({"wakeups": ["never"]}, r"axes\.wakeups: expected upstream or complete, not 'never'"),
        ({"config": ["no-such-file.yaml"]}, "no-such-file.yaml"),
        ({"timeline": ["no-such-file.yaml"]}, "no-such-file.yaml"),
        ({"until": ["soon"]}, "until: invalid duration"),
        ({"until": [0]}, "until: must be greater than 0"),
        ({"nodes.8cpu": [2]}, "memory is missing"),
        ({"recording": ["no-such-file.rec"]}, "no-such-file.rec"),
        ({"recording.nodes": [False]}, r"axes\.recording\.nodes: there is no recording in base or axes"),
        ({"trace.shrink": [0.5]}, r"axes\.trace\.shrink: there is no trace in base or axes"),
    ],
)
def test_what_is_wrong_with_an_axis_itself(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        prepared(axes)


def test_a_value_that_only_some_combinations_make_invalid_is_left_to_its_run() -> None:
    assert len(prepared({MOST: ["LeastAllocated", "NoSuchStrategy"]}).names) == 2
