"""Running the command line in this process, on files made for the test."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.support.documents import check_document

from bayplan.analysis.cluster_objects import ClusterObjects
from bayplan.cli.main import run
from bayplan.testing.building import Builder


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def first_line(self) -> str:
        return self.out.partition("\n")[0]

    def json(self) -> Any:
        return json.loads(self.out)


class Bayplan(Protocol):
    def __call__(self, *arguments: str) -> Outcome: ...


@pytest.fixture
def signals() -> Iterator[None]:
    """Whoever handled signals before a command ran does so again: uvloop leaves its own handlers behind."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def says_version() -> None:
    """For tests about the note that no version is known, which would be in the way of all others."""


@pytest.fixture(autouse=True)
def version_is_taken_for_granted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "says_version" not in request.fixturenames:
        monkeypatch.setattr(ClusterObjects, "version_note", "")


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No command asks the cluster of the person who runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bayplan(signals: None, no_cluster: None, capsys: pytest.CaptureFixture[str]) -> Bayplan:
    """Runs a command; gives its exit code and what it printed where. Every JSON document follows its schema."""

    def call(*arguments: str) -> Outcome:
        code = run(arguments)
        said = capsys.readouterr()
        if said.out.startswith('{\n  "format": '):
            check_document(json.loads(said.out))
        return Outcome(code, said.out, said.err)

    return call


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., str]:
    """A file that holds the objects."""

    def write(*things: Builder[Any], name: str = "cluster.json") -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [thing.dict() for thing in things]}))
        return str(path)

    return write
