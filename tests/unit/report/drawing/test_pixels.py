"""A picture has the levels it was given, and a browser's format."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode

import numpy as np

from bayplan.report.drawing.pixels import ABSENT, picture


def chunks(png: bytes) -> dict[bytes, bytes]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    found, place = {}, 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", png[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + data)
        found[kind] = data
        place += 12 + length
    return found


def test_levels_are_pixels_and_no_node_is_transparent() -> None:
    address = picture(np.array([[0, 100, -1], [50, 1, 2]]), (1, 2, 3))
    found = chunks(b64decode(address.removeprefix("data:image/png;base64,")))
    assert struct.unpack(">II", found[b"IHDR"][:8]) == (3, 2)
    assert zlib.decompress(found[b"IDAT"]) == bytes([0, 0, 100, ABSENT, 0, 50, 1, 2])
    assert found[b"PLTE"][:3] == bytes([1, 2, 3])
    opacity = found[b"tRNS"]
    assert list(opacity[:101]) == sorted(opacity[:101])
    assert (opacity[100], opacity[ABSENT]) == (255, 0)
