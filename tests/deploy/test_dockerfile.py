"""The Dockerfile: what it copies is there, and what it starts is ours, as nobody in particular."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
IGNORED = ROOT / "deploy" / "Dockerfile.dockerignore"


def instructions(name: str) -> list[list[str]]:
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    return [line.split()[1:] for line in lines if line.startswith(f"{name} ")]


def test_what_is_copied_is_there_and_is_all_that_is_sent() -> None:
    copied = {source for words in instructions("COPY") if not words[0].startswith("--") for source in words[:-1]}
    assert {source for source in copied if not (ROOT / source).exists()} == set()
    sent = {line[1:] for line in IGNORED.read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    assert sent == copied


def test_what_the_package_needs_to_be_built_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    copied = {source for words in instructions("COPY") for source in words}
    assert {project["readme"], "pyproject.toml", "src"} <= copied


def test_the_program_of_the_package_is_started_by_a_user_without_rights() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert instructions("ENTRYPOINT") == [[f'["{next(iter(project["scripts"]))}"]']]
    assert instructions("CMD") == [['["run"]']]
    (user,) = instructions("USER")
    assert all(int(number) > 0 for number in user[0].split(":"))
