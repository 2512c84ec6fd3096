"""The documentation site: pages of the repository and pages made of the code, through MkDocs.

    python -m website.build FOLDER

Pages keep the links that work in the repository. Here they lead to where the pages are on the site; a link to what is
no part of the site, such as a folder of sources, becomes plain text. Any other broken link ends the build.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.commands.build import build as run_mkdocs
from mkdocs.config import load_config

from website.reference import commands, configuration, documents, kinds, metrics, python_api

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = Path(__file__).with_name("mkdocs.yml")
STYLE = Path(__file__).with_name("style.css")

#: Pages at the root of the repository -> pages of the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "docs/README.md": "overview.md",
    **{f"{name}.md": f"{name.lower()}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY")},
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "LICENSE": "LICENSE",
    "docs/decisions": "decisions/index.md",
}
#: Pages made of the code.
REFERENCE: Mapping[str, Callable[[], str]] = {
    "reference/commands.md": commands.page,
    "reference/python.md": python_api.page,
    "reference/configuration.md": configuration.page,
    "reference/documents.md": documents.page,
    "reference/metrics.md": metrics.page,
    "reference/kinds.md": kinds.page,
}

_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"`[^`]+`")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assemble(Path(folder))
        build(Path(folder), target)
    sys.stdout.write(f"Wrote {target}. To read and search it: python3 -m http.server --directory {target}\n")


def build(source: Path, target: Path) -> None:
    """The site from assembled pages; raises for a broken link, or a page that the navigation leaves out."""
    os.environ["DISABLE_MKDOCS_2_WARNING"] = "true"
    settings = load_config(str(CONFIGURATION), docs_dir=str(source), site_dir=str(target.resolve()), strict=True)
    run_mkdocs(settings)


def assemble(folder: Path) -> None:
    """All pages, pictures and schemas, as MkDocs takes them."""
    places = site_places()
    for name, place in places.items():
        path, page = ROOT / name, folder / place
        page.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            page.write_text(for_the_site(path.read_text(encoding="utf-8"), name, places), encoding="utf-8")
        elif path.is_file():
            shutil.copy(path, page)
    (folder / places["docs/decisions"]).write_text(decisions(), encoding="utf-8")
    shutil.copy(STYLE, folder)
    for place, page_of in REFERENCE.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(with_plain_pipes(page_of()), encoding="utf-8")


def site_places() -> dict[str, str]:
    """Path in the repository -> path on the site, of pages, pictures and schemas."""
    docs = ROOT / "docs"
    found = sorted(path for path in docs.rglob("*") if path.suffix in (".md", ".png", ".svg", ".json"))
    kept = {path.relative_to(ROOT).as_posix(): path.relative_to(docs).as_posix() for path in found}
    return kept | ROOT_PAGES


def for_the_site(text: str, name: str, places: Mapping[str, str]) -> str:
    """A page of the repository, as MkDocs takes it; the home page has no list of pages beside it but the tabs."""
    head = "---\nhide: [navigation]\n---\n" if places[name] == "index.md" else ""
    return head + with_plain_pipes(relinked(text, name, places))


def with_plain_pipes(text: str) -> str:
    """In tables, `a\\|b` as `a|b`: GitHub needs the backslash in code, MkDocs would show it."""
    lines = text.split("\n")
    return "\n".join(_CODE.sub(_without_backslash, line) if line.startswith("|") else line for line in lines)


def _without_backslash(found: re.Match[str]) -> str:
    return found[0].replace("\\|", "|")


def relinked(text: str, name: str, places: Mapping[str, str]) -> str:
    """A page of the repository with its links as they have to be on the site; code stays as it is."""

    def link(found: re.Match[str]) -> str:
        mark, label, target, anchor = found.groups(default="")
        if urlsplit(target).scheme:
            return found[0]
        place = places.get(posixpath.normpath(posixpath.join(posixpath.dirname(name), target)))
        if place is None:
            return label
        return f"{mark}[{label}]({posixpath.relpath(place, posixpath.dirname(places[name]) or '.')}{anchor})"

    pieces = _FENCE.split(text)
    return "".join(piece if piece.startswith("```") else _LINK.sub(link, piece) for piece in pieces)


def decisions() -> str:
    """An index of the records."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    lines = [f"- [{_title(page)}]({page.name})" for page in pages]
    return "\n".join(
        ["# Design decisions", "", "Choices that a reader would question, and what was rejected.", "", *lines]
    )


def _title(page: Path) -> str:
    found = _TITLE.search(page.read_text(encoding="utf-8"))
    return found[1] if found else page.stem


if __name__ == "__main__":
    main(Path(sys.argv[1]))
