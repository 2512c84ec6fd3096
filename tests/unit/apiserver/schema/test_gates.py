"""Feature gates of a server: as its version has them, or as they were set."""

from __future__ import annotations

import pytest
from tests.support.admission_documents import admitted, pod, refusal

from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.apiserver.schema.messages import message
from bayplan.apiserver.schema.versions import serving
from bayplan.testing import cluster

COMPARING = "TaintTolerationComparisonOperators"


@pytest.mark.parametrize(
    ("version", "given", "gate", "is_on"),
    [
        ("1.36", {}, "HPAScaleToZero", False),
        ("1.37", {}, "HPAScaleToZero", True),
        ("1.36", {"HPAScaleToZero": True}, "HPAScaleToZero", True),
        ("1.37", {"HPAScaleToZero": False}, "HPAScaleToZero", False),
        ("1.37", {"HPAScaleToZero": False}, "VolumeLimitScaling", True),
        ("1.36", {}, "EmptyDirVolumeMode", False),
        ("1.37", {}, "NoSuchGate", False),
    ],
)
def test_whether_a_gate_is_on(version: str, given: dict[str, bool], gate: str, *, is_on: bool) -> None:
    with serving(version, given):
        assert gate_is_on(gate) is is_on


def test_a_field_is_there_where_its_gate_was_set() -> None:
    with serving("1.37"):
        assert message("core.v1.EmptyDirVolumeSource").fields["mode"].is_off
        with serving("1.37", {"EmptyDirVolumeMode": True}):
            assert not message("core.v1.EmptyDirVolumeSource").fields["mode"].is_off
        with serving("1.37", {"EmptyDirVolumeMode": False}):
            assert message("core.v1.EmptyDirVolumeSource").fields["mode"].is_off


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_pods_have_a_group_only_where_there_are_groups(version: str) -> None:
    with serving(version):
        assert message("core.v1.PodSpec").fields["schedulingGroup"].is_off
    with serving(version, {"GenericWorkload": True}):
        assert not message("core.v1.PodSpec").fields["schedulingGroup"].is_off


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("5", ""),
        ("-3", ""),
        ("0", ""),
        (
            "",
            "must be non-empty",
        ),
        ("05", "must be a valid decimal integer in canonical form"),
        ("-0", "must be a valid decimal integer in canonical form"),
        ("five", 'strconv.ParseInt: parsing "five": invalid syntax'),
        ("9223372036854775807", ""),
        ("9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        ("1" * 5000, "value out of range"),
    ],
)
def test_tolerations_that_compare_have_whole_numbers_where_there_are_such(
    version: str, value: str, problem: str
) -> None:
    given = pod(tolerations=[{"key": "a", "operator": "Gt", "value": value}])
    with serving(version):
        assert 'Unsupported value: "Gt"' in refusal(given)
    with serving(version, {COMPARING: True}):
        if problem:
            assert problem in refusal(given)
        else:
            assert admitted(given)["spec"]["tolerations"][0]["value"] == value


@pytest.mark.parametrize(("gates", "kept"), [(None, {}), ("EmptyDirVolumeMode=true", {"mode": 511})])
def test_a_server_keeps_the_fields_of_gates_that_were_set(gates: str | None, kept: dict[str, int]) -> None:
    spec = {**pod()["spec"], "volumes": [{"name": "e", "emptyDir": {"mode": 511}}]}
    given = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "default"}, "spec": spec}
    with cluster(nodes=0, feature_gates=gates, kubernetes_version="1.37") as k:
        k.apply(given)
        assert k.get("Pod", "x")["spec"]["volumes"][0]["emptyDir"] == kept
