"""A file of blocks, to which is only added: bytes in, the same bytes out, up to the last whole block.

Each block has its length, a checksum, and content that is compressed together with that of the blocks before it, as
the events of a cluster repeat each other. A file that was cut off anywhere is read up to there, and writing goes on
there. What the bytes mean is not known here.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final, NamedTuple

from bayplan.model.errors import Fault, InvalidObject

MAGIC: Final = b"bayplan recording v1\n"
_HEAD: Final = Struct(">IIB")  # length, checksum, whether compression starts anew
_LENGTH_MAX: Final = 1 << 30
_LEVEL: Final = 6
_FOR_THE_USER_ONLY: Final = 0o600


class _Block(NamedTuple):
    packed: bytes
    is_fresh: bool


class BlockFile:
    """Adds blocks. What is in a file already stays, but for a block that is not whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._packer = zlib.compressobj(_LEVEL)
        self._is_fresh = True
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, _FOR_THE_USER_ONLY), "r+b", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.size = self._whole_bytes()
            self._file.truncate(self.size)
            self._file.seek(self.size)
            if not self.size:
                self._write(MAGIC)
        except BaseException as error:
            self._file.close()
            if isinstance(error, BlockingIOError):
                raise _wrong(path, "is being written by another process") from error
            raise

    def _whole_bytes(self) -> int:
        if not os.fstat(self._file.fileno()).st_size:
            return 0
        _check_magic(self._path, self._file)
        for _ in _blocks(self._file):
            pass
        return self._file.tell()

    def add(self, content: bytes) -> None:
        """Raises InvalidObject if there is no room; the file then ends with the block before."""
        packed = self._packer.compress(content) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        self._write(_HEAD.pack(len(packed), zlib.crc32(packed, self._is_fresh), self._is_fresh) + packed)
        self._is_fresh = False

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._file.truncate(self.size)
            message = f"cannot be written: {error.strerror}; what was recorded until then is in it"
            raise _wrong(self._path, message) from error
        self.size += len(data)

    def close(self) -> None:
        self._file.close()


class ReadBlocks:
    """The contents of a file's blocks, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.unread_bytes = 0
        """What follows the last whole block; known when all were read."""

    def __iter__(self) -> Iterator[bytes]:
        try:
            with self._path.open("rb") as file:
                yield from self._contents(file)
        except OSError as error:
            message = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
            raise _wrong(self._path, message) from error

    def _contents(self, file: BinaryIO) -> Iterator[bytes]:
        _check_magic(self._path, file)
        unpacker = zlib.decompressobj()
        for block in _blocks(file):
            if block.is_fresh:
                unpacker = zlib.decompressobj()
            yield unpacker.decompress(block.packed)
        self.unread_bytes = os.fstat(file.fileno()).st_size - file.tell()


def _check_magic(path: Path, file: BinaryIO) -> None:
    """Leaves the file behind its first line; raises InvalidObject if it is no recording."""
    found = file.read(len(MAGIC))
    if not MAGIC.startswith(found):  # which was cut off there
        raise _wrong(path, f"is not a recording: it does not begin with {MAGIC.decode().strip()!r}")
    if found != MAGIC:
        file.seek(0)


def _blocks(file: BinaryIO) -> Iterator[_Block]:
    """Leaves the file behind the last whole block."""
    while True:
        place = file.tell()
        head = file.read(_HEAD.size)
        if len(head) == _HEAD.size:
            length, checksum, is_fresh = _HEAD.unpack(head)
            packed = file.read(length) if length <= _LENGTH_MAX else b""
            if len(packed) == length and zlib.crc32(packed, is_fresh) == checksum:
                yield _Block(packed, bool(is_fresh))
                continue
        file.seek(place)
        return


def _wrong(path: Path, message: str) -> InvalidObject:
    return InvalidObject([Fault(str(path), "", "", message)])
