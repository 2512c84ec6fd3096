"""Conversion: nulls as Kubernetes takes them, and every mismatch with its path."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from bayplan.model.conversion import convert
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget


def faults(value: Any) -> list[tuple[str, str]]:
    return convert(value, Pod)[1]


def test_null_fields_are_absent() -> None:
    """A null field is as good as none, at any depth."""
    pod, found = convert(
        {
            "metadata": {"name": "a", "creationTimestamp": None, "labels": None},
            "spec": {"containers": [{"name": "c", "resources": None, "ports": None}], "affinity": None},
            "status": None,
        },
        Pod,
    )
    assert found == []
    assert pod.metadata.name == "a"
    assert pod.metadata.labels == {}
    assert pod.spec.containers[0].resources.requests == {}


def test_null_entries_are_zero() -> None:
    """A null in a map or list keeps its place, with the zero of its type, as Go decodes it."""
    pod, found = convert(
        {
            "metadata": {"labels": {"a": None}, "finalizers": [None]},
            "spec": {"nodeSelector": {"disk": None}, "overhead": {"cpu": None}, "containers": [None]},
        },
        Pod,
    )
    assert found == []
    assert pod.metadata.labels == {"a": ""}
    assert pod.metadata.finalizers == [""]
    assert pod.spec.node_selector == {"disk": ""}
    assert pod.spec.overhead == {"cpu": 0}
    assert pod.spec.containers[0].name == ""


def test_null_times_stay() -> None:
    """A disrupted pod without a time is still disrupted."""
    budget, found = convert(
        {"metadata": {"labels": None}, "status": {"disruptedPods": {"p": None}}}, PodDisruptionBudget
    )
    assert found == []
    assert budget.status is not None
    assert budget.status.disrupted_pods == {"p": None}


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ({"spec": []}, "spec", "expected an object, got a list"),
        ({"spec": {"containers": {}}}, "spec.containers", "expected a list, got an object"),
        ({"spec": {"containers": ["x"]}}, "spec.containers[0]", "expected an object, got a string ('x')"),
        ({"spec": {"nodeName": 5}}, "spec.nodeName", "expected a string, got an integer (5)"),
        ({"spec": {"priority": "high"}}, "spec.priority", "expected an integer, got a string ('high')"),
        ({"spec": {"priority": 1.5}}, "spec.priority", "expected an integer, got a number (1.5)"),
        ({"spec": {"priority": True}}, "spec.priority", "expected an integer, got true"),
        ({"spec": {"priority": 2**31}}, "spec.priority", "2147483648 is not in the range -2147483648 to 2147483647"),
        ({"spec": {"hostNetwork": "yes"}}, "spec.hostNetwork", "expected true or false, got a string ('yes')"),
        ({"spec": {"nodeSelector": {"a": 1}}}, "spec.nodeSelector[a]", "expected a string, got an integer (1)"),
        ({"spec": {"nodeSelector": {1: "a"}}}, "spec.nodeSelector", "expected a string as the key, got an integer (1)"),
        (
            {"spec": {"overhead": {"cpu": []}}},
            "spec.overhead[cpu]",
            "expected a string or an integer or a number, got a list",
        ),
        (
            {"spec": {"containers": [{}, {"ports": [{"hostPort": "80"}]}]}},
            "spec.containers[1].ports[0].hostPort",
            "expected an integer, got a string ('80')",
        ),
    ],
)
def test_mismatch(value: dict[str, Any], path: str, message: str) -> None:
    """A value of the wrong type is named with its path."""
    assert faults(value) == [(path, message)]


def test_all_mismatches_at_once() -> None:
    """Every mismatch is found, and what is right survives."""
    pod, found = convert(
        {"metadata": {"name": "a", "labels": {"x": 1}}, "spec": {"nodeName": 2, "hostNetwork": 3}}, Pod
    )
    assert [path for path, _ in found] == ["metadata.labels[x]", "spec.nodeName", "spec.hostNetwork"]
    assert pod.metadata.name == "a"


def test_unknown_fields_are_ignored() -> None:
    """What the structs do not keep may be of any type."""
    assert faults({"spec": {"nodeName": None, "dnsConfig": 5}, "zzz": [None]}) == []


def test_whole_floats_are_integers() -> None:
    """YAML writes some integers with a point."""
    node, found = convert({"metadata": {"generation": 3.0, "labels": None}}, Node)
    assert (node.metadata.generation, found) == (3, [])


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05Z"),  # noqa: DTZ001 - what some YAML readers give
        (date(2026, 1, 2), "2026-01-02Z"),
    ],
)
def test_moments_become_text(moment: date, text: str) -> None:
    """Objects parsed by a YAML reader that makes datetimes are accepted."""
    pod, found = convert({"metadata": {"creationTimestamp": moment}}, Pod)
    assert (pod.metadata.creation_timestamp, found) == (text, [])


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, 2**64, 10**40])
def test_a_number_or_percentage_has_the_bounds_of_its_number(number: int) -> None:
    budget, found = convert({"spec": {"minAvailable": number}}, PodDisruptionBudget)
    assert found == [("spec.minAvailable", f"{number} is not in the range -2147483648 to 2147483647")]
    assert budget.spec.min_available == 0
