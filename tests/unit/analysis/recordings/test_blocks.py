"""Files of blocks: what was added comes out again, up to the last whole block, wherever the file was cut."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.analysis.recordings.blocks import MAGIC, BlockFile, ReadBlocks
from bayplan.model.errors import InvalidObject

CONTENTS = [b"first", b"second " * 100, b"", b"second " * 100]


def added(path: Path, contents: Sequence[bytes]) -> list[int]:
    """The size of the file after each block, from none on."""
    file = BlockFile(path)
    sizes = [file.size]
    for content in contents:
        file.add(content)
        sizes.append(file.size)
    file.close()
    return sizes


def test_what_was_added_is_read(tmp_path: Path) -> None:
    added(tmp_path / "a", CONTENTS)
    added(tmp_path / "a", [b"third"])
    read = ReadBlocks(tmp_path / "a")
    assert list(read) == [*CONTENTS, b"third"]
    assert read.unread_bytes == 0


@given(st.data())
def test_a_file_that_was_cut_is_read_and_continued(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "a"
    sizes = added(path, CONTENTS)
    kept = data.draw(st.integers(0, sizes[-1]))
    os.truncate(path, kept)
    whole = sum(1 for size in sizes[1:] if size <= kept)
    read = ReadBlocks(path)
    assert list(read) == CONTENTS[:whole]
    if kept >= len(MAGIC):
        assert read.unread_bytes == kept - sizes[whole]
    added(path, [b"later"])
    assert list(ReadBlocks(path)) == [*CONTENTS[:whole], b"later"]


@given(place=st.integers(len(MAGIC), 200), bit=st.integers(0, 7))
def test_a_damaged_block_ends_the_file(tmp_path_factory: pytest.TempPathFactory, place: int, bit: int) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a"
    sizes = added(path, CONTENTS)
    content = bytearray(path.read_bytes())
    place = min(place, len(content) - 1)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    first_damaged = next(number for number, size in enumerate(sizes[1:]) if place < size)
    assert list(ReadBlocks(path)) == CONTENTS[:first_damaged]


def test_a_disk_that_is_full_leaves_what_was_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BlockFile(tmp_path / "a")
    file.add(b"first")

    class Full:
        """Takes three more bytes."""

        def __init__(self, raw: object) -> None:
            self._raw, self._room = raw, 3

        def write(self, data: memoryview) -> int:
            if not self._room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            room, self._room = self._room, 0
            return int(self._raw.write(data[:room]))  # type: ignore[attr-defined]

        def __getattr__(self, name: str) -> object:
            return getattr(self._raw, name)

    monkeypatch.setattr(file, "_file", Full(file._file))
    with pytest.raises(InvalidObject, match="cannot be written: No space left on device; what was recorded"):
        file.add(b"second " * 1000)
    file.close()
    read = ReadBlocks(tmp_path / "a")
    assert list(read) == [b"first"]
    assert read.unread_bytes == 0


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    file = BlockFile(tmp_path / "a")
    with pytest.raises(InvalidObject, match="is being written by another process"):
        BlockFile(tmp_path / "a")
    file.close()


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), (b"kind: Pod\n", "is not a recording"), (b"bayplan journal v1", "is not a recording")],
)
def test_what_is_no_recording(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "a"
    if content is not None:
        path.write_bytes(content)
        with pytest.raises(InvalidObject, match=message):
            BlockFile(path)
        assert path.read_bytes() == content
    with pytest.raises(InvalidObject, match=message):
        list(ReadBlocks(path))


def test_others_cannot_read_it(tmp_path: Path) -> None:
    BlockFile(tmp_path / "a").close()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
