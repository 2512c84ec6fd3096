"""The page of a sweep in a real browser: every part is there, and nothing is wider than the window."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.unit.analysis.sweeping.stories import MOST, story_cluster, urgent

import bayplan

pytestmark = pytest.mark.slow


def test_all_parts_are_shown_without_faults(browser: Browser, tmp_path: Path) -> None:
    axes = {"seed": "1..6", MOST: ["LeastAllocated", "MostAllocated"], "weight.NodeResourcesFit": [1, 5]}
    result = bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", processes=1)
    bayplan.write_report(result, tmp_path / "sweep.html")
    page = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((tmp_path / "sweep.html").as_uri())
    assert faults == []
    headings = [heading.inner_text() for heading in page.locator("h2").all()]
    assert [
        part
        for part in (
            "Figures of each point",
            "Response of each figure to each axis",
            "How long pods waited",
            "Two figures against each other",
            "Both axes at once",
            "What each axis does",
            "The worst run",
        )
        if part not in headings
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
