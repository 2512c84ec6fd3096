"""Axes of a sweep: which exist, and what their values make of a configuration."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.sweeping.axes import Axis, label_of, read_axes, with_setting
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.model.errors import InvalidObject


def axis(name: str, values: Any) -> Axis:
    (found,) = read_axes({name: values})
    return found


def test_values_and_bounds() -> None:
    assert axis("seed", "1..3").values == (1, 2, 3)
    assert axis("seed", {"from": 4, "to": 6}).values == (4, 5, 6)
    assert axis("weight.ImageLocality", [1, 2]).values == (1, 2)
    drawn = axis("trace.stretch", {"from": 0.5, "to": 2, "log": True})
    assert (drawn.bounds, drawn.is_whole, drawn.is_logarithmic) == ((0.5, 2), False, True)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("sed", [1], "no such axis; did you mean seed"),
        ("wieght.NodeResourcesFit", [1], "no such axis"),
        ("seed", "1-3", "expected seeds such as 1..20"),
        ("seed", ["a"], "seeds are whole numbers"),
        ("config", [], "has no values"),
        ("config", "packed.yaml", "expected a list of values"),
        ("gate.A", [True, True], "has true twice"),
        ("config.a..b", [1], "is not a path"),
        ("args.NodeResourcesFit", [1], "expected args.PLUGIN.FIELD"),
        ("weight.A", {"from": 3, "to": 1}, "from must be a number less than to"),
        ("weight.A", {"from": 0, "to": 1, "log": True}, "greater than 0 for log"),
    ],
)
def test_what_is_no_axis(name: str, values: Any, message: str) -> None:
    with pytest.raises(InvalidObject, match=message) as error:
        read_axes({name: values}, "sweep.yaml")
    (fault,) = error.value.faults
    assert (fault.source, fault.field) == ("sweep.yaml", f"axes.{name}")


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(InvalidObject) as error:
        read_axes({"sed": [1], "confg": [1]})
    assert len(error.value.faults) == 2


def test_a_field_of_a_configuration() -> None:
    assert (
        load_configuration(
            with_setting(None, "config.podInitialBackoffSeconds", 7), release=DEFAULT_RELEASE
        ).pod_initial_backoff_seconds
        == 7
    )
    changed = with_setting(None, "config.profiles[0].percentageOfNodesToScore", 30)
    assert load_configuration(changed, release=DEFAULT_RELEASE).profiles[0].percentage_of_nodes_to_score == 30


def test_a_weight_in_every_profile() -> None:
    two = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}],
    }
    changed = with_setting(with_setting(two, "weight.ImageLocality", 3), "weight.ImageLocality", 7)
    assert [
        profile.score_weights["ImageLocality"]
        for profile in load_configuration(changed, release=DEFAULT_RELEASE).profiles
    ] == [7, 7]
    off = load_configuration(with_setting(two, "weight.ImageLocality", 0), release=DEFAULT_RELEASE)
    assert all("ImageLocality" not in profile.score_weights for profile in off.profiles)
    assert two["profiles"] == [{"schedulerName": "a"}, {"schedulerName": "b"}]  # nothing is changed in place


def test_an_argument_of_a_plugin() -> None:
    once = with_setting(None, "args.NodeResourcesFit.scoringStrategy.type", "MostAllocated")
    both = with_setting(once, "args.NodeResourcesFit.ignoredResources", ["a.b/c"])
    args = load_configuration(both, release=DEFAULT_RELEASE).profiles[0].args["NodeResourcesFit"]
    assert args.scoring_strategy.type == "MostAllocated"
    assert list(args.ignored_resources) == ["a.b/c"]


def test_a_place_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="only 0 entries"):
        with_setting(None, "config.profiles[2].schedulerName", "x")


@pytest.mark.parametrize(
    ("value", "label"),
    [(None, "default"), (True, "true"), (3, 3), (0.5, 0.5), ("a", "a"), ({"a": [1, 2]}, "{a: 1, 2}")],
)
def test_labels(value: Any, label: Any) -> None:
    assert label_of(value) == label
