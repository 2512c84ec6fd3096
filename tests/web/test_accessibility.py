"""Contrast, labels, roles and landmarks of every page, by the rules of axe-core in a real browser.

`make check` installs axe-core with the other packages in tests/javascript; skipped, with that reason, where it is
missing. Two rules that are advice and no part of WCAG are left out: parts of answers have one level of headings, and
tables of rows with a name have no word above the names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from tests.support.dashboard_server import TOKEN, Running
from tests.unit.report.shadow.test_page import findings
from tests.web.test_hostile_pages import answer, explanation, one_run, run_document, two_runs, urgent
from tests.web.test_in_chromium import add

from bayplan.report.shadow.page import shadow_page

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[1] / "javascript/node_modules/axe-core/axe.min.js"
RUN = """async () => {
  const advice = { "heading-order": { enabled: false }, "empty-table-header": { enabled: false } };
  return (await axe.run({ rules: advice })).violations;
}"""
SCHEMES: list[Literal["light", "dark"]] = ["light", "dark"]
SCREENS = {"desk": (1280, 800), "phone": (390, 844)}


PAGES: dict[str, Callable[[], str]] = {
    "simulation": lambda: one_run(run_document()),
    "comparison": lambda: two_runs(run_document()),
    "explanation": lambda: explanation(urgent().document()),
    "shadow": lambda: shadow_page(findings().to_dict()),
    "answer": lambda: answer("text"),
}


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make javascript")
    return AXE.read_text(encoding="utf-8")


def violations(page: Page, axe: str) -> list[str]:
    """What breaks a rule, and where."""
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate(RUN)
    return [f"{rule['id']}: {node['html']} {node['failureSummary']}" for rule in found for node in rule["nodes"][:3]]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_dashboard(
    cluster: Running, browser: Browser, axe: str, screen: str, scheme: Literal["light", "dark"]
) -> None:
    width, height = SCREENS[screen]
    size: ViewportSize = {"width": width, "height": height}
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{cluster.url}/#token={TOKEN}")
    add(page, "Priority class", name="urgent", value="100000")
    add(page, "Deployment", name="low", replicas="3", cpu="3", stopSeconds="60")
    expect(page.locator(".stack .block:not(.starting)")).to_have_count(2)
    add(page, "Pod", name="boss", cpu="2", priorityClass="urgent")
    expect(page.locator(".block.victim")).to_have_count(1)
    expect(page.locator("#notice.shown")).to_have_count(0)
    assert "\n".join(violations(page, axe)) == ""
    page.locator("#search").fill("low")
    expect(page.locator("#results button").first).to_be_visible()
    assert "\n".join(violations(page, axe)) == ""
    page.locator(".kept-for .block").first.click()
    expect(page.locator("#panel table").first).to_be_visible()
    assert "\n".join(violations(page, axe)) == ""
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add…").click()
    assert "\n".join(violations(page, axe)) == ""
    context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", PAGES)
def test_reports_and_answers(
    name: str, scheme: Literal["light", "dark"], browser: Browser, axe: str, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri())
    assert "\n".join(violations(page, axe)) == ""
    context.close()
