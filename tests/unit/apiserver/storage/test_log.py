"""The last changes, for those who resume."""

from __future__ import annotations

import pytest

from bayplan.apiserver.storage.entries import Entry
from bayplan.apiserver.storage.log import DocumentChange, DocumentLog
from bayplan.store.errors import Gone


def _change(version: int, text: str = "") -> DocumentChange:
    document = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "text": text}
    return DocumentChange("ADDED", "pods", None, Entry("default", "p", document, version))


def _filled(count: int, capacity: int) -> DocumentLog:
    log = DocumentLog(capacity)
    for version in range(1, count + 1):
        log.append(_change(version))
    return log


@pytest.mark.parametrize(("since", "versions"), [(0, [1, 2, 3]), (2, [3]), (3, [])])
def test_what_came_after_a_version(since: int, versions: list[int]) -> None:
    assert [change.version for change in _filled(3, 10).since(since)] == versions


def test_the_log_keeps_as_many_as_it_may() -> None:
    for count in range(1, 20):
        log = _filled(count, 8)
        assert len(log.since(log.expired)) == min(count, 8)


def test_large_objects_leave_room_for_fewer() -> None:
    log = DocumentLog(capacity=100, bytes_max=5_000)
    for version in range(1, 51):
        log.append(_change(version, "x" * 300))
    sizes = [len(change.new.body) for change in log.since(log.expired)]
    assert 5_000 - sizes[0] < sum(sizes) <= 5_000
    assert log.since(log.expired)[-1].version == 50


def test_the_last_change_stays_however_large_it_is() -> None:
    log = DocumentLog(capacity=100, bytes_max=1_000)
    for version in range(1, 4):
        log.append(_change(version, "x" * 2_000))
    assert [change.version for change in log.since(log.expired)] == [3]
    log.append(_change(4))
    assert [change.version for change in log.since(log.expired)] == [4]


def test_one_may_go_on_from_the_last_version_that_was_lost_but_not_from_before() -> None:
    log = _filled(20, 8)
    assert log.since(log.expired)[0].version == log.expired + 1
    with pytest.raises(Gone):
        log.since(log.expired - 1)


def test_a_line_of_a_watch_is_encoded_once_for_all_who_watch() -> None:
    change, made = _change(1), []

    def render(entry: Entry) -> bytes:
        made.append(entry)
        return b"{}"

    lines = [change.line("ADDED", "v1", render) for _ in range(20)]
    assert set(lines) == {b'{"type":"ADDED","object":{}}\n'}
    assert len(made) == 1
    change.drop_lines()
    assert change.line("ADDED", "v1", render) == lines[0]
    assert len(made) == 2
