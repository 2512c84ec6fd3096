"""The plugin of examples/rack_aware sends a gang to one rack: in explain, simulate, a cluster of `up`, and `run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.scheduler_process import running_scheduler

from bayplan.cli.main import run
from bayplan.testing import LiveCluster, cluster

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rack_aware"
CONFIG = EXAMPLE / "scheduler.yaml"
VERSION = "1.37"
GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
OPTIONS = ("--kubernetes-version", VERSION, "--feature-gates", GATES)
FILE = ("-f", str(EXAMPLE / "cluster.yaml"))


def told(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, object]:
    run([*command, *FILE, *OPTIONS, "-o", "json"])
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize(("config", "rack"), [((), "west"), (("--config", str(CONFIG)), "east")])
def test_in_an_explanation(config: tuple[str, ...], rack: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(capsys, "explain", "podgroup/training", "-n", "ml", *config)
    assert answer["chosen"] == rack


@pytest.mark.parametrize(("config", "rack"), [((), "west"), (("--config", str(CONFIG)), "east")])
def test_in_a_simulation(config: tuple[str, ...], rack: str, capsys: pytest.CaptureFixture[str]) -> None:
    pods = told(capsys, "simulate", "--until", "1m", *config)["pods"]
    assert isinstance(pods, list)
    nodes = [pod["node"] for pod in pods if pod["key"].startswith("ml/training-")]
    assert [node.partition("-")[0] for node in nodes] == [rack, rack]


def racks(live: LiveCluster) -> list[str]:
    pods = [pod for pod in live.list("pods", "ml") if pod["metadata"]["name"].startswith("training-")]
    return [pod["spec"].get("nodeName", "").partition("-")[0] for pod in pods]


def apply_the_example(live: LiveCluster) -> None:
    live.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}})
    live.apply(EXAMPLE / "cluster.yaml")
    live.wait_until(lambda k: "" not in racks(k), timeout=60)


@pytest.mark.parametrize(("config", "rack"), [(None, "west"), (CONFIG, "east")])
def test_in_a_cluster_of_up(config: Path | None, rack: str) -> None:
    with cluster(nodes=0, config=config, feature_gates=GATES, kubernetes_version=VERSION) as live:
        apply_the_example(live)
        assert racks(live) == [rack, rack]


@pytest.mark.slow
def test_in_run(tmp_path: Path) -> None:
    with (
        cluster(nodes=0, scheduler=False, feature_gates=GATES, kubernetes_version=VERSION) as live,
        running_scheduler(live.kubeconfig, tmp_path / "log", f"--config={CONFIG}", f"--feature-gates={GATES}"),
    ):
        apply_the_example(live)
        assert racks(live) == ["east", "east"]
