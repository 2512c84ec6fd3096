"""Runs side by side, as text and as a page: differences with their sign, warnings first, safe and always the same."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("plotly", reason="the extra `report` is not installed")

from tests.unit.analysis.simulation.runs import pod, preemption, run, summary

from bayplan.analysis.simulation.results.comparison import compare
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.run_format import End, Run, Series
from bayplan.report.comparison.figures import runs_over_time, waits_by_class
from bayplan.report.comparison.page import comparison_page
from bayplan.report.comparison.rows import signed_count, signed_duration, signed_points
from bayplan.report.comparison.tables import comparison_parts
from bayplan.report.terminal import rendered
from bayplan.report.writing import write_report


def text_of(compared: ComparedRuns) -> str:
    return rendered(comparison_parts(compared.comparison), width=1_000)


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
        assert first[0] == "a and b, 1 min 40 s on 1 node, seed 0, wake-ups upstream."
        assert first[1] == (
            "b compared with a: 1 more pod pending and 1 fewer pod preempted. At p90, low waits 8 s longer."
        )

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

    def test_every_plot_has_its_place(self) -> None:
        page = page_of(two())
        found = re.search(r'id="figures">(.*?)</script>', page)
        assert found
        ids = [attributes.get("id") for tag, attributes in Elements(page).tags if tag == "div"]
        assert set(json.loads(found[1])) == {one for one in ids if one}

    def test_nothing_is_loaded_from_elsewhere(self) -> None:
        tags = Elements(page_of(two())).tags
        assert not [
            name for _, attributes in tags for name in attributes if name in ("src", "href", "srcset", "action")
        ]
        policy = next(attributes["content"] for tag, attributes in tags if "http-equiv" in attributes)
        assert policy is not None
        assert policy.startswith("default-src 'none'")

    def test_text_of_users_stays_text(self) -> None:
        evil = "</script><img src=http://evil.example>{{plotly}}<a href='http://e.example'>"
        here, there = (pod(evil, node=node, class_name=evil, owner=evil) for node in ("n1", evil))
        taking = preemption(evil, evil)
        taking.victims[0].breaks = [evil]
        base = run([here], [taking], configs=evil, classes={evil: 5}, inputs=evil)
        base.series.used = {evil: [0.5, 0.5]}
        base.summary = summary([here], evictions={evil: 1}, utilisation={evil: 0.5})
        page = page_of(two(base, run([there], configs=f"b{evil}")))
        tags = [tag for tag, _ in Elements(page).tags]
        assert [tag for tag in tags if tag in ("img", "a")] == []
        assert tags.count("script") == 3
        found = re.search(r'id="figures">(.*?)</script>', page)
        assert found
        assert "<a " not in json.dumps(json.loads(found[1]))

    def test_same_runs_same_bytes(self, tmp_path: Path) -> None:
        for name in ("a.html", "b.html"):
            write_report(two(), tmp_path / name)
        assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()

    def test_runs_without_pods_make_a_page(self) -> None:
        empty = run(series=Series([], {"active": []}, {}, [], []))
        assert "There were no preemptions in any run." in page_of(compare(empty, empty))


class TestFigures:
    def lines(self, *runs: Run) -> list[Any]:
        data: list[Any] = runs_over_time(runs, compare(*runs).comparison)["data"]
        return data

    def test_each_run_has_a_line_in_each_band(self) -> None:
        lines = self.lines(run(configs="a"), run(configs="b"))
        assert [(one["name"], one["yaxis"]) for one in lines] == [
            (name, axis) for name in ("a", "b") for axis in ("y", "y2", "y3")
        ]
        assert lines[0]["y"] == [25.0, 75.0]
        assert lines[1]["y"] == [0, 3], "all places of the queue together"

    def test_a_resource_that_one_run_lacks_is_nothing_there(self) -> None:
        gpu = run()
        gpu.series.used["gpu"] = [0.5, 1.0]
        lines = self.lines(gpu, run())
        assert [one["y"] for one in lines if one["yaxis"] == "y2"] == [[50.0, 100.0], [0.0, 0.0]]

    def test_a_file_that_names_no_place_of_the_queue_has_nobody_waiting(self) -> None:
        silent = run()
        silent.series.queue = {}
        assert self.lines(silent, run())[1]["y"] == [0, 0]

    def test_victims_add_up(self) -> None:
        """Whoever chose a pod: it went once."""
        gone = [pod(key, end=End.PREEMPTED, ended=at) for key, at in (("x", 20.0), ("z", 60.0), ("w", 60.0))]
        taking = [preemption("y", "x", at=20.0), preemption("y", "z", "w", at=60.0), preemption("v", "w", at=60.0)]
        line = self.lines(run(gone, taking), run())[2]
        assert (line["x"], line["y"]) == ([0.0, 20.0, 60.0, 60.0, 100.0], [0, 1, 2, 3, 3])

    def test_runs_of_a_class_stand_side_by_side(self) -> None:
        figure = waits_by_class(two().comparison)
        medians = [one for one in figure["data"] if one.get("showlegend")]
        assert [(one["name"], one["x"]) for one in medians] == [("a", [1.0]), ("b", [9.0])]
        assert medians[0]["y"] != medians[1]["y"]
        assert figure["layout"]["yaxis"]["ticktext"] == ["low (10)"]

    def test_a_class_without_a_wait_in_one_run_has_no_mark_there(self) -> None:
        figure = waits_by_class(two(run([pod("x")]), run([pod("x", None)])).comparison)
        assert [one["x"] for one in figure["data"] if one.get("showlegend")] == [[1.0], []]
