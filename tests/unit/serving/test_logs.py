"""The log's lines."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
import structlog

from bayplan.serving.logs import LogFormat, configure

NOW = 1_794_840_628_123_456_789
PREFIX = f"{time.strftime('%m%d %H:%M:%S', time.localtime(NOW // 10**9))}.123456 {os.getpid():7}"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def lines_of(log_format: LogFormat, verbosity: int, *events: tuple[str, str, dict[str, Any]]) -> list[str]:
    stream = StringIO()
    configure(log_format, verbosity, stream, lambda: NOW)
    log = structlog.get_logger("leaderelection")
    for method, text, fields in events:
        getattr(log, method)(text, **fields)
    return stream.getvalue().splitlines()


def test_a_line_of_text_reads_as_kube_schedulers() -> None:
    (line,) = lines_of(LogFormat.TEXT, 0, ("info", "Successfully acquired lease", {"lock": "kube-system/x", "n": 3}))
    assert line == f'I{PREFIX} leaderelection] "Successfully acquired lease" lock="kube-system/x" n=3'


def test_an_error_says_first_what_went_wrong() -> None:
    (line,) = lines_of(LogFormat.TEXT, 0, ("error", "Failed", {"pod": "a/b", "err": 'it said "no"\ntwice'}))
    assert line == f'E{PREFIX} leaderelection] "Failed" err="it said \\"no\\"\\ntwice" pod="a/b"'


def test_a_line_of_json_has_the_fields_of_kubernetes_json_logs() -> None:
    info, error = lines_of(LogFormat.JSON, 4, ("info", "Hello", {"v": 4, "pod": "a/b"}), ("error", "Oh", {"err": "no"}))
    milliseconds = 1_794_840_628_123.456
    assert json.loads(info) == {
        "ts": milliseconds,
        "caller": "leaderelection",
        "msg": "Hello",
        "v": 4,
        "pod": "a/b",
    }
    assert json.loads(error) == {"ts": milliseconds, "caller": "leaderelection", "msg": "Oh", "err": "no"}


@pytest.mark.parametrize(("verbosity", "seen"), [(0, ["zero"]), (2, ["zero", "two"]), (10, ["zero", "two", "five"])])
def test_events_above_the_level_are_left_out(verbosity: int, seen: list[str]) -> None:
    events = [("info", text, {"v": level}) for text, level in (("zero", 0), ("two", 2), ("five", 5))]
    lines = lines_of(LogFormat.JSON, verbosity, *events)
    assert [json.loads(line)["msg"] for line in lines] == seen


def test_errors_have_no_level() -> None:
    assert len(lines_of(LogFormat.TEXT, 0, ("error", "always", {"v": 9}))) == 1


def test_nothing_ends_because_nobody_reads_the_log_any_more() -> None:
    stream = StringIO()
    configure(LogFormat.TEXT, 0, stream, lambda: NOW)
    stream.close()
    structlog.get_logger("scheduler").error("Nobody hears this")


def test_lines_go_to_standard_error_as_it_is_at_the_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        changed.setattr("sys.stderr", StringIO())
        configure(LogFormat.TEXT, 0)
    structlog.get_logger("scheduler").info("Hello")
    assert capsys.readouterr().err.endswith('scheduler] "Hello"\n')
