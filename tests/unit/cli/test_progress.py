"""The line of progress: what it says on a terminal, that it waits, and that it keeps silent elsewhere."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

import pytest
from tests.support.changed_clusters import owned

from bayplan.analysis.answers.asking import Tell
from bayplan.cli.progress import progress_line
from bayplan.testing import builders as make

from .conftest import Bayplan

FileOf = Callable[..., str]


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Impatient:
    """A timer that does not wait."""

    daemon = False

    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        self.start = function

    def cancel(self) -> None:
        pass

    join = cancel


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return FakeTerminal()


@pytest.mark.parametrize(
    ("done", "total", "shown"), [(1_200, 5_000, "nodes tried: 1,200 of 5,000"), (0, 0, "nodes tried\n")]
)
def test_a_terminal_shows_what_is_done_and_how_far_it_is(
    terminal: FakeTerminal, monkeypatch: pytest.MonkeyPatch, done: int, total: int, shown: str
) -> None:
    monkeypatch.setattr("bayplan.cli.progress.Timer", Impatient)
    with redirect_stderr(terminal), progress_line() as tell:
        assert tell is not None
        tell("nodes tried", done, total)
    assert shown in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased


def test_nothing_flickers_before_a_quick_answer(terminal: FakeTerminal) -> None:
    with redirect_stderr(terminal), progress_line() as tell:
        assert tell is not None
        tell("looking for changes", 0, 0)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_elsewhere() -> None:
    stream = io.StringIO()
    with redirect_stderr(stream), progress_line() as tell:
        assert tell is None
    assert stream.getvalue() == ""


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What commands say while they work."""
    said: list[str] = []

    @contextmanager
    def listening() -> Iterator[Tell]:
        yield lambda what, done, total: said.append(what)

    for command in ("audit", "consolidate", "defrag", "fix", "plan"):
        monkeypatch.setattr(f"bayplan.cli.{command}.progress_line", listening)
    return said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("audit",), {"node failures tried"}),
        (("consolidate",), {"choosing nodes", "nodes being drained: 1"}),
        (("defrag", "--for", "big"), {"moves: nodes tried"}),
        (("fix", "big"), {"looking for changes", "changes played to their end"}),
        (("plan",), {"looking for the cheapest nodes", "new nodes being tried: 1"}),
    ],
)
def test_long_questions_say_what_they_do(
    bayplan: Bayplan, file_of: FileOf, tmp_path: Path, heard: list[str], arguments: tuple[str, ...], told: set[str]
) -> None:
    file = file_of(
        *(make.node(name).capacity(cpu="4") for name in "ab"),
        owned("p").cpu("2").running("a"),
        owned("q").cpu("2").running("b"),
        *([] if arguments == ("consolidate",) else [make.pod("big").cpu("4")]),
    )
    if arguments == ("plan",):
        catalog = tmp_path / "catalog.json"
        catalog.write_text('[{"name": "large", "capacity": {"cpu": "8"}, "price": 1}]')
        arguments = ("plan", "--nodes", str(catalog))
    bayplan(*arguments, "-f", file)
    assert told <= set(heard)
