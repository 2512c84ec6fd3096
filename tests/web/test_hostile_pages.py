"""Pages made of other people's files, in a real browser: nothing in them runs, and nothing is fetched.

Every text of a run file, of a cluster and of an answer is markup here. Needs chromium as Debian packages it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Dialog, Request
from tests.unit.report.shadow.test_page import findings
from tests.unit.report.simulation.test_page import busy_result

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.results.comparison import compare
from bayplan.analysis.simulation.results.run_files import as_run
from bayplan.model.errors import InvalidObject
from bayplan.report.answers.html import html
from bayplan.report.answers.parts import Bar, Bars, Cell, Code, Details, Heading, Next, Part, Sentence, Table
from bayplan.report.comparison.page import comparison_page
from bayplan.report.explain.node_drawing import nodes_to_draw
from bayplan.report.explain.page import explanation_page
from bayplan.report.shadow.page import shadow_page
from bayplan.report.simulation.page import run_page
from bayplan.testing import builders as make
from bayplan.testing.building import Builder

pytestmark = pytest.mark.slow

EVIL = (
    "x/\"'></title></style></script></textarea></svg><script>alert(1)</script><img src=x onerror=alert(2)>"
    "<svg onload=alert(3)><iframe src=http://evil.example></iframe><a href='javascript:alert(4)'>{{body}}{{style}}"
    "' onmouseover='alert(5)' \" style=\"background:url(http://evil.example/x)\"&lt;script&gt;"
)


def texts_in(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield from (key, *texts_in(value))
    elif isinstance(document, list | tuple):
        for item in document:
            yield from texts_in(item)


def replaced(document: Any, new: dict[str, str]) -> Any:
    if isinstance(document, str):
        return new.get(document, document)
    if isinstance(document, dict):
        return {new.get(key, key): replaced(value, new) for key, value in document.items()}
    return [replaced(item, new) for item in document] if isinstance(document, list | tuple) else document


def poisoned(document: Any, page_of: Callable[[Any], str]) -> tuple[str, int]:
    """The page of a document in which every text is evil that may be: names, messages and keys, equal ones equally."""
    new: dict[str, str] = {}
    for text in dict.fromkeys(texts_in(document)):
        tried = new | {text: f"{text}{EVIL}"}
        with suppress(InvalidObject, KeyError, StopIteration, ValueError):  # a word of the format
            if f"{text}x/" in page_of(replaced(document, tried)):  # not a field that is unknown now
                new = tried
    return page_of(replaced(document, new)), len(new)


def run_document() -> Any:
    return {**msgspec.to_builtins(busy_result(3, 30, 600.0)), "wakeups": "complete"}


def one_run(document: Any) -> str:
    return run_page(as_run(document, "evil.json"))


def two_runs(document: Any) -> str:
    return comparison_page(compare(as_run(document, "evil.json"), as_run(run_document(), "good.json")))


def explanation(document: Any) -> str:
    return explanation_page(document, _explained().occupancies(nodes_to_draw(document), ["cpu"]), ["cpu"])


def _explained() -> Any:
    things: list[Builder[Any]] = [
        make.node("a").capacity(cpu="4"),
        make.node("b").capacity(cpu="2").taint("dedicated"),
        make.pod("low").cpu("3").running("a"),
        make.pod("urgent").cpu("3").priority(1000),
    ]
    return Cluster.from_objects([thing.dict() for thing in things]).explain("default/urgent")


def answer(evil: str) -> str:
    parts: list[Part] = [
        Sentence(evil),
        Heading(evil),
        Table((evil,), [[evil], [Cell(evil)]]),
        Bars([Bar(evil, 3, evil)]),
        Code(evil, evil),
        Details([Sentence(evil), Next(evil)]),
    ]
    return html(evil, parts)


PAGES: dict[str, Callable[[], tuple[str, int]]] = {
    "simulation": lambda: poisoned(run_document(), one_run),
    "comparison": lambda: poisoned(run_document(), two_runs),
    "explanation": lambda: poisoned(_explained().document(), explanation),
    "shadow": lambda: poisoned(findings().to_dict(), shadow_page),
    "answer": lambda: (answer(EVIL), 6),
}
#: What would have run or loaded something, had it been more than text.
ACTIVE = (
    "[onerror], [onload], [onmouseover], [style], img, iframe, a[href^='javascript'], a[href^='http'], svg svg script"
)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_runs_and_nothing_is_fetched(name: str, browser: Browser, tmp_path: Path) -> None:
    page, evil = PAGES[name]()
    assert evil >= 6
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    opened = browser.new_context().new_page()
    happened: list[str] = []

    def refuse(dialog: Dialog) -> None:
        happened.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def note(request: Request) -> None:
        if not request.url.startswith("data:"):
            happened.append(request.url)

    opened.on("dialog", refuse)
    opened.on("request", note)
    opened.on("console", lambda said: happened.append(said.text))
    opened.on("pageerror", lambda error: happened.append(str(error)))
    opened.goto(file.as_uri())
    opened.wait_for_load_state("networkidle")
    assert happened == [file.as_uri()]
    assert opened.locator(ACTIVE).count() == 0
    assert "alert(1)" in opened.locator("body").inner_text()
