"""The progress bar of an audit: what it says on a terminal, and that it keeps silent elsewhere."""

from __future__ import annotations

import io

import pytest

from bayplan.cli.audit_progress import failures_bar


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_many_nodes_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with failures_bar() as tell:
        assert tell is not None
        tell(1_200, 5_000)
    assert "node failures tried: 1,200 of 5,000" in terminal.getvalue()


def test_nothing_is_shown_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with failures_bar() as tell:
        assert tell is None
    assert stream.getvalue() == ""
