"""Texts of other people's files in every answer: seen as they are, and never obeyed by a terminal."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
import yaml
from tests.support.hostile_objects import EVIL, HIDDEN, hostile_objects
from tests.unit.cli.conftest import Bayplan

#: Every question, asked so that texts of the input are part of the answer.
QUESTIONS = {
    "explain, selector": ("explain", "selecting", "--details"),
    "explain, claim": ("explain", "storing", "--details"),
    "explain, device": ("explain", "claiming", "--details"),
    "explain, resource": ("explain", "asking", "--details"),
    "explain, victim": ("explain", "urgent", "--details"),
    "place": ("place",),
    "whatif": ("whatif", "--drain", "a"),
    "drain": ("drain", "a", "--details"),
    "defrag": ("defrag", "--for", "urgent", "--details"),
    "consolidate": ("consolidate", "--details"),
    "exposure": ("exposure", "--details"),
    "fix, selector": ("fix", "selecting", "--details"),
    "fix, taint": ("fix", "urgent", "--details"),
    "capacity": ("capacity", "--pod", "cpu=1", "--details"),
    "audit": ("audit", "--details"),
    "simulate": ("simulate", "--until", "10m"),
}
FORMATS = ("table", "markdown", "html", "json", "yaml")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "evil.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": hostile_objects()}))
    return str(path)


def hidden_in(text: str) -> set[str]:
    """Found by what Unicode says of each character, not by a list of them."""
    return {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs") and each not in "\n\t"}


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_answer_has_characters_that_cannot_be_seen(bayplan: Bayplan, file: str, question: str, output: str) -> None:
    said = bayplan(*QUESTIONS[question], "-f", file, "-o", output)
    assert said.code in (0, 1), said.err
    assert hidden_in(said.out) | hidden_in(said.err) == set()


def test_they_are_shown_as_escapes(bayplan: Bayplan, file: str) -> None:
    said = bayplan("explain", "selecting", "-f", file, "--details")
    assert HIDDEN.encode("unicode_escape").decode() in re.sub(r"\n\s*", "", said.out)


def test_programs_read_them_as_they_were(bayplan: Bayplan, file: str) -> None:
    as_json = bayplan("explain", "selecting", "-f", file, "-o", "json")
    as_yaml = bayplan("explain", "selecting", "-f", file, "-o", "yaml")
    assert EVIL in str(as_json.json()) or repr(EVIL)[1:-1] in str(as_json.json())
    assert as_json.json() == yaml.safe_load(as_yaml.out)


@pytest.mark.parametrize(
    "name", ["<script>", "--all", "$(touch evil)", "a b", "a\nb", f"a{HIDDEN}", "a/b", "a" * 254, "é"]
)
def test_such_names_are_refused(bayplan: Bayplan, tmp_path: Path, name: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(node))
    said = bayplan("place", "-f", str(path))
    assert said.code == 2
    assert "evil.json: Node " in said.err
    assert "metadata.name: " in said.err
    assert hidden_in(said.err) == set()


def test_so_are_owners_with_such_names(bayplan: Bayplan, tmp_path: Path) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "$(touch evil)", "uid": "1"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "ownerReferences": [owner]}}
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(pod))
    said = bayplan("place", "-f", str(path))
    assert said.code == 2
    assert "Pod default/web: metadata.ownerReferences[0].name: '$(touch evil)': must begin with" in said.err
