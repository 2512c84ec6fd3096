"""A sweep as a page: drawings of what differs, and nothing where there is nothing to draw."""

from __future__ import annotations

import importlib.util
import re

import pytest
from tests.unit.analysis.sweeping.stories import MOST, story_cluster, urgent

import bayplan
from bayplan.report.sweep.page import sweep_page


def page_of(axes: dict[str, object]) -> str:
    result = bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", processes=1)
    return sweep_page(result.summary, result.simulate(0).run)


def test_two_axes_have_curves_a_trade_off_and_a_map() -> None:
    page = page_of({"seed": "1..3", MOST: ["LeastAllocated", "MostAllocated"], "nodes.4cpu,8Gi": [0, 1]})
    for title in (
        "Figures of each point",
        "Response of each figure to each axis",
        "Two figures against each other",
        "Both axes at once",
        "The worst run",
    ):
        assert f"<h2>{title}</h2>" in page, title
    assert "nodeHours by nodes.4cpu,8Gi" in page
    assert "<h2>Failed runs</h2>" not in page


@pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="Optuna is not installed (bayplan[optuna])")
def test_a_search_shows_what_it_found_first_and_draws_what_it_sought() -> None:
    axes = {"seed": [1], "nodes.4cpu,8Gi": {"from": 0, "to": 3}}
    sample = {"search": 6, "objectives": ["nodeHours", "max pods.placed"]}
    result = bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", processes=1, sample=sample)
    page = sweep_page(result.summary)
    assert page.index("Points that no other beats in all objectives") < page.index("Figures of each point")
    assert "Orange: no other point has less of nodeHours and more of pods.placed (the Pareto front)." in page
    drawing = page.partition("<b>pods.placed over nodeHours</b>")[2].partition("</figure>")[0]
    assert drawing.count('class="quantile r2"') == len(result.summary.front)


def test_seeds_alone_have_figures_only() -> None:
    page = page_of({"seed": [1, 2]})
    assert "all runs" in page
    assert "Both axes at once" not in page


def test_marks_say_what_they_are_and_text_is_no_markup() -> None:
    page = page_of({"seed": [1], MOST: ["LeastAllocated", "<b>"]})
    assert "&lt;b&gt;" in page
    assert "<b>&lt;" not in page.replace("<b>nodeHours", "")
    curves = page_of({"seed": [1], "nodes.4cpu,8Gi": [0, 3]})
    assert re.search(r"<title>nodes\.4cpu,8Gi 3: 0\.5 \(0\.5 to 0\.5\)</title>", curves)
