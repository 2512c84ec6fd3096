"""The documentation site: its reference names all there is, it builds without a broken link, and it fetches nothing."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click
import pytest
from mkdocs.exceptions import Abort
from playwright.sync_api import sync_playwright
from website import build
from website.reference import commands, configuration, documents, kinds, metrics, python_api
from website.reference.documents import shape_of

import bayplan
from bayplan.cli.main import COMMANDS, cli
from bayplan.config.known_gates import KNOWN_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.writing import configuration_document

ROOT = Path(__file__).resolve().parents[2]
#: Commands with `-o json` whose documents are results of runs that take long, and are told of in guides.
NOT_ASKED = {"compare", "bench", "sweep"}


def sections(page: str) -> dict[str, str]:
    """Title of the second level -> its text."""
    found = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def command_named(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def command_sections() -> dict[str, str]:
    return sections(commands.page())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_the_command_is_named(name: str, command_sections: dict[str, str]) -> None:
    options = [each for each in command_named(name).params if isinstance(each, click.Option) and not each.hidden]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    assert [each for each in names if not re.search(rf"(?<![\w-]){each}(?![\w-])", command_sections[name])] == []


def test_every_public_name_of_the_package_is_named() -> None:
    page = python_api.page()
    methods = [f"Cluster.{name}" for name in vars(bayplan.Cluster) if not name.startswith("_")]
    names = [name for name in bayplan.__all__ if name != "__version__"]
    titles = set(re.findall(r"^#+ (.+)$", page, re.MULTILINE))
    assert {*methods, *names} - titles == set()
    assert {"PodExplanation", "PlacedPod", "WhatIf", "Fix", "DrainedNode", "Finding"} - titles == set()


def test_signatures_are_those_of_the_source() -> None:
    page = python_api.page()
    assert "load(*paths: str | Path, kubernetes_version: str | None = None) -> Cluster\n" in page
    assert "    selector: str = '',\n" in page
    assert (
        "    pods: Sequence[str] | None = None,\n    config: ConfigSource = None,\n    ties: str = 'name',\n    *,\n"
        in page
    )


def test_every_setting_and_gate_is_named() -> None:
    page = configuration.page()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    written = configuration_document(load_configuration(None, release=DEFAULT_RELEASE))
    assert set(written) - set(rows) == set()
    assert set(written["leaderElection"]) | set(written["clientConnection"]) <= set(rows)
    assert set(KNOWN_GATES) <= set(rows)
    assert {"foreignVictims", "evictionsPerMinute", "TaintToleration"} <= set(rows)
    assert "| `leaseDuration` | duration | `15s` |" in page
    assert "| `profiles` | list of [KubeSchedulerProfile](#kubeschedulerprofile) |" in page


def test_every_family_of_metrics_is_named() -> None:
    sources = (ROOT / "src" / "bayplan" / "serving" / "metrics").glob("*.py")
    names = {
        name for path in sources for name in re.findall(r'"((?:scheduler|bayplan|rest_client)_\w+)"', path.read_text())
    }
    shown = set(re.findall(r"^\| `(\w+)` \|", metrics.page(), re.MULTILINE))
    assert len(shown) > 40
    assert {name for name in names if not name.endswith("_")} <= shown


def test_the_kinds_of_a_cluster_are_named() -> None:
    page = kinds.page()
    assert "| apps/v1 | `Deployment` | yes | " in page
    assert "| v1 | `Node` |  | " in page


def test_the_shape_of_documents() -> None:
    shape = shape_of(
        [{"pod": None, "free": {"cpu": 1}, "nodes": []}, {"pod": "a/b", "nodes": [{"name": "n"}], "z": {}}]
    )
    assert list(shape.rows()) == [
        ("pod", "null or string", '"a/b"'),
        ("free", "map", ""),
        ("free{}", "integer", "1"),
        ("nodes", "list", ""),
        ("nodes[].name", "string", '"n"'),
        ("z", "map", ""),
    ]


def test_every_command_with_a_document_is_asked() -> None:
    formats = {
        name: option.type.choices
        for name in COMMANDS
        for option in command_named(name).params
        if "--output" in option.opts and isinstance(option.type, click.Choice)
    }
    with_document = {name for name, choices in formats.items() if "json" in choices}
    asked = {title.partition(",")[0] for title in documents.QUESTIONS}
    assert with_document - asked == NOT_ASKED


def test_links_of_the_repository_become_links_of_the_site() -> None:
    places = build.site_places()
    text = "[a](docs/guide/fix.md#b) ![p](docs/images/fix.svg) [d](docs/decisions) [s](deploy) [w](https://w.example)"
    found = build.relinked(f"{text}\n```\n[a](docs/guide/fix.md)\n```\n", "README.md", places)
    links = "[a](guide/fix.md#b) ![p](images/fix.svg) [d](decisions/index.md) s [w](https://w.example)"
    assert found == f"{links}\n```\n[a](docs/guide/fix.md)\n```\n"
    assert build.relinked("[s](../SECURITY.md)", "docs/faq.md", places) == "[s](security.md)"


def test_pipes_in_code_of_tables_are_shown_as_pipes() -> None:
    assert build.with_plain_pipes("| `a\\|b` | c\\|d |\n`a\\|b`") == "| `a|b` | c\\|d |\n`a\\|b`"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    build.assemble(folder)
    return folder


@pytest.fixture(scope="module")
def site(pages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build.build(pages, folder)
    return folder


@pytest.mark.slow
def test_the_site_has_every_page_and_loads_only_its_own_files(site: Path) -> None:
    names = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    expected = {place.replace(".md", ".html") for place in (*build.site_places().values(), *build.REFERENCE)}
    assert {name for name in expected if name.endswith(".html")} - names == set()
    loading = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=\"?(https?:[^\s\">]+)")
    assert {name: found for name in names if (found := loading.findall((site / name).read_text()))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["[x](nowhere.md)", "[x](guide/fix.md#nowhere)"])
def test_a_broken_link_ends_the_build(pages: Path, tmp_path: Path, broken: str) -> None:
    copy = tmp_path / "pages"
    shutil.copytree(pages, copy)
    with (copy / "faq.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{broken}\n")
    with pytest.raises(Abort):
        build.build(copy, tmp_path / "site")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Nothing: the test looks at what the browser asked for."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_in_a_browser_nothing_leaves_the_site_and_the_search_finds(address: str) -> None:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    requested: list[str] = []
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: requested.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        for name in ("index", "guide/explain", "reference/commands", "comparison"):
            page.goto(f"{address}/{name}.html", wait_until="networkidle")
        page.click("input.md-search__input")
        page.keyboard.type("preemption")
        page.wait_for_selector(".md-search-result__item", timeout=60_000)
        browser.close()
    assert [url for url in requested if not url.startswith((f"{address}/", "data:", "blob:"))] == []
    assert faults == []
    assert len(requested) > 8
