"""Runs side by side, as text and as a page: differences with their sign, warnings first, safe and always the same."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.unit.analysis.simulation.runs import pod, preemption, run, summary

from bayplan.analysis.simulation.results.comparison import compare
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.run_format import ClusterSeries as RunSeries
from bayplan.analysis.simulation.results.run_format import End, Run
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.comparison.figures import bands, wait_rows
from bayplan.report.comparison.page import comparison_page
from bayplan.report.comparison.parts import comparison_parts
from bayplan.report.comparison.rows import signed_count, signed_duration, signed_points
from bayplan.report.drawing.bands import Series
from bayplan.report.durations import unit_for
from bayplan.report.terminal import rendered
from bayplan.report.writing import write_report


def text_of(compared: ComparedRuns) -> str:
    return rendered(terminal_parts(comparison_parts(compared.comparison)), width=1_000)


def page_of(compared: ComparedRuns) -> str:
    return comparison_page(compared)


def two(base: Run | None = None, other: Run | None = None) -> ComparedRuns:
    """A run in which one pod is preempted, and one in which it is not but waits longer."""
    victim = pod("x", end=End.PREEMPTED, ended=50.0)
    base = base or run([victim, pod("y")], [preemption("y", "x")], configs="a.yaml")
    other = other or run([pod("x", bound=9.0), pod("y", "n2"), pod("z", None)], configs="b.yaml")
    return compare(base, other)


class TestSigns:
    @pytest.mark.parametrize(("number", "said"), [(0, "0"), (1234, "+1,234"), (-3, "−3")])
    def test_counts(self, number: int, said: str) -> None:
        assert signed_count(number) == said

    @pytest.mark.parametrize(
        ("seconds", "said"), [(0.0, "0"), (0.0004, "0"), (-0.25, "−250 ms"), (90.0, "+1 min 30 s")]
    )
    def test_durations(self, seconds: float, said: str) -> None:
        assert signed_duration(seconds) == said

    @pytest.mark.parametrize(("share", "said"), [(0.0, "0"), (0.0004, "0"), (-0.1476, "−14.8 points")])
    def test_shares(self, share: float, said: str) -> None:
        assert signed_points(share) == said


class TestText:
    def test_the_answer_comes_first(self) -> None:
        first = text_of(two()).splitlines()[:2]
        assert first == [
            "b compared with a: 1 more pod pending and 1 fewer pod preempted. At p90, low waits 8 s longer.",
            "1 min 40 s on 1 node, seed 0, wake-ups upstream.",
        ]

    @pytest.mark.parametrize(
        "row",
        [
            ["pods preempted", "1", "0", "−1"],
            ["pods pending", "0", "1", "+1"],
            ["evicted by preemption", "1", "0", "−1"],
            ["cpu utilization, mean", "50.0%", "50.0%", "0"],
            ["default/x", "low", "n1 at 1 s, preempted at 50 s", "n1 at 9 s", "+8 s"],
            ["default/y", "low", "n1 at 1 s", "n2 at 1 s"],
            ["a", "50 s", "default/y", "1,000", "n1", "default/x"],
            ["change", "0", "−1", "+1", "+8 s", "+8 s", "+8 s", "+8 s"],
        ],
        ids=lambda row: row[0],
    )
    def test_rows(self, row: list[str]) -> None:
        lines = [re.split(r" {2,}", line.strip()) for line in text_of(two()).splitlines()]
        assert row in lines

    def test_sentences_say_how_many(self) -> None:
        text = text_of(two())
        assert (
            "Of 2 pods in both runs, 2 had a different outcome: 1 on a different node, "
            "1 bound at a different time (by 1 s or more) and 1 preempted only in a. There is 1 pod only in b." in text
        )
        assert "0 preemptions in both runs (same preemptor, same victims), 1 only in a and 0 only in b." in text

    def test_nothing_changed(self) -> None:
        text = text_of(two(run([pod("x")]), run([pod("x")])))
        assert "default (2) compared with default: no change in pods placed, pending or preempted." in text
        assert "1 pod in both runs, none with a different outcome." in text
        assert "There were no preemptions in any run." in text

    def test_warnings_stand_above_all_figures(self) -> None:
        text = text_of(compare(run(), run(seed=3, inputs="other"), names=["a", "b"]))
        assert text.count("warning: ") == 2
        assert text.rindex("warning: ") < text.index("Side by side")

    def test_a_long_table_is_cut_and_says_so(self) -> None:
        text = text_of(
            compare(
                run([pod(f"x-{place}") for place in range(30)]), run([pod(f"x-{place}", "n2") for place in range(30)])
            )
        )
        assert text.count("default/x-") == 20
        assert "and 10 more; -o json shows all." in text

    def test_three_runs_have_two_differences(self) -> None:
        text = text_of(compare(run([pod("x")]), run([pod("x")]), run([pod("x", None)]), names=["a", "b", "c"]))
        assert "b − a" in text
        assert "c compared with a: 1 fewer pod placed and 1 more pod pending." in text

    def test_long_names_lose_their_middle_unless_two_would_be_the_same(self) -> None:
        long = "configuration-{}-of-the-production-cluster-{}"
        apart = compare(run(), run(), names=[long.format("a", "a"), long.format("a", "b")])
        assert "configuration…tion-cluster-b compared with configuration…tion-cluster-a" in text_of(apart)
        alike = compare(run(), run(), names=[long.format("a", "x"), long.format("b", "x")])
        assert f"{long.format('b', 'x')} compared with {long.format('a', 'x')}" in text_of(alike)


class Elements(HTMLParser):
    """Tags with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


