"""Quantities in the one way an API server writes them: "0.5" is "500m", "1024Mi" is "1Gi", 1000 is "1k".

Takes a quantity as a client wrote it and gives its canonical text. Its value is read by `bayplan.model.quantity`,
which raises ValueError for what is no quantity. Comparing and adding is done there too, with nano units.
"""

from __future__ import annotations

import re
from functools import lru_cache

from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity

_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL_SUFFIXES = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_EXPONENTS = {suffix: exponent for exponent, suffix in _DECIMAL_SUFFIXES.items()}
_PARTS = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE]?)")
_FINEST, _DIGITS_MAX, _BINARY_DIGITS_MAX = -9, 18, 14
_BINARY, _DECIMAL, _EXPONENT = "binary", "decimal", "exponent"


@lru_cache(maxsize=65_536, typed=True)
def canonical(raw: RawQuantity) -> str:
    """The quantity as the server writes it. Raises ValueError."""
    nano = parse_quantity(raw)
    return str(raw) if _is_kept(str(raw)) else written(nano, like=raw)


@lru_cache(maxsize=65_536, typed=True)
def canonical_amount(raw: RawQuantity) -> str:
    """As `canonical`, for an amount of a resource: finer than a thousandth is rounded away from zero."""
    nano = parse_quantity(raw)
    if _is_kept(str(raw)) and nano % NANO_PER_MILLI == 0:
        return str(raw)
    thousandths = -(-abs(nano) // NANO_PER_MILLI)
    return written((-thousandths if nano < 0 else thousandths) * NANO_PER_MILLI, like=raw)


def _is_kept(text: str) -> bool:
    """Whether the server leaves the text alone: it is short enough for it to see that it need not be rewritten."""
    # Upstream: apimachinery/pkg/api/resource/quantity.go ParseQuantity (v1.36).
    found = _PARTS.fullmatch(text)
    if found is None:
        return False
    whole, fraction, suffix = found[1] or "0", found[2] or "", found[3]
    if suffix.endswith("i"):
        bits = 10 * _BINARY_SUFFIXES.index(suffix)
        return not fraction and len(whole) + bits * 3 // 10 <= _BINARY_DIGITS_MAX and int(whole) & 7 != 0
    exponent = int(suffix[1:]) if suffix[1:] else _EXPONENTS[suffix]
    scale, digits = exponent - len(fraction), whole + fraction
    is_whole_step = scale >= _FINEST and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return len(digits) <= _DIGITS_MAX and is_whole_step


def written(nano: int, *, like: RawQuantity = "") -> str:
    """The value in the notation of another quantity: binary suffixes, decimal ones, or an exponent."""
    # Upstream: apimachinery/pkg/api/resource/quantity.go CanonicalizeBytes (v1.36).
    form = _form(like)
    if form == _BINARY and (abs(nano) < 1024 * NANO_PER_UNIT or nano % NANO_PER_UNIT):
        form = _DECIMAL
    if form == _BINARY:
        return _in_binary(nano // NANO_PER_UNIT)
    mantissa, exponent = _in_thousands(nano)
    if form == _EXPONENT:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIXES[exponent]}"


def added(left: str, right: str) -> str:
    """The sum, in the notation of the left one unless that is zero."""
    nano = parse_quantity(left)
    return written(nano + parse_quantity(right), like=left if nano else right)


def subtracted(left: str, right: str) -> str:
    """The difference, never below zero."""
    return written(max(parse_quantity(left) - parse_quantity(right), 0), like=left)


def _form(raw: RawQuantity) -> str:
    text = str(raw).strip()
    if text.endswith("i"):
        return _BINARY
    has_exponent = text[-1:].isdigit() and ("e" in text or "E" in text)
    return _EXPONENT if has_exponent else _DECIMAL


def _in_binary(whole: int) -> str:
    power = 0
    while whole % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
        whole //= 1024
        power += 1
    return f"{whole}{_BINARY_SUFFIXES[power]}"


def _in_thousands(nano: int) -> tuple[int, int]:
    """A whole number and the largest power of a thousand that it is a multiple of."""
    if nano == 0:
        return 0, 0
    exponent = -9
    while nano % 1000 == 0 and exponent < 18:
        nano //= 1000
        exponent += 3
    return nano, exponent
