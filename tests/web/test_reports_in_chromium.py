"""Reports of simulations in a real browser: what a reader does with a plot, and what a dark screen shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.unit.report.simulation.test_page import busy_result

from bayplan.analysis.simulation.results.run_format import PendingAtEnd
from bayplan.report.html_page import write_page
from bayplan.report.simulation.page import run_page

pytestmark = pytest.mark.slow


def opened(browser: Browser, folder: Path, nodes: int = 10, scheme: str = "light", message: str = "") -> Page:
    run = busy_result(nodes, 300, 86_400.0)
    run.waiting = [PendingAtEnd(message=message, pods=["prod/waits"])] if message else run.waiting
    write_page(run_page(run), folder / "report.html")
    dark = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light", viewport={"width": 1200, "height": 900}
    )
    page = dark.new_page()
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((folder / "report.html").as_uri())
    assert faults == []
    return page


def views(page: Page) -> set[str]:
    """The parts of the time that the areas show: start and width."""
    found: list[str] = page.locator("figure.time svg.area").evaluate_all(
        "each => each.map(a => a.getAttribute('viewBox'))"
    )
    return {" ".join(view.split()[::2]) for view in found}


def test_dragging_looks_closer_in_all_figures_and_a_double_click_goes_back(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path)
    assert views(page) == {"0 24"}
    area = page.locator("figure.time svg.area").first
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50, steps=4)
    page.mouse.up()
    (view,) = views(page)
    assert [float(part) for part in view.split()] == pytest.approx([6, 6], abs=0.1)
    expect(page.locator("figure.time .times text").first).to_have_text("6")
    area.dblclick()
    assert views(page) == {"0 24"}


@pytest.mark.parametrize("nodes", [10, 100])
def test_a_mark_opens_its_record(nodes: int, browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, nodes)
    assert page.locator("#preemptions details[open]").count() == 0
    page.locator("#filter").fill("nothing has this name")
    page.locator('.plot a[href="#preemption-1"] path.mark').dispatch_event("click")
    expect(page.locator("#preemption-1")).to_have_attribute("open", "")
    expect(page.locator("#preemption-1")).to_be_in_viewport()


def test_a_long_message_does_not_make_the_page_wider(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, message="0/6 nodes are available: 6 Insufficient cpu. " * 20)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_buttons_show_another_map(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, 100)
    shown = "each => each.map(map => getComputedStyle(map).visibility)"
    assert page.locator(".map").evaluate_all(shown) == ["visible", "hidden", "hidden"]
    page.get_by_label("evictions").check()
    assert page.locator(".map").evaluate_all(shown) == ["hidden", "hidden", "visible"]


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_the_page_follows_the_screen(scheme: str, is_dark: bool, browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, scheme=scheme)
    background: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(int(part) for part in background[4:-1].split(",")) < 100) is is_dark
