"""Characters that cannot be seen, but change what is: escapes of terminals, marks that reverse text, widths of zero.

They come from labels, messages and files of others. Every format shows them as an escape: `\\x1b`, `\\u202e`. Lines and
tabs stay.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls
    "\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """With an escape in place of each."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def has_hidden(text: str) -> bool:
    return _HIDDEN.search(text) is not None


def escaped_in_json(text: str) -> str:
    """A JSON text that means the same: between strings, it has none of these characters."""
    return _HIDDEN.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _units(found[0])), text)


def _units(character: str) -> tuple[int, ...]:
    code = ord(character)
    return (code,) if code < 0x10000 else (0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF))
