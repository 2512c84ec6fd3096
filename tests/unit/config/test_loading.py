"""Whole configurations: files and dicts, defaults, several profiles, extenders, and all faults at once."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from bayplan.config import load_configuration
from bayplan.config.decoding import decode_struct
from bayplan.config.faults import ConfigFaults
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES
from bayplan.config.schema import Extender, ExtenderTls
from bayplan.core.framework.args import InterPodAffinityArgs, NodeResourcesFitArgs
from bayplan.model.errors import InvalidObject

V1 = "kubescheduler.config.k8s.io/v1"


def configuration(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "KubeSchedulerConfiguration", **fields}


def messages(source: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidObject) as caught:
        load_configuration(source, release=DEFAULT_RELEASE)
    return [(fault.field, fault.message) for fault in caught.value.faults]


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def test_nothing_is_the_default_configuration() -> None:
    loaded = load_configuration(None, release=DEFAULT_RELEASE)
    assert [profile.scheduler_name for profile in loaded.profiles] == ["default-scheduler"]
    assert loaded.profiles[0].percentage_of_nodes_to_score is None
    assert loaded.percentage_of_nodes_to_score is None
    assert (loaded.pod_initial_backoff_seconds, loaded.pod_max_backoff_seconds) == (1, 10)


def test_an_empty_configuration_is_the_default_one() -> None:
    assert load_configuration(configuration(), release=DEFAULT_RELEASE) == load_configuration(
        None, release=DEFAULT_RELEASE
    )
    assert load_configuration(
        configuration(profiles=[], extenders=None), release=DEFAULT_RELEASE
    ) == load_configuration(None, release=DEFAULT_RELEASE)
    assert load_configuration(
        configuration(profiles=[{"plugins": None}]), release=DEFAULT_RELEASE
    ) == load_configuration(None, release=DEFAULT_RELEASE)


YAML = f"""
apiVersion: {V1}
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 40
profiles:
- schedulerName: mine
  plugins:
    score:
      disabled: [{{name: ImageLocality}}]
  pluginConfig:
  - name: InterPodAffinity
    args: {{hardPodAffinityWeight: 7}}
