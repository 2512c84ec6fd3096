"""Texts that are matched against a pattern in a process of their own, as nobody else could do anything meanwhile.

Takes a text and a pattern, and gives what `model.cel.library` gives for them. The library keeps Python's lock while it
matches, and some patterns take it minutes for a text of a megabyte. The process is started when it is first needed.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import IO, Final

import msgspec

from bayplan.model.cel.library import by_library
from bayplan.model.cel.values import CelError

_LENGTH: Final = 8
"""Bytes of the number before each message."""


class _Asked(msgspec.Struct, array_like=True):
    text: str
    pattern: str


class _Answered(msgspec.Struct, array_like=True):
    result: bool | str = ""
    fault: str = ""


class LongMatches:
    """The process, and whose turn it is to ask it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def __call__(self, text: str, pattern: str) -> bool | str:
        """Whether the pattern is found in the text, or what the library says of it. Takes as long as it takes."""
        with self._turn:
            try:
                answered = self._ask(_Asked(text, pattern))
            except (EOFError, OSError):  # somebody has ended the process; the next one asks a new one
                self.close()
                raise CelError("the text could not be matched") from None
        if answered.fault:
            raise CelError(answered.fault)
        return answered.result

    def _ask(self, asked: _Asked) -> _Answered:
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        sent, received = self._process.stdin, self._process.stdout
        assert sent is not None
        assert received is not None
        _write(sent, msgspec.msgpack.encode(asked))
        return msgspec.msgpack.decode(_read(received), type=_Answered)

    def close(self) -> None:
        """Ends the process; whoever still waits for it gets an error."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _write(to: IO[bytes], message: bytes) -> None:
    to.write(len(message).to_bytes(_LENGTH, "big") + message)
    to.flush()


def _read(source: IO[bytes]) -> bytes:
    """The next message; raises EOFError if there is none any more."""
    length = source.read(_LENGTH)
    if len(length) < _LENGTH:
        raise EOFError
    return source.read(int.from_bytes(length, "big"))


def _answer(asked: _Asked) -> _Answered:
    try:
        return _Answered(by_library("matches", asked.text, asked.pattern))
    except CelError as error:
        return _Answered(fault=str(error))


def main() -> None:
    """Answers until nobody asks any more."""
    while True:
        try:
            asked = msgspec.msgpack.decode(_read(sys.stdin.buffer), type=_Asked)
        except EOFError:
            return
        _write(sys.stdout.buffer, msgspec.msgpack.encode(_answer(asked)))


if __name__ == "__main__":
    main()
