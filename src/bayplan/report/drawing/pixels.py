"""Pictures of one pixel for each number, as PNG files inside a page.

One color on a transparent ground: the larger the number, the less the page's own background shines through, so that the
same picture serves a light and a dark page.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from struct import pack
from typing import Final

import numpy as np
import numpy.typing as npt

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_LEVELS: Final = 101
_FAINTEST: Final = 0.07  # how much of the color is there at zero

ABSENT: Final = 255


def picture(levels: npt.NDArray[np.int64], color: tuple[int, int, int]) -> str:
    """The address of a picture of levels from 0 to 100 in rows and columns; ABSENT is transparent."""
    height, width = levels.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each row begins with its filter, none
    rows[:, 1:] = np.where(levels < 0, ABSENT, levels)
    alphas = [round(255 * (_FAINTEST + (1 - _FAINTEST) * level / (_LEVELS - 1))) for level in range(_LEVELS)]
    chunks = (
        _chunk(b"IHDR", pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", bytes(color) * 256),
        _chunk(b"tRNS", bytes(alphas) + bytes(256 - _LEVELS)),
        _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
        _chunk(b"IEND", b""),
    )
    return f"data:image/png;base64,{b64encode(_SIGNATURE + b''.join(chunks)).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))