class TestPage:
    def test_holds_the_answer_the_figures_and_the_pods(self) -> None:
        page = page_of(two())
        order = [
            "1 fewer pod preempted",
            "pods pending",
            "Utilization and queue",
            "Waiting time",
            "Placements that differ",
        ]
        places = [page.index(said) for said in order]
        assert places == sorted(places)
        assert "<td>n1 at 1 s, preempted at 50 s</td><td>n1 at 9 s</td>" in page

    def test_nothing_is_loaded_from_elsewhere(self) -> None:
        tags = Elements(page_of(two())).tags
        assert not [
            name for _, attributes in tags for name in attributes if name in ("src", "href", "srcset", "action")
        ]
        policy = next(attributes["content"] for tag, attributes in tags if "http-equiv" in attributes)
        assert policy is not None
        assert policy.startswith("default-src 'none'")

    def test_text_of_users_stays_text(self) -> None:
        evil = "</script><img src=http://evil.example>{{style}}<a href='http://e.example'>"
        here, there = (pod(evil, node=node, class_name=evil, owner=evil) for node in ("n1", evil))
        taking = preemption(evil, evil)
        taking.victims[0].breaks = [evil]
        base = run([here], [taking], configs=evil, classes={evil: 5}, inputs=evil)
        base.series.used = {evil: [0.5, 0.5]}
        base.summary = summary([here], evictions={evil: 1}, utilization={evil: 0.5})
        page = page_of(two(base, run([there], configs=f"b{evil}")))
        tags = [tag for tag, _ in Elements(page).tags]
        assert [tag for tag in tags if tag in ("img", "a")] == []
        assert tags.count("script") == 1

    def test_same_runs_same_bytes(self, tmp_path: Path) -> None:
        for name in ("a.html", "b.html"):
            write_report(two(), tmp_path / name)
        assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()

    def test_runs_without_pods_make_a_page(self) -> None:
        empty = run(series=RunSeries([], {"active": []}, {}, [], []))
        assert "There were no preemptions in any run." in page_of(compare(empty, empty))


class TestFigures:
    def drawn(self, *runs: Run) -> list[list[Series]]:
        """By band, a series for each run."""
        return [list(band.series) for band in bands(runs, compare(*runs).comparison, unit_for(100.0))]

    def test_each_run_has_a_line_in_each_band(self) -> None:
        found = self.drawn(run(configs="a"), run(configs="b"))
        assert [[one.name for one in band] for band in found] == [["a", "b"]] * 3
        assert found[0][0].values == [25.0, 75.0]
        assert found[1][0].values == [0, 3], "all places of the queue together"

    def test_a_resource_that_one_run_lacks_is_nothing_there(self) -> None:
        gpu = run()
        gpu.series.used["gpu"] = [0.5, 1.0]
        assert [one.values for one in self.drawn(gpu, run())[1]] == [[50.0, 100.0], [0.0, 0.0]]

    def test_a_file_that_names_no_place_of_the_queue_has_no_pod_waiting(self) -> None:
        silent = run()
        silent.series.queue = {}
        assert self.drawn(silent, run())[1][0].values == [0, 0]

    def test_victims_add_up(self) -> None:
        """Whichever pod chose them: each went once."""
        gone = [pod(key, end=End.PREEMPTED, ended=at) for key, at in (("x", 20.0), ("z", 60.0), ("w", 60.0))]
        taking = [preemption("y", "x", at=20.0), preemption("y", "z", "w", at=60.0), preemption("v", "w", at=60.0)]
        line = self.drawn(run(gone, taking), run())[2][0]
        assert (line.times, line.values) == ([0.0, 20.0, 60.0, 60.0, 100.0], [0, 1, 2, 3, 3])

    def test_runs_of_a_class_stand_below_each_other(self) -> None:
        ((label, rows),) = wait_rows(two().comparison)
        assert label == "low (10)"
        assert [(row.name, row.quantiles[0]) for row in rows] == [("low in a", 1.0), ("low in b", 9.0)]

    def test_a_class_without_a_wait_in_one_run_has_no_mark_there(self) -> None:
        ((_, rows),) = wait_rows(two(run([pod("x")]), run([pod("x", None)])).comparison)
        assert [row.quantiles[0] for row in rows] == [1.0]

    def test_a_page_of_many_runs_is_small(self) -> None:
        """A thousand pods with long names, all of them elsewhere in each run."""
        keys = [f"a-rather-long-name-of-a-workload-{number:05}-5f6d7c8b9" for number in range(1_000)]
        runs = [run([pod(key, f"a-rather-long-name-of-a-node-{place}") for key in keys]) for place in range(6)]
        assert len(page_of(compare(*runs)).encode()) < 500_000
