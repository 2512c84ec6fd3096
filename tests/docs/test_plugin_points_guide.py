"""The plugins of examples/plugin_points do the same, unchanged, in a simulation, in a cluster of `up`, and in `run`."""

from __future__ import annotations

import json
import runpy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.scheduler_process import running_scheduler

from bayplan.cli.main import run
from bayplan.testing import POD_PATTERNS, LiveCluster, Refusal, check_plugin, cluster, small_scene

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plugin_points"
CONFIG = EXAMPLE / "scheduler.yaml"
PLUGINS = ("Together", "Replacement", "ServiceFirst")


def bound_in_simulation(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, tuple[float | None, str]]:
    """By pod: when it was bound, and what it was in the end."""
    given = ("-f", "cluster.yaml", "--timeline", "story.yaml", "--until", "3m", "-o", "json", *options)
    assert run(["simulate", *given]) == 0
    pods = json.loads(capsys.readouterr().out)["pods"]
    return {pod["key"]: (pod["bound"] and round(pod["bound"]), pod["end"]) for pod in pods}


def test_in_a_simulation(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)
    assert bound_in_simulation(capsys, "--config", "scheduler.yaml") == {
        "shop/cache-old": (0, "preempted"),
        "shop/team-0": (20, "running"),
        "shop/team-1": (20, "running"),
        "shop/web": (40, "running"),
        "shop/cache-new": (61, "running"),
    }
    without = bound_in_simulation(capsys)
    by_end = [without[f"shop/{name}"] for name in ("team-0", "web", "cache-new")]
    assert by_end == [(0, "running"), (0, "running"), (None, "pending")]


def node_of(live: LiveCluster, name: str) -> str:
    try:
        return str(live.get("pod", name, "shop")["spec"].get("nodeName", ""))
    except Refusal:
        return ""


def is_gone(live: LiveCluster, name: str) -> bool:
    return name not in [pod["metadata"]["name"] for pod in live.list("pods", "shop")]


def tell_the_story(live: LiveCluster) -> None:
    """Each step of the story, once what came before it has had its effect."""
    steps: list[dict[str, Any]] = [step["apply"] for step in yaml.safe_load((EXAMPLE / "story.yaml").read_text())]
    live.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    live.apply(EXAMPLE / "cluster.yaml")
    live.apply({**steps[0], "metadata": {"name": "plain", "namespace": "shop"}})  # asked for last, bound first
    live.wait_until(lambda k: node_of(k, "plain"), timeout=60)
    assert [node_of(live, name) for name in ("team-0", "web")] == ["", ""]
    live.delete("pod", "plain", "shop")
    live.wait_until(lambda k: is_gone(k, "plain"), timeout=60)
    live.apply(steps[0])
    live.wait_until(lambda k: node_of(k, "team-0") and node_of(k, "team-1"), timeout=60)
    assert node_of(live, "web") == ""
    live.apply(steps[1])
    live.wait_until(lambda k: node_of(k, "web"), timeout=60)
    live.apply(steps[2])
    live.wait_until(lambda k: node_of(k, "cache-new"), timeout=60)
    assert is_gone(live, "cache-old")


def test_in_a_cluster_of_up() -> None:
    with cluster(nodes=0, config=CONFIG) as live:
        tell_the_story(live)


@pytest.mark.slow
def test_in_run(tmp_path: Path) -> None:
    with (
        cluster(nodes=0, scheduler=False) as live,
        running_scheduler(live.kubeconfig, tmp_path / "log", f"--config={CONFIG}"),
    ):
        tell_the_story(live)


@pytest.mark.parametrize("name", PLUGINS)
def test_they_keep_the_contract(name: str) -> None:
    labels = {"together": "t", "together-size": "3", "replaces": "p0", "needs-service": "web"}
    scenes = partial(small_scene, pod_patterns=[*POD_PATTERNS, lambda pod: pod.cpu("100").labels(**labels)])
    check_plugin(runpy.run_path(str(EXAMPLE / "plugin_points.py"))[name], scenes=scenes, seeds=range(10))
