"""Plugins from outside: found by name, built with their args, and every way in which that can fail told in words."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from bayplan import Cluster
from bayplan.cli.main import run
from bayplan.config import load_configuration, plugin_loading
from bayplan.config.defaults import GROUP_EXTENSION_POINTS, IMPLEMENTED_POINTS, IMPLEMENTED_POINTS_1_37
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.plugin_loading import implemented_points
from bayplan.config.registry import PLAIN, WITH_ARGS, build_profiles, queue_order
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.framework.profile import Profile
from bayplan.model.errors import InvalidObject
from bayplan.testing.builders import node, pod

PER_NODE = """
from typing import ClassVar
from bayplan.core.framework.per_node import PerNodePlugin

class Even(PerNodePlugin):
    name: ClassVar[str] = "Even"
    def __init__(self, args=None):
        args = args or {}
        if "wanted" in args and not isinstance(args["wanted"], int):
            raise ValueError(f"wanted: expected a number, got {args['wanted']!r}")
        self.wanted = args.get("wanted", 0)
    def fits(self, pod, node):
        return "" if int(node.name[1:]) % 2 == self.wanted else "node(s) had the wrong number"

class Rates(PerNodePlugin):
    name: ClassVar[str] = "Rates"
    def rate(self, pod, node):
        return 10 * int(node.name[1:])

class Idle(PerNodePlugin):
    name: ClassVar[str] = "Idle"

class NeedsArgs(Rates):
    name: ClassVar[str] = "NeedsArgs"
    def __init__(self, args):
        self.args = args

class SameName(Rates):
    name: ClassVar[str] = "Even"

class BuiltInName(Rates):
    name: ClassVar[str] = "NodeResourcesFit"

class NoMethods:
    name: ClassVar[str] = "NoMethods"

class HalfAFilter:
    name: ClassVar[str] = "HalfAFilter"
    def filter(self, state, view, rows): ...

class NoName:
    def permit(self, pod, view, node_row): ...

class ScaledUsage:
    from bayplan.core.framework.contract import Reads
    name: ClassVar[str] = "ScaledUsage"
    score_reads = Reads.NODE | Reads.USAGE
    def score(self, state, view, rows): ...
    def normalize(self, state, scores, rows): ...

class LastComeFirst:
    name: ClassVar[str] = "LastComeFirst"
    def sort_key(self, pod, queued_at):
        return (-queued_at,)

