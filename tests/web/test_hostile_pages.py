"""Pages made of other people's files, in a real browser: nothing in them runs, and nothing is fetched.

Every text of a run file, of a cluster and of an answer is markup here. Needs chromium as Debian packages it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Dialog, Page, Request
from tests.support import hostile_objects as evil
from tests.support.dashboard_server import TOKEN, Running
from tests.support.hostile_objects import hostile_objects
from tests.unit.cli.test_hostile_input import QUESTIONS
from tests.unit.report.shadow.test_page import findings
from tests.unit.report.simulation.test_page import busy_result

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.results.comparison import compare
from bayplan.analysis.simulation.results.run_files import as_run
from bayplan.cli.main import run
from bayplan.model.errors import InvalidObject
from bayplan.report.answers.html import html
from bayplan.report.answers.parts import Bar, Bars, Cell, Details, Heading, Next, Part, Sentence, Snippet, Table
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
    return explanation_page(document, urgent().occupancies(nodes_to_draw(document), ["cpu"]), ["cpu"])


def urgent() -> Any:
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
        Snippet(evil, evil),
        Details([Sentence(evil), Next(evil)]),
    ]
    return html(evil, parts)


PAGES: dict[str, Callable[[], tuple[str, int]]] = {
    "simulation": lambda: poisoned(run_document(), one_run),
    "comparison": lambda: poisoned(run_document(), two_runs),
    "explanation": lambda: poisoned(urgent().document(), explanation),
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
    opened, happened = watched_page(browser)
    opened.goto(file.as_uri())
    opened.wait_for_load_state("networkidle")
    assert happened == [file.as_uri()]
    assert opened.locator(ACTIVE).count() == 0
    assert "alert(1)" in opened.locator("body").inner_text()


@pytest.mark.parametrize("question", QUESTIONS)
def test_so_do_pages_of_commands(
    question: str, browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, file = tmp_path / "evil.json", tmp_path / "page.html"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": hostile_objects()}))
    run([*QUESTIONS[question], "-f", str(cluster), "-o", "html"])
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    opened, happened = watched_page(browser)
    opened.goto(file.as_uri())
    opened.wait_for_load_state("networkidle")
    assert happened == [file.as_uri()]
    assert opened.locator(ACTIVE).count() == 0
    assert not opened.evaluate("document.documentElement.scrollWidth > innerWidth"), "wider than the window"


def test_messages_on_the_dashboard(cluster: Running, browser: Browser) -> None:
    """Names and labels are checked by the API; what events say is not."""
    involved = {"kind": "Node", "name": "node-1"}
    metadata = {"name": "evil", "namespace": "default"}
    event = {"involvedObject": involved, "reason": evil.EVIL[:100], "message": evil.EVIL[:1000], "type": "Warning"}
    opened, happened = watched_page(browser)
    opened.goto(f"{cluster.url}/#token={TOKEN}")
    path = "/api/v1/namespaces/default/events"
    cluster.create(path, {"apiVersion": "v1", "kind": "Event", "metadata": metadata, **event})
    shown = opened.get_by_text("$(touch evil)").first
    shown.wait_for()
    assert evil.HIDDEN.encode("unicode_escape").decode() in shown.inner_text()
    assert [url for url in happened if not url.startswith(cluster.url)] == []
    assert opened.locator("[onerror], iframe, img[src=x], a[href^='javascript']").count() == 0


def watched_page(browser: Browser) -> tuple[Page, list[str]]:
    """A page, and what happens on it: requests, dialogs, errors, what scripts or policies write to the console."""
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
    return opened, happened
