"""`bayplan bench`: figures in a table or as JSON, a picture of how the cost grows, messages instead of tracebacks."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bayplan.analysis.bench import scaling
from bayplan.analysis.bench.measure import Measurement
from bayplan.analysis.bench.scaling import Growth, growths, measure_scaling
from bayplan.analysis.bench.workloads import WORKLOADS
from bayplan.cli import bench
from bayplan.config.releases import DEFAULT_RELEASE, KubernetesRelease
from bayplan.report.scaling_plot import FAMILIES

from .conftest import Bayplan

SMALL = ("bench", "--workload", "basic", "--nodes", "20", "--pods", "30")


def measured(
    workload: str, node_count: int, pod_count: int, release: KubernetesRelease, bystanders_per_node: int = 0
) -> Measurement:
    """Made up, to see what becomes of it."""
    running = node_count * bystanders_per_node
    return Measurement(
        workload, node_count, running, pod_count, 20_000.0, 21_000.0, 47.5, 120.25, pod_count, 0, 64.0, 205_000.0, 97.6
    )


def test_a_measurement_in_a_process_of_its_own(bayplan: Bayplan) -> None:
    said = bayplan(*SMALL, "-o", "json")
    assert said.code == 0
    answer = said.json()
    (one,) = answer["measurements"]
    assert (one["workload"], one["nodes"], one["pods"], one["placed"]) == ("basic", 20, 30, 30)
    assert one["decisions_per_second"] > 0
    assert one["p50_us"] <= one["p99_us"]
    assert one["ratio"] == pytest.approx(one["decisions_per_second"] / one["calibration"] * 1_000, rel=0.01)
    assert answer["machine"]["cores"] >= 1
    assert answer["targets"]["basic"] == WORKLOADS["basic"].target


def test_a_table_with_targets(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure_apart", measured)
    said = bayplan("bench", "--workload", "mixed", "--nodes", "500", "--nodes", "5000")
    rows = [line.split() for line in said.out.splitlines() if line.startswith("mixed")]
    assert [row[1] for row in rows] == ["500", "5,000"]
    assert "8,000" not in rows[0]  # the target is for 5,000 nodes
    assert "8,000" in rows[1]


def test_markdown_and_html_say_what_the_table_says(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure_apart", measured)
    asked = ("bench", "--workload", "basic", "--workload", "mixed", "--nodes", "40")
    headline = bayplan(*asked).first_line
    assert headline == "20,000 (basic on 40 nodes) to 20,000 (basic on 40 nodes) decisions per second."
    assert bayplan(*asked, "-o", "markdown").out.startswith(f"### bayplan bench\n\n**{headline}**\n\n| workload |")
    assert f'<p class="answer plain">{headline}</p>' in bayplan(*asked, "-o", "html").out


def test_by_default_every_workload_that_takes_no_minutes(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure_apart", measured)
    answer = bayplan("bench", "-o", "json").json()
    usual = [workload for workload in WORKLOADS.values() if workload.name not in ("mixed-100k", "million")]
    assert [one["workload"] for one in answer["measurements"]] == [workload.name for workload in usual]
    assert {one["nodes"] for one in answer["measurements"]} == {5_000}
    assert [one["pods"] for one in answer["measurements"]] == [workload.count for workload in usual]


def test_a_workload_with_a_size_of_its_own(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure_apart", measured)
    said = bayplan("bench", "--workload", "million")
    (row,) = [line.split() for line in said.out.splitlines() if line.startswith("million")]
    assert (row[1], row[3], row[6]) == ("1,000,000", "1,000,000", "16,700")


def test_out_is_the_same_document(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "measure_apart", measured)
    file = tmp_path / "results.json"
    said = bayplan("bench", "--workload", "basic", "-o", "json", "--output-file", str(file))
    assert json.loads(file.read_text()) == said.json()


def test_a_measurement_that_dies(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> Measurement:
        raise subprocess.CalledProcessError(-9, "bench")

    monkeypatch.setattr(bench, "measure_apart", dies)
    said = bayplan("bench", "--workload", "basic")
    assert said.code == 2
    assert "a measurement failed with exit code -9" in said.err


@pytest.mark.parametrize("arguments", [("--workload", "nonsense"), ("--nodes", "0"), ("--pods", "-1")])
def test_wrong_usage(bayplan: Bayplan, arguments: tuple[str, ...]) -> None:
    assert bayplan("bench", *arguments).code == 2


def test_scaling_varies_nodes_and_running_pods() -> None:
    many = scaling.NODES_UNDER_PODS
    points = list(measure_scaling(["basic"], 10, DEFAULT_RELEASE, [5, many], [3], measured))
    assert [(point.varied, point.measured.nodes, point.measured.running) for point in points] == [
        ("nodes", 5, 0),
        ("nodes", many, 0),
        ("running", many, 0),
        ("running", many, 3 * many),
    ]


@pytest.mark.parametrize(
    ("workload", "pods", "placed"),
    [("basic", 10, 10), ("basic", 10**6, WORKLOADS["basic"].count // 2), ("anti-affinity", 1_000, 80)],
)
def test_scaling_places_no_more_than_there_is_room_for(workload: str, pods: int, placed: int) -> None:
    assert [
        point.measured.pods for point in measure_scaling([workload], pods, DEFAULT_RELEASE, [100], [], measured)
    ] == [placed]


def test_growth_is_from_the_fewest_nodes_to_the_most() -> None:
    def slower(
        workload: str, node_count: int, pods: int, release: KubernetesRelease, bystanders_per_node: int
    ) -> Measurement:
        return replace(measured(workload, node_count, pods, release, bystanders_per_node), p50_us=node_count / 10 + 50)

    points = list(measure_scaling(["basic", "spread"], 10, DEFAULT_RELEASE, [500, 2_000, 5_000], [3], slower))
    assert growths(points) == [Growth("basic", 10.0, 5.5), Growth("spread", 10.0, 5.5)]


def test_every_workload_is_drawn() -> None:
    drawn = [name for names in FAMILIES.values() for name in names]
    assert sorted(drawn) == sorted(WORKLOADS)


def test_scale_draws(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")
    monkeypatch.setattr(
        bench,
        "measure_scaling",
        lambda names, pods, release, nodes: measure_scaling(names, pods, release, nodes, [2, 5], measured),
    )
    said = bayplan(
        "bench", "--scale", "--workload", "spread", "--nodes", "500", "--output-file", str(tmp_path / "scale")
    )
    assert said.code == 0
    page = (tmp_path / "scale.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 1
    assert '<td>spread</td><td class="number">500</td>' in page
    assert "spread: 1 × the nodes, 1.0 × the cost" in said.err
    assert (tmp_path / "scale.png").read_bytes()[:4] == b"\x89PNG"
    assert len(json.loads((tmp_path / "scale.json").read_text())["measurements"]) == 3


def test_scale_without_matplotlib(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "find_spec", lambda _: None)
    said = bayplan("bench", "--scale")
    assert said.code == 2
    assert "pip install 'bayplan[plot]'" in said.err


def test_the_version_that_decides(bayplan: Bayplan) -> None:
    answer = bayplan(*SMALL, "--kubernetes-version", "1.37", "-o", "json").json()
    assert answer["kubernetesVersion"] == "1.37"
    assert bayplan(*SMALL, "-o", "json").json()["kubernetesVersion"] == DEFAULT_RELEASE.version
    assert bayplan(*SMALL, "--kubernetes-version", "1.37").out.count("decisions of v1.37") == 1
