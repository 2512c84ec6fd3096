"""`bayplan compare`, and `bayplan simulate` with several configurations: output, files, gates, and bad input."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from .conftest import Bayplan

CLUSTER = """
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: calm}, spec: {containers: [{name: a, resources: {requests: {cpu: 3}}}]}}
"""
URGENT = """
- at: 1m
  apply:
    apiVersion: v1
    kind: Pod
    metadata: {name: urgent}
    spec: {priorityClassName: high, containers: [{name: a, resources: {requests: {cpu: 3}}}]}
"""
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PEACEFUL = f"{HEAD}profiles: [{{plugins: {{postFilter: {{disabled: [{{name: DefaultPreemption}}]}}}}}}]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Here are the files of a story: an urgent pod pushes out a calm one, unless the peaceful configuration is used."""
    monkeypatch.chdir(tmp_path)
    written = {
        "cluster.yaml": CLUSTER,
        "timeline.yaml": URGENT,
        "peaceful.yaml": PEACEFUL,
        "broken.yaml": "kind: Pod\n",
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


STORY = ("simulate", "-f", "cluster.yaml", "--timeline", "timeline.yaml", "--until", "10m")
BOTH = ("--config", "default", "--config", "peaceful.yaml")


@pytest.fixture
def two_runs(folder: Path, bayplan: Bayplan) -> None:
    for name, config in (("fierce.json", "default"), ("peaceful.json", "peaceful.yaml")):
        (folder / name).write_text(bayplan(*STORY, "--config", config, "-o", "json").out, encoding="utf-8")


@pytest.mark.usefixtures("two_runs")
class TestCompare:
    def test_the_table(self, bayplan: Bayplan) -> None:
        outcome = bayplan("compare", "fierce.json", "peaceful.json")
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.first_line == (
            "peaceful compared with fierce: 1 fewer pod placed, 1 more pod pending and 1 fewer pod preempted."
        )
        assert "0 preemptions in both runs (same preemptor, same victims), 1 only in fierce" in outcome.out

    def test_markdown_and_html_say_what_the_table_says(self, bayplan: Bayplan) -> None:
        answer = bayplan("compare", "fierce.json", "peaceful.json").first_line
        markdown = bayplan("compare", "fierce.json", "peaceful.json", "-o", "markdown").out
        assert markdown.startswith(f"### bayplan compare\n\n**{answer}**\n")
        assert "| pods placed | 2 | 1 | −1 |" in markdown
        assert answer in bayplan("compare", "fierce.json", "peaceful.json", "-o", "html").out

    def test_json_holds_every_change(self, bayplan: Bayplan) -> None:
        plain = bayplan("compare", "fierce.json", "peaceful.json", "-o", "json").json()
        assert (plain["format"], plain["warnings"]) == ("bayplan comparison v1", [])
        changes = plain["differences"][0]["pods"]["changes"]
        assert [(one["pod"], one["changed"]) for one in changes] == [
            ("default/urgent", ["placed"]),
            ("default/calm", ["preempted"]),
        ]

    def test_another_seed_is_warned_about(self, folder: Path, bayplan: Bayplan) -> None:
        other = bayplan(*STORY, "--seed", "9", "-o", "json").out
        (folder / "other.json").write_text(other, encoding="utf-8")
        assert "warning: The seeds of fierce and other differ (0 and 9)" in bayplan(
            "compare", "fierce.json", "other.json"
        ).out  # fmt: skip
        outcome = bayplan("compare", "fierce.json", "other.json", "-o", "json")
        assert outcome.err.startswith("warning: The seeds of fierce and other differ")
        assert len(outcome.json()["warnings"]) == 1

    def test_the_report(self, folder: Path, bayplan: Bayplan) -> None:
        outcome = bayplan("compare", "fierce.json", "peaceful.json", "--report", "both.html")
        assert (outcome.code, outcome.err) == (0, "note: report written to both.html\n")
        assert "peaceful compared with fierce" in (folder / "both.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "Missing argument 'RUN.json...'"),
            (["fierce.json"], "fierce.json: contains only one run; add another file to compare it with"),
            (["fierce.json", "absent.json"], "absent.json: No such file"),
            (["fierce.json", "cluster.yaml"], "cluster.yaml: not a result of `bayplan simulate -o json`: line 2"),
            (["fierce.json", "peaceful.json", "--report", "no/such/folder.html"], "--report: no/such/folder.html"),
        ],
    )
    def test_bad_input_is_one_message(self, folder: Path, bayplan: Bayplan, arguments: list[str], said: str) -> None:
        outcome = bayplan("compare", *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert said in outcome.err
        assert not list(folder.glob("**/*.html"))


@pytest.mark.usefixtures("folder")
class TestSeveralConfigurations:
    def test_runs_are_what_each_would_be_alone(self, two_runs: None, folder: Path, bayplan: Bayplan) -> None:
        """The second world knows nothing of the first, in whichever order."""
        alone = [json.loads((folder / name).read_text()) for name in ("fierce.json", "peaceful.json")]
        assert bayplan(*STORY, *BOTH, "-o", "json").json()["runs"] == alone
        backwards = ("--config", "peaceful.yaml", "--config", "default")
        assert bayplan(*STORY, *backwards, "-o", "json").json()["runs"] == alone[::-1]

    def test_the_comparison_can_be_had_again_from_the_json(self, folder: Path, bayplan: Bayplan) -> None:
        table = bayplan(*STORY, *BOTH)
        assert table.first_line.startswith("peaceful compared with default: 1 fewer pod placed")
        saved = bayplan(*STORY, *BOTH, "-o", "json")
        (folder / "both.json").write_text(saved.out, encoding="utf-8")
        assert bayplan("compare", "both.json").out == table.out
        assert bayplan("compare", "both.json", "-o", "json").json() == saved.json()["comparison"]

    def test_same_seed_same_bytes(self, folder: Path, bayplan: Bayplan) -> None:
        outputs = [bayplan(*STORY, *BOTH, "-o", "json", "--report", f"{name}.html").out for name in ("a", "b")]
        assert outputs[0] == outputs[1]
        assert (folder / "a.html").read_bytes() == (folder / "b.html").read_bytes()

    def test_gates_hold_for_each_run(self, bayplan: Bayplan) -> None:
        outcome = bayplan(*STORY, *BOTH, "--fail-on", "pending", "--fail-on", "evicts=none")
        assert outcome.code == 1
        assert outcome.err.splitlines() == [
            "failed: default: 1 pod of class none preempted",
            "failed: peaceful: 1 pod without a node: default/urgent",
        ]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--journal", "journal"], "--journal: works with a single run"),
            (["--parquet", "tables"], "--parquet: works with a single run"),
            (["--config", "absent.yaml"], "absent.yaml"),
            (["--config", "broken.yaml"], "broken.yaml"),
        ],
    )
    def test_bad_input_is_told_before_the_first_run(
        self,
        folder: Path,
        bayplan: Bayplan,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        said: str,
    ) -> None:
        monkeypatch.setattr("bayplan.cli.simulate.Simulation", None)
        before = sorted(folder.iterdir())
        outcome = bayplan(*STORY, *BOTH, *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert said in outcome.err
        assert sorted(folder.iterdir()) == before

    @pytest.mark.parametrize(
        ("interrupted", "said"),
        [(1, "note: interrupted in the first run: nothing to compare"), (2, "warning: peaceful ended early")],
    )
    def test_an_interrupt_ends_all(
        self, bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch, interrupted: int, said: str
    ) -> None:
        """The run at hand is cut short, and no other is begun."""
        bars = count(1)

        @contextmanager
        def progress_bar() -> Iterator[Callable[[int, int], None]]:
            number = next(bars)

            def tell(passed_ns: int, total_ns: int) -> None:
                if number == interrupted and passed_ns == total_ns // 2:
                    signal.raise_signal(signal.SIGINT)

            yield tell

        monkeypatch.setattr("bayplan.cli.simulate.progress_bar", progress_bar)
        outcome = bayplan(*STORY, *BOTH, "--config", "default")
        assert outcome.code == 130
        assert said in outcome.out + outcome.err
        assert next(bars) == interrupted + 1
