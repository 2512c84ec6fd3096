"""Plugin args: defaults, values, and everything that is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bayplan.config.args import DEFAULT_ARGS, read_args
from bayplan.config.faults import ConfigFaults
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import (
    SYSTEM_DEFAULT_CONSTRAINTS,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceWeight,
    ScoringStrategy,
    ShapePoint,
    VolumeBindingArgs,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SHAPE = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]


def read(plugin: str, data: Any, gates: FeatureGates = DEFAULT_GATES) -> Any:
    faults = ConfigFaults()
    args = read_args(plugin, data, gates, "args", faults)
    assert faults.found == []
    return args


def messages(plugin: str, data: Any, gates: FeatureGates = DEFAULT_GATES) -> list[tuple[str, str]]:
    faults = ConfigFaults()
    read_args(plugin, data, gates, "args", faults)
    return [(fault.field.removeprefix("args."), fault.message) for fault in faults.found]


def strategy(**fields: Any) -> dict[str, Any]:
    return {"scoringStrategy": fields}


def constraint(**fields: Any) -> dict[str, Any]:
    whole = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", **fields}
    return {key: value for key, value in whole.items() if value is not None}


def listed(*constraints: dict[str, Any]) -> dict[str, Any]:
    return {"defaultingType": "List", "defaultConstraints": list(constraints)}


def required(**requirement: Any) -> dict[str, Any]:
    return {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}}


@pytest.mark.parametrize("plugin", sorted(DEFAULT_ARGS))
@pytest.mark.parametrize("given", [None, {}, "kind"])
def test_what_is_not_said_has_its_default(plugin: str, given: Any) -> None:
    data = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{plugin}Args"} if given == "kind" else given
    assert read(plugin, data) == DEFAULT_ARGS[plugin]


def test_default_values() -> None:
    assert DEFAULT_ARGS["DefaultPreemption"] == DefaultPreemptionArgs(10, 100)
    assert DEFAULT_ARGS["InterPodAffinity"] == InterPodAffinityArgs(1, False)
    assert DEFAULT_ARGS["VolumeBinding"] == VolumeBindingArgs(600)
    assert DEFAULT_ARGS["DynamicResources"] == DynamicResourcesArgs(10 * 10**9, 600 * 10**9)
    fit = DEFAULT_ARGS["NodeResourcesFit"]
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.scoring_strategy == ScoringStrategy(
        "LeastAllocated", (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))
    )
    spread = DEFAULT_ARGS["PodTopologySpread"]
    assert isinstance(spread, PodTopologySpreadArgs)
    assert [
        (default.topology_key, default.max_skew, default.when_unsatisfiable) for default in spread.default_constraints
    ] == [
        ("kubernetes.io/hostname", 3, "ScheduleAnyway"),
        ("topology.kubernetes.io/zone", 5, "ScheduleAnyway"),
    ]


def test_fit_strategy_is_read() -> None:
    args = read(
        "NodeResourcesFit",
        {
            "ignoredResources": ["example.com/foo"],
            "ignoredResourceGroups": ["example.com"],
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "cpu", "weight": 3}, {"name": "example.com/gpu"}],
                "requestedToCapacityRatio": {"shape": SHAPE},
            },
        },
    )
    assert args == NodeResourcesFitArgs(
        ignored_resources=frozenset({"example.com/foo"}),
        ignored_resource_groups=frozenset({"example.com"}),
        scoring_strategy=ScoringStrategy(
            "RequestedToCapacityRatio",
            (ResourceWeight("cpu", 3), ResourceWeight("example.com/gpu", 1)),
            (ShapePoint(0, 10), ShapePoint(100, 0)),
        ),
    )


def test_fit_strategy_without_resources_takes_the_default_ones() -> None:
    args = read("NodeResourcesFit", strategy(type="MostAllocated"))
    assert args.scoring_strategy == ScoringStrategy("MostAllocated")


def test_balanced_resources_are_read() -> None:
    args = read("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu"}, {"name": "x.io/gpu", "weight": 1}]})
    assert args == NodeResourcesBalancedAllocationArgs((ResourceWeight("cpu", 1), ResourceWeight("x.io/gpu", 1)))


def test_spread_list_replaces_the_system_defaults() -> None:
    args = read("PodTopologySpread", listed(constraint(maxSkew=4)))
    assert args.defaulting_type == "List"
    assert [(found.topology_key, found.max_skew) for found in args.default_constraints] == [("zone", 4)]
    assert read("PodTopologySpread", {"defaultingType": "List"}).default_constraints == ()


def test_spread_system_defaults() -> None:
    assert read("PodTopologySpread", {"defaultingType": "System"}).default_constraints == SYSTEM_DEFAULT_CONSTRAINTS


def test_added_affinity_is_read() -> None:
    preference = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    data = required(key="disk", operator="In", values=["ssd"])
    data["addedAffinity"][PREFERRED] = [{"weight": 5, "preference": preference}]
    affinity = read("NodeAffinity", data).added_affinity
    (term,) = affinity.required.node_selector_terms
    assert [(item.key, item.operator, item.values) for item in term.match_expressions] == [("disk", "In", ["ssd"])]
    assert affinity.preferred[0].weight == 5
    assert affinity.preferred[0].preference.match_fields[0].values == ["a"]


def test_terms_without_effect_are_allowed() -> None:
    nothing = {"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}
    data = {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}, PREFERRED: [nothing]}}
    assert messages("NodeAffinity", data) == []


def test_durations_and_numbers_are_read() -> None:
    args = read("DynamicResources", {"filterTimeout": "0s", "bindingTimeout": "1m30s"})
    assert args == DynamicResourcesArgs(0, 90 * 10**9)
    assert read("VolumeBinding", {"bindTimeoutSeconds": 0}) == VolumeBindingArgs(0)
    assert read("InterPodAffinity", {"hardPodAffinityWeight": 0}).hard_pod_affinity_weight == 0
    assert read("DefaultPreemption", {"minCandidateNodesPercentage": 0}) == DefaultPreemptionArgs(0, 100)


def test_args_of_other_plugins_pass_as_they_are() -> None:
    assert read("Mine", {"anything": [1]}) == {"anything": [1]}
    assert read("Mine", None) is None


LONG = "a" * 64
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUPPORTED = 'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
OPERATORS = 'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
RATIO = "RequestedToCapacityRatio"
TERM = f"addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"


@pytest.mark.parametrize(
    ("plugin", "data", "expected"),
    [
        pytest.param("NodeResourcesFit", [], ("args", "expected object, got list"), id="no object"),
        pytest.param("NodeResourcesFit", {"nope": 1}, ("nope", "unknown field"), id="unknown field"),
        pytest.param(
            "NodeResourcesFit",
            {"kind": "NodeAffinityArgs", "addedAffinity": {}},
            (
                "args",
                "has to match plugin args: expected kubescheduler.config.k8s.io/v1, Kind=NodeResourcesFitArgs, "
                "got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs",
            ),
            id="args of another plugin",
        ),
        pytest.param(
            "VolumeBinding",
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
            (
                "args",
                "has to match plugin args: expected kubescheduler.config.k8s.io/v1, Kind=VolumeBindingArgs, "
                "got kubescheduler.config.k8s.io/v1beta3, Kind=VolumeBindingArgs",
            ),
            id="args of another version",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type="Most"),
            ("scoringStrategy.type", f'Unsupported value: "Most": {SUPPORTED}'),
            id="strategy type",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(resources=[{"name": "cpu"}]),
            ("scoringStrategy.type", f'Unsupported value: "": {SUPPORTED}'),
            id="strategy without type",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type="LeastAllocated", resources=[{"name": "cpu", "weight": 101}]),
            (
                "scoringStrategy.resources[0].weight",
                "Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
            ),
            id="weight too large",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type="LeastAllocated", resources=[{"name": "cpu", "weight": -1}]),
            (
                "scoringStrategy.resources[0].weight",
                "Invalid value: -1: resource weight of cpu not in valid range (0, 100]",
            ),
            id="weight negative",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type=RATIO),
            (
                "scoringStrategy.requestedToCapacityRatio",
                "Required value: must be specified when type is RequestedToCapacityRatio",
            ),
            id="ratio missing",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type="LeastAllocated", requestedToCapacityRatio={"shape": SHAPE}),
            (
                "scoringStrategy.requestedToCapacityRatio",
                "Forbidden: must be nil when type is not RequestedToCapacityRatio",
            ),
            id="ratio with another type",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type=RATIO, requestedToCapacityRatio={}),
            (
                "scoringStrategy.requestedToCapacityRatio.shape",
                "Required value: at least one point must be specified",
            ),
            id="empty shape",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(
                type=RATIO,
                requestedToCapacityRatio={"shape": [{"utilization": 50, "score": 1}, {"utilization": 50}]},
            ),
            (
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization",
                "Invalid value: 50: values must be sorted in increasing order",
            ),
            id="shape not increasing",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type=RATIO, requestedToCapacityRatio={"shape": [{"utilization": 101, "score": 1}]}),
            (
                "scoringStrategy.requestedToCapacityRatio.shape[0].utilization",
                "Invalid value: 101: not in valid range [0, 100]",
            ),
            id="shape utilization",
        ),
        pytest.param(
            "NodeResourcesFit",
            strategy(type=RATIO, requestedToCapacityRatio={"shape": [{"utilization": 0, "score": 11}]}),
            (
                "scoringStrategy.requestedToCapacityRatio.shape[0].score",
                "Invalid value: 11: not in valid range [0, 10]",
            ),
            id="shape score",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResources": ["ok", "-bad"]},
            ("ignoredResources[1]", f'Invalid value: "-bad": name part {KEY_RULE}'),
            id="ignored resource name",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a.io/b"]},
            ("ignoredResourceGroups[0]", "Invalid value: \"a.io/b\": resource group name can't contain '/'"),
            id="group with slash",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            ("resources[0].weight", "Invalid value: 2: must be 1"),
            id="balanced weight",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
            ("resources[1].name", 'Duplicate value: "cpu"'),
            id="balanced duplicate",
        ),
        pytest.param(
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            ("hardPodAffinityWeight", "Invalid value: 101: not in valid range [0, 100]"),
            id="hard weight",
        ),
        pytest.param(
            "InterPodAffinity",
            {"hardPodAffinityWeight": "5"},
            ("hardPodAffinityWeight", "expected integer, got string"),
            id="wrong type",
        ),
        pytest.param(
            "InterPodAffinity",
            {"hardPodAffinityWeight": 2**31},
            ("hardPodAffinityWeight", f"Invalid value: {2**31}: not in valid range [{-(2**31)}, {2**31 - 1}]"),
            id="more than 32 bits",
        ),
        pytest.param(
            "InterPodAffinity",
            {"ignorePreferredTermsOfExistingPods": 1},
            ("ignorePreferredTermsOfExistingPods", "expected boolean, got integer"),
            id="no boolean",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": "Auto"},
            ("defaultingType", 'Unsupported value: "Auto": supported values: "System", "List"'),
            id="defaulting type",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultConstraints": [constraint()]},
            ("defaultingType", 'Invalid value: "System": when .defaultConstraints are not empty'),
            id="constraints without List",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(maxSkew=0)),
            ("defaultConstraints[0].maxSkew", "Invalid value: 0: not in valid range (0, inf)"),
            id="max skew",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(topologyKey=None)),
            ("defaultConstraints[0].topologyKey", "Required value: can not be empty"),
            id="topology key missing",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(topologyKey=LONG)),
            (
                "defaultConstraints[0].topologyKey",
                f'Invalid value: "{LONG}": name part must be no more than 63 bytes',
            ),
            id="topology key too long",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(whenUnsatisfiable=None)),
            ("defaultConstraints[0].whenUnsatisfiable", "Required value: can not be empty"),
            id="action missing",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(whenUnsatisfiable="Wait")),
            (
                "defaultConstraints[0].whenUnsatisfiable",
                'Unsupported value: "Wait": supported values: "DoNotSchedule", "ScheduleAnyway"',
            ),
            id="action unknown",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(labelSelector={})),
            (
                "defaultConstraints[0].labelSelector",
                "Forbidden: constraint must not define a selector, as they deduced for each pod",
            ),
            id="selector",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(), constraint(maxSkew=2)),
            ("defaultConstraints[1]", 'Duplicate value: "{zone, ScheduleAnyway}"'),
            id="same key and action",
        ),
        pytest.param(
            "PodTopologySpread",
            listed(constraint(maxskew=2)),
            ("defaultConstraints[0].maxskew", "unknown field"),
            id="unknown field of an API type",
        ),
        pytest.param(
            "NodeAffinity",
            required(key="disk", operator="Equals", values=["a"]),
            (f"{TERM}.operator", f'Unsupported value: "Equals": {OPERATORS}'),
            id="operator",
        ),
        pytest.param(
            "NodeAffinity",
            required(key="disk", operator="In"),
            (f"{TERM}.values", "Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
            id="In without values",
        ),
        pytest.param(
            "NodeAffinity",
            required(key="disk", operator="Exists", values=["a"]),
            (f"{TERM}.values", 'Invalid value: ["a"]: values set must be empty for exists and does not exist'),
            id="Exists with values",
        ),
        pytest.param(
            "NodeAffinity",
            required(key="n", operator="Gt", values=["1", "2"]),
            (
                f"{TERM}.values",
                "Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required",
            ),
            id="Gt with two",
        ),
        pytest.param(
            "NodeAffinity",
            required(key="n", operator="Lt", values=["x"]),
            (f"{TERM}.values[0]", "Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
            id="Lt of a word",
        ),
        pytest.param(
            "NodeAffinity",
            required(key="/x", operator="Exists"),
            (f"{TERM}.key", 'Invalid value: "/x": prefix part must be non-empty'),
            id="key",
        ),
        pytest.param(
            "NodeAffinity",
            required(key="a", operator="In", values=["b c"]),
            (f"{TERM}.values[0][a]", f'Invalid value: "b c": {VALUE_RULE}'),
            id="value",
        ),
        pytest.param(
            "NodeAffinity",
            {
                "addedAffinity": {
                    PREFERRED: [
                        {
                            "weight": 1,
                            "preference": {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]},
                        }
                    ]
                }
            },
            (
                f"addedAffinity.{PREFERRED}[0].preference.matchFields[0].operator",
                'Unsupported value: "Exists": supported values: "In", "NotIn"',
            ),
            id="field operator",
        ),
        pytest.param(
            "NodeAffinity",
            {
                "addedAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [
                            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}
                        ]
                    }
                }
            },
            (
                f"addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0].values",
                'Invalid value: ["a","b"]: must have one element',
            ),
            id="field values",
        ),
        pytest.param(
            "VolumeBinding",
            {"bindTimeoutSeconds": -1},
            (
                "bindTimeoutSeconds",
                "Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            ),
            id="bind timeout",
        ),
        pytest.param(
            "VolumeBinding",
            {"shape": SHAPE},
            (
                "shape",
                "Forbidden: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
            ),
            id="volume shape",
        ),
        pytest.param(
            "DynamicResources",
            {"filterTimeout": "-1s"},
            ("filterTimeout", "must be zero or positive"),
            id="filter timeout",
        ),
        pytest.param(
            "DynamicResources",
            {"bindingTimeout": "999ms"},
            ("bindingTimeout", "must be at least 1 second"),
            id="binding timeout",
        ),
        pytest.param(
            "DynamicResources",
            {"bindingTimeout": 5},
            ("bindingTimeout", "expected duration such as 10s, got integer"),
            id="number as duration",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": -1},
            ("minCandidateNodesPercentage", "Invalid value: -1: not in valid range [0, 100]"),
            id="percentage",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesAbsolute": -1},
            ("minCandidateNodesAbsolute", "Invalid value: -1: not in valid range [0, inf)"),
            id="absolute",
        ),
    ],
)
def test_refused(plugin: str, data: Any, expected: tuple[str, str]) -> None:
    assert messages(plugin, data) == [expected]


SCORING_CAPACITY = replace(DEFAULT_GATES, storage_capacity_scoring=True)


def test_a_shape_counts_with_its_gate() -> None:
    assert read("VolumeBinding", {"shape": [{"utilization": 0, "score": 3}]}, SCORING_CAPACITY) == VolumeBindingArgs(
        shape=(ShapePoint(0, 3),)
    )
    assert read("VolumeBinding", {"shape": []}, SCORING_CAPACITY) == VolumeBindingArgs()
    found = messages("VolumeBinding", {"shape": [{"utilization": 0, "score": 11}]}, SCORING_CAPACITY)
    assert found == [("shape[0].score", "Invalid value: 11: not in valid range [0, 10]")]


def test_timeouts_of_features_that_are_off_are_refused() -> None:
    off = replace(DEFAULT_GATES, dra_scheduler_filter_timeout=False, dra_device_binding_conditions=False)
    assert read("DynamicResources", {}, off) == DynamicResourcesArgs()
    assert messages("DynamicResources", {"filterTimeout": "1s", "bindingTimeout": "5s"}, off) == [
        ("filterTimeout", "Forbidden: DRASchedulingFilterTimeout feature gate is disabled"),
        (
            "bindingTimeout",
            "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled",
        ),
    ]


def test_preemption_without_any_candidates_is_refused_on_both_fields() -> None:
    found = messages("DefaultPreemption", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0})
    assert found == [
        (
            "minCandidateNodesPercentage",
            "Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute",
        ),
        (
            "minCandidateNodesAbsolute",
            "Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
        ),
    ]