a_function = len
"""

NODES = [node(name).obj() for name in ("n0", "n1", "n2", "n3")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "mine.py").write_text(PER_NODE)
    (folder / "broken.py").write_text("import sys\nraise RuntimeError('two\\nlines')")
    (folder / "quits.py").write_text("raise SystemExit(0)")
    return folder


def configuration(*names: str, point: str = "multiPoint", args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {point: {"enabled": [{"name": name} for name in names]}},
                "pluginConfig": [{"name": name, "args": value} for name, value in (args or {}).items()],
            }
        ],
    }


def profile_with(*names: str, **more: Any) -> Profile:
    return build_profiles(load_configuration(configuration(*names, **more), release=DEFAULT_RELEASE))[
        "default-scheduler"
    ]


def fault(*names: str, **more: Any) -> tuple[str, str]:
    with pytest.raises(InvalidObject) as caught:
        load_configuration(configuration(*names, **more), release=DEFAULT_RELEASE)
    (found,) = caught.value.faults
    return found.field, found.message


# ---------------------------------------------------------------- ways to name a plugin


def test_by_file(folder: Path) -> None:
    """It runs behind the built-in plugins, with the args of the file, and goes by its own name."""
    name = f"{folder}/mine.py:Even"
    config = configuration(name, args={name: {"wanted": 1}})
    found = Cluster([*NODES, pod("p").obj()]).explain("p", config).to_dict()
    assert found["feasible"] == ["n1", "n3"]
    assert found["filter"]["n0"] == {
        "code": "Unschedulable",
        "plugin": "Even",
        "reasons": ["node(s) had the wrong number"],
    }


def test_by_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    profile = profile_with("mine:Even")
    assert profile.filter[-1].name == "Even"
    assert "Even" not in profile.weights, "it overrides fits alone"


def test_by_entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    offer(monkeypatch, EntryPoint("numbers", "mine:Rates", "bayplan.plugins"))
    profile = profile_with("numbers", point="score")
    assert profile.score[-1].name == "Rates"
    assert profile.weights["Rates"] == 1
    assert [plugin.name for plugin in profile.filter] == [plugin.name for plugin in profile_with().filter]


def test_an_entry_point_cannot_take_the_name_of_a_built_in_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, EntryPoint("NodeName", "nowhere:Nothing", "bayplan.plugins"))
    assert type(profile_with("NodeName").filter[1]).__module__ == "bayplan.core.plugins.node_name"


def offer(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    def offered(*, group: str, name: str) -> list[EntryPoint]:
        return [point for point in points if (point.group, point.name) == (group, name)]

    monkeypatch.setattr(plugin_loading, "entry_points", offered)


def test_paths_are_relative_to_the_configuration(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: 'mine.py:Rates', weight: 7}]}}}]\n"
    )
    (profile,) = build_profiles(load_configuration(folder / "scheduler.yaml", release=DEFAULT_RELEASE)).values()
    assert profile.weights["Rates"] == 7


def test_queue_sort(folder: Path) -> None:
    name = f"{folder}/mine.py:LastComeFirst"
    config = configuration(name, point="queueSort")
    config["profiles"][0]["plugins"]["queueSort"]["disabled"] = [{"name": "*"}]
    cluster = Cluster([*NODES, pod("a").priority(5).obj(), pod("b").obj()])
    assert cluster.queue().keys == ["default/a", "default/b"]
    assert cluster.queue(config).keys == ["default/b", "default/a"]
    assert queue_order(build_profiles(load_configuration(config, release=DEFAULT_RELEASE)))(
        cluster_info(cluster), 3
    ) == (-3,)


def cluster_info(cluster: Cluster) -> Any:
    return cluster.build_cache(gates=DEFAULT_GATES).info(cluster.find_pod("default/a"))


# ---------------------------------------------------------------- faults

AT = "profiles[0].plugins.multiPoint.enabled[0]"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no.such.module:X", "module no.such.module cannot be loaded: ModuleNotFoundError: No module named 'no'"),
        ("{folder}/none.py:X", "no such file: {folder}/none.py"),
        ("{folder}/broken.py:X", "{folder}/broken.py cannot be loaded: RuntimeError: two lines"),
        ("{folder}/quits.py:X", "{folder}/quits.py cannot be loaded: SystemExit: 0"),
        ("{folder}/mine.py:X", "{folder}/mine.py has no class X"),
        (":X", "expected module:Class or path/to/file.py:Class"),
        ("{folder}/mine.py:a_function", "{folder}/mine.py:a_function is not a class but builtin_function_or_method"),
        ("{folder}/mine.py:NoMethods", "NoMethods is not a plugin: it implements no extension point"),
        ("{folder}/mine.py:Idle", "Idle is not a plugin: it implements no extension point"),
        (
            "{folder}/mine.py:HalfAFilter",
            "HalfAFilter is not a complete plugin: it has filter but no reads and no explain_failure",
        ),
        ("{folder}/mine.py:NoName", 'NoName is not a complete plugin: it has no name (name: ClassVar[str] = "...")'),
        (
            "{folder}/mine.py:ScaledUsage",
            "ScaledUsage is not a complete plugin: it normalizes scores that depend on usage, "
            "so its score_reads must include Reads.CLUSTER",
        ),
        ("{folder}/mine.py:BuiltInName", 'another plugin in this profile is already named "NodeResourcesFit"'),
    ],
)
def test_what_cannot_be_loaded(folder: Path, reference: str, message: str) -> None:
    name = reference.replace("{folder}", str(folder))
    quoted = '"' + name + '"'
    assert fault(name) == (AT, f"Invalid value: {quoted}: {message.replace('{folder}', str(folder))}")


def test_an_unknown_name_stays_an_unknown_plugin() -> None:
    assert fault("Mine") == ("profiles[0].plugins.multiPoint.enabled", 'plugin "Mine" does not exist')


def test_two_offers_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, *(EntryPoint("x", value, "bayplan.plugins") for value in ("b:B", "a:A")))
    said = "several packages provide it: a:A, b:B; pick one with module:Class"
    assert fault("x") == (AT, f'Invalid value: "x": {said}')


def test_two_plugins_of_one_name(folder: Path) -> None:
    first, second = f"{folder}/mine.py:Even", f"{folder}/mine.py:SameName"
    where, message = fault(first, second)
    assert where == "profiles[0].plugins.multiPoint.enabled[1]"
    assert message.endswith('another plugin in this profile is already named "Even"')


def test_a_point_that_it_does_not_implement(folder: Path) -> None:
    name = f"{folder}/mine.py:Rates"
    assert fault(name, point="filter") == (
        "profiles[0].plugins.filter.enabled[0]",
        f'plugin "{name}" does not extend FilterPlugin plugin',
    )


@pytest.mark.parametrize(
    ("class_name", "args", "message"),
    [
        ("Even", {"wanted": "x"}, "Even cannot be built: ValueError: wanted: expected a number, got 'x'"),
        ("Even", [1], "expected object"),
        ("Rates", {"a": 1}, "Rates cannot be built: TypeError: Rates() takes no arguments"),
    ],
)
def test_args_that_it_refuses(folder: Path, class_name: str, args: Any, message: str) -> None:
    name = f"{folder}/mine.py:{class_name}"
    assert fault(name, args={name: args}) == ("profiles[0].pluginConfig[0].args", message)


def test_args_that_it_needs(folder: Path) -> None:
    where, message = fault(f"{folder}/mine.py:NeedsArgs")
    assert where == AT
    assert message.startswith("NeedsArgs cannot be built: TypeError: ")
    assert profile_with(f"{folder}/mine.py:NeedsArgs", args={f"{folder}/mine.py:NeedsArgs": None}).score[-1].args == {}  # type: ignore[attr-defined]


def test_all_faults_are_told_at_once(folder: Path) -> None:
    even = f"{folder}/mine.py:Even"
    with pytest.raises(InvalidObject) as caught:
        load_configuration(configuration("no.such:X", even, args={even: {"wanted": "x"}}), release=DEFAULT_RELEASE)
    assert [one.field for one in caught.value.faults] == [AT, "profiles[0].pluginConfig[0].args"]


def test_a_plugin_that_is_not_there_is_no_traceback(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line, on the command line."""
    (tmp_path / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{{plugins: {{filter: {{enabled: [{{name: '{folder}/broken.py:X'}}]}}}}}}]\n"
    )
    (tmp_path / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    files = ["-f", str(tmp_path / "node.yaml"), "--config", str(tmp_path / "scheduler.yaml")]
    assert run(["place", *files, "--kubernetes-version", "1.37"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "profiles[0].plugins.filter.enabled[0]: Invalid value:" in line


# ---------------------------------------------------------------- built-in plugins

#: Points that upstream's plugin has and that another part of the core looks after here, and which.
ELSEWHERE = {
    ("DefaultPreemption", "preEnqueue"): "a gate of the scheduler, which knows whose victims are being evicted",
}


@pytest.mark.parametrize("plugin", [*PLAIN, *WITH_ARGS], ids=lambda plugin: plugin.name)
def test_the_points_of_built_in_plugins_are_those_they_implement(plugin: Any) -> None:
    elsewhere = {point for name, point in ELSEWHERE if name == plugin.name}
    of_groups = IMPLEMENTED_POINTS_1_37[plugin.name] & set(GROUP_EXTENSION_POINTS)
    assert set(implemented_points(plugin)) == (IMPLEMENTED_POINTS[plugin.name] | of_groups) - elsewhere
    assert elsewhere <= IMPLEMENTED_POINTS[plugin.name]


def test_every_built_in_name_is_registered() -> None:
    assert {plugin.name for plugin in (*PLAIN, *WITH_ARGS)} == set(IMPLEMENTED_POINTS)  # type: ignore[attr-defined]