"""


@pytest.mark.parametrize("as_path", [str, Path])
def test_yaml_file(tmp_path: Path, as_path: type) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(YAML)
    loaded = load_configuration(as_path(file), release=DEFAULT_RELEASE)
    (profile,) = loaded.profiles
    assert loaded.percentage_of_nodes_to_score == 40
    assert profile.scheduler_name == "mine"
    assert "ImageLocality" not in profile.plugins["score"]
    assert profile.args["InterPodAffinity"] == InterPodAffinityArgs(hard_pod_affinity_weight=7)


def test_json_file_may_be_indented_with_tabs(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(configuration(podMaxBackoffSeconds=30), indent="\t"))
    assert load_configuration(file, release=DEFAULT_RELEASE).pod_max_backoff_seconds == 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one object, got an empty document"),
        ("[1]", "expected one object"),
        ("a: b\na: c\n", "line 2, column 4: duplicate key 'a'"),
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ("a: [", "is neither valid YAML nor JSON"),
        ('{"a": ', "is neither valid YAML nor JSON"),
        ("a: 1\n---\nb: 2\n", "expected one document, got 2"),
    ],
)
def test_unreadable_text(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(InvalidObject) as caught:
        load_configuration(file, release=DEFAULT_RELEASE)
    (fault,) = caught.value.faults
    assert fault.source == str(file)
    assert message in fault.message


def test_missing_file_and_binary_file(tmp_path: Path) -> None:
    assert messages(tmp_path / "none.yaml") == [("", "cannot be read: No such file or directory")]
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert messages(tmp_path / "binary") == [("", "is not UTF-8 text")]


@pytest.mark.parametrize("version", ["kubescheduler.config.k8s.io/v1beta3", "v1", "", None])
def test_other_versions_are_refused_before_anything_else(version: str | None) -> None:
    given = json.dumps(version)
    assert messages({"apiVersion": version, "kind": "KubeSchedulerConfiguration", "nope": 1}) == [
        ("apiVersion", f'Unsupported value: {given}: supported values: "{V1}"')
    ]


def test_other_kinds_are_refused() -> None:
    assert messages({"apiVersion": V1, "kind": "Policy"}) == [
        ("kind", 'Unsupported value: "Policy": supported values: "KubeSchedulerConfiguration"')
    ]


def test_all_faults_are_listed_with_their_paths() -> None:
    source = configuration(
        parallelism=0,
        nope=1,
        podMaxBackoffSeconds="x",
        profiles=[
            {
                "schedulerName": "a",
                "plugins": {"filter": {"enabled": named("Nope")}, "score": {"enable": []}},
                "pluginConfig": [
                    {"name": "NodeAffinity"},
                    {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Worst"}}},
                ],
            },
            {"schedulerName": "b", "percentageOfNodesToScore": 101},
        ],
    )
    assert sorted(field for field, _ in messages(source)) == [
        "nope",
        "parallelism",
        "podMaxBackoffSeconds",
        "profiles[0].pluginConfig[1].args.scoringStrategy.type",
        "profiles[0].plugins.filter.enabled[0]",
        "profiles[0].plugins.score.enable",
        "profiles[1].percentageOfNodesToScore",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"parallelism": 0}, ("parallelism", "Invalid value: 0: should be an integer value greater than zero")),
        (
            {"percentageOfNodesToScore": 101},
            ("percentageOfNodesToScore", "Invalid value: 101: not in valid range [0-100]"),
        ),
        ({"podInitialBackoffSeconds": 0}, ("podInitialBackoffSeconds", "Invalid value: 0: must be greater than 0")),
        (
            {"podInitialBackoffSeconds": 11},
            (
                "podMaxBackoffSeconds",
                "Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
            ),
        ),
        (
            {"clientConnection": {"burst": -1}},
            ("clientConnection.burst", "Invalid value: -1: must be non-negative"),
        ),
        (
            {"leaderElection": {"leaseDuration": "10s"}},
            ("leaderElection.leaseDuration", "LeaseDuration must be greater than RenewDeadline"),
        ),
        (
            {"leaderElection": {"retryPeriod": "-1s"}},
            ("leaderElection.retryPeriod", "must be greater than zero"),
        ),
        (
            {"leaderElection": {"retryPeriod": "soon"}},
            ("leaderElection.retryPeriod", "invalid duration 'soon'"),
        ),
        (
            {"leaderElection": {"resourceLock": "endpoints"}},
            ("leaderElection.resourceLock", 'Invalid value: "endpoints": resourceLock value must be "leases"'),
        ),
        ({"leaderElection": []}, ("leaderElection", "expected object, got list")),
        ({"profiles": {}}, ("profiles", "expected list, got object")),
        ({"profiles": [3]}, ("profiles[0]", "expected object, got integer")),
        ({"clientConnection": {"qps": "5"}}, ("clientConnection.qps", "expected number, got string")),
        ({"enableProfiling": "yes"}, ("enableProfiling", "expected boolean, got string")),
        ({"profiles": [{"schedulerName": ""}]}, ("profiles[0].schedulerName", "Required value")),
        (
            {"profiles": [{"schedulerName": "a"}, {}]},
            ("profiles[1].schedulerName", "Required value"),
        ),
        (
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
            ("profiles[1].schedulerName", 'Duplicate value: "a"'),
        ),
        (
            {"profiles": [{"pluginConfig": named("Mine", "Mine")}]},
            ("profiles[0].pluginConfig[1]", 'Duplicate value: "Mine"'),
        ),
        (
            {"profiles": [{"pluginConfig": named("EBSLimits")}]},
            (
                "profiles[0].pluginConfig[0]",
                f'Invalid value: "EBSLimits": was invalid in version "v1" '
                f'(KubeSchedulerConfiguration is version "{V1}")',
            ),
        ),
        (
            {"profiles": [{"plugins": {"filter": {"enabled": named("GCEPDLimits")}}}]},
            (
                "profiles[0].plugins.filter.enabled[0]",
                f'Invalid value: "GCEPDLimits": was invalid in version "v1" '
                f'(KubeSchedulerConfiguration is version "{V1}")',
            ),
        ),
        (
            {
                "profiles": [
                    {"schedulerName": "a"},
                    {"schedulerName": "b", "plugins": {"queueSort": {"enabled": named("PrioritySort")}}},
                ]
            },
            ("profiles[1].plugins.queueSort", "must be the same for all profiles"),
        ),
        (
            {"extenders": [{"prioritizeVerb": "p"}]},
            ("extenders[0].weight", "Invalid value: 0: must have a positive weight applied to it"),
        ),
        (
            {"extenders": [{"bindVerb": "a"}, {"bindVerb": "b"}]},
            (
                "extenders",
                'Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
            ),
        ),
        (
            {"extenders": [{"managedResources": named("cpu")}]},
            (
                "extenders[0].managedResources[0].name",
                'Invalid value: "cpu": is an invalid extended resource name',
            ),
        ),
        (
            {"extenders": [{"managedResources": named("a.io/x")}, {"managedResources": named("a.io/x")}]},
            (
                "extenders[1].managedResources[0].name",
                'Invalid value: "a.io/x": duplicate extender managed resource name',
            ),
        ),
        ({"extenders": [{"tlsConfig": {"caData": "%"}}]}, ("extenders[0].tlsConfig.caData", "not base64")),
    ],
)
def test_refused(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert messages(configuration(**fields)) == [expected]


def test_the_point_for_pod_groups_exists_since_1_37() -> None:
    def named_there(plugin: str) -> dict[str, Any]:
        return configuration(profiles=[{"plugins": {"podGroupPostFilter": {"enabled": named(plugin)}}}])

    loaded = load_configuration(named_there("DefaultPreemption"), release=RELEASES["1.37"])
    assert loaded.profiles[0].plugins["podGroupPostFilter"] == ("DefaultPreemption", "DynamicResources")
    with pytest.raises(InvalidObject, match=r'plugin "NodeName" does not extend PodGroupPostFilterPlugin plugin'):
        load_configuration(named_there("NodeName"), release=RELEASES["1.37"])
    with pytest.raises(InvalidObject, match=r"profiles\[0\].plugins.podGroupPostFilter: unknown field$"):
        load_configuration(named_there("DefaultPreemption"), release=RELEASES["1.36"])


def test_two_queue_sort_plugins_are_refused_in_the_file_already() -> None:
    sets = {"queueSort": {"enabled": named("PrioritySort", "Mine")}}
    found = messages(configuration(profiles=[{"plugins": sets}]))
    assert (
        "profiles[0].plugins.queueSort.enabled",
        "Invalid value: 2: only one queue sort plugin can be enabled",
    ) in found


def test_selectors_in_args_are_read_strictly() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": 1}},
    }
    entry = {
        "name": "PodTopologySpread",
        "args": {"defaultingType": "List", "defaultConstraints": [constraint]},
    }
    path = "profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector"
    assert messages(configuration(profiles=[{"pluginConfig": [entry]}])) == [
        (f"{path}.matchLabels[a]", "expected string, got integer"),
        (path, "Forbidden: constraint must not define a selector, as they deduced for each pod"),
    ]


def test_leader_election_is_not_checked_when_it_is_off() -> None:
    off = configuration(leaderElection={"leaderElect": False, "leaseDuration": "1s"})
    assert load_configuration(off, release=DEFAULT_RELEASE) == load_configuration(None, release=DEFAULT_RELEASE)
    assert messages(configuration(leaderElection={"leaseDuration": "1s"})) == [
        ("leaderElection.leaseDuration", "LeaseDuration must be greater than RenewDeadline")
    ]


def test_zero_values_mean_the_default() -> None:
    zeros = configuration(
        clientConnection={"qps": 0, "burst": 0, "contentType": ""},
        leaderElection={"renewDeadline": "0s", "resourceName": ""},
    )
    assert load_configuration(zeros, release=DEFAULT_RELEASE) == load_configuration(None, release=DEFAULT_RELEASE)


def test_several_profiles_keep_their_own_plugins_args_and_percentage() -> None:
    loaded = load_configuration(
        configuration(
            percentageOfNodesToScore=30,
            profiles=[
                {"schedulerName": "a"},
                {
                    "schedulerName": "b",
                    "percentageOfNodesToScore": 0,
                    "plugins": {"preScore": {"disabled": named("*")}, "score": {"disabled": named("*")}},
                    "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 3}}],
                },
            ],
        ),
        release=DEFAULT_RELEASE,
    )
    first, second = loaded.profiles
    assert (first.percentage_of_nodes_to_score, second.percentage_of_nodes_to_score) == (None, 0)
    assert len(first.plugins["score"]) == 9
    assert (second.plugins["score"], second.score_weights) == ((), {})
    assert first.args["InterPodAffinity"] == InterPodAffinityArgs()
    assert second.args["InterPodAffinity"] == InterPodAffinityArgs(3)


def test_plugins_of_ones_own_get_their_args_as_they_are() -> None:
    loaded = load_configuration(
        configuration(
            profiles=[
                {
                    "plugins": {"multiPoint": {"enabled": named("Mine")}},
                    "pluginConfig": [{"name": "Mine", "args": {"speed": 3}}],
                }
            ]
        ),
        implements={**_default_points(), "Mine": frozenset({"permit"})},
        release=DEFAULT_RELEASE,
    )
    assert loaded.profiles[0].plugins["permit"] == ("Mine",)
    assert loaded.profiles[0].args["Mine"] == {"speed": 3}


def _default_points() -> dict[str, frozenset[str]]:
    from bayplan.config.defaults import IMPLEMENTED_POINTS

    return dict(IMPLEMENTED_POINTS)


def test_queue_sort_args_must_agree() -> None:
    sets = {"queueSort": {"enabled": named("PrioritySort")}}
    profiles = [
        {"schedulerName": name, "plugins": sets, "pluginConfig": [{"name": "PrioritySort", "args": {"x": name}}]}
        for name in ("a", "b")
    ]
    assert messages(configuration(profiles=profiles)) == [
        ("profiles[1].pluginConfig", "args of queueSort must be the same for all profiles")
    ]
    assert len(load_configuration(configuration(profiles=profiles[:1]), release=DEFAULT_RELEASE).profiles) == 1


def test_extenders_are_read() -> None:
    given = {
        "urlPrefix": "https://b/",
        "enableHTTPS": True,
        "prioritizeVerb": "prioritize",
        "weight": 4,
        "httpTimeout": "100ms",
        "nodeCacheCapable": True,
        "tlsConfig": {"insecure": True, "caData": "aGk="},
    }
    faults = ConfigFaults()
    extender = decode_struct(Extender, given, "", faults)
    assert faults.found == []
    assert (extender.enable_https, extender.weight, extender.node_cache_capable) == (True, 4, True)
    assert extender.http_timeout_ns == 10**8
    assert extender.tls_config == ExtenderTls(insecure=True, ca_data=b"hi")
    loaded = load_configuration(configuration(extenders=[given, {"urlPrefix": "http://c"}]), release=DEFAULT_RELEASE)
    assert loaded.extenders == (extender, Extender(url_prefix="http://c"))


def test_ignorable_extenders_come_last_and_the_others_keep_their_order() -> None:
    given = [{"urlPrefix": name, "ignorable": name in "ac"} for name in "abcd"]
    loaded = load_configuration(configuration(extenders=given), release=DEFAULT_RELEASE)
    assert [extender.url_prefix for extender in loaded.extenders] == ["b", "d", "a", "c"]


def test_resources_ignored_for_extenders_replace_those_of_the_args() -> None:
    managed = [{"name": "a.io/x", "ignoredByScheduler": True}, {"name": "a.io/y"}]
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["a.io/z"], "ignoredResourceGroups": ["b.io"]}}
    source = configuration(profiles=[{"pluginConfig": [fit]}])
    assert load_configuration(source, release=DEFAULT_RELEASE).profiles[0].args[
        "NodeResourcesFit"
    ] == NodeResourcesFitArgs(frozenset({"a.io/z"}), frozenset({"b.io"}))
    source["extenders"] = [{"urlPrefix": "http://a", "managedResources": managed}]
    assert load_configuration(source, release=DEFAULT_RELEASE).profiles[0].args[
        "NodeResourcesFit"
    ] == NodeResourcesFitArgs(frozenset({"a.io/x"}), frozenset({"b.io"}))


def test_the_given_dict_is_left_alone() -> None:
    source = configuration(profiles=[{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": {}}}]}])
    before = json.dumps(source)
    load_configuration(source, release=DEFAULT_RELEASE)
    assert json.dumps(source) == before


def test_configurations_of_the_conformance_cases_load(conformance_cases: Path) -> None:
    with lzma.open(conformance_cases / "config.jsonl.xz", "rt", encoding="utf-8") as lines:
        sources = [json.loads(line)["scenario"]["config"] for line in lines]
    assert len(sources) >= 60
    for source in sources:
        (given,) = source["profiles"]
        (profile,) = load_configuration(source, release=DEFAULT_RELEASE).profiles
        assert profile.scheduler_name == given["schedulerName"]
        disabled = {entry["name"] for entry in given["plugins"].get("score", {}).get("disabled", ())}
        assert disabled.isdisjoint(profile.plugins["score"])
        for entry in given["plugins"].get("multiPoint", {}).get("enabled", ()):
            assert profile.score_weights[entry["name"]] == entry["weight"]
