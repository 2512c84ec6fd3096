"""Kubernetes quantities ("500m", "1.5Gi", "1e3", 2) as exact integers.

`parse_quantity` gives the value in nano units, the finest that Kubernetes keeps: finer values are rounded
away from zero, binary ones are capped at 2^63-1. `milli_value` and `whole_value` turn that into what schedulers
count in (millicores, bytes), rounded away from zero too. Formatting quantities is not done here.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from bayplan.model.meta import RawQuantity

NANO_PER_UNIT = 1_000_000_000
NANO_PER_MILLI = 1_000_000
INT64_MAX = 2**63 - 1

FORMAT_MESSAGE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMERIC_MESSAGE = "unable to parse numeric part of quantity"
SUFFIX_MESSAGE = "unable to parse quantity's suffix"

_DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_EXPONENTS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

# The number may lack digits on either side of the point, even on both: upstream reads "." and "+" as zero.
_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")

# Almost all quantities are a few digits and one of these suffixes: nothing to be rounded or capped. They are read in
# half the time that a regular expression takes.
_PLAIN_WHOLES = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_PLAIN_MILLIS = {"m": 1} | {suffix: 1_000 * factor for suffix, factor in _PLAIN_WHOLES.items()}
_PLAIN_NANOS = {suffix: NANO_PER_MILLI * factor for suffix, factor in _PLAIN_MILLIS.items()}
_PLAIN_SUFFIX_LETTERS = "mKMGi"
_PLAIN_DIGITS_MAX = 10

# Any exponent beyond this is out of every range a scheduler counts in; a bound keeps the integers small.
_EXPONENT_LIMIT = 1_000
_DIGITS_LIMIT = 4_000


@lru_cache(maxsize=2_048, typed=True)
def parse_quantity(raw: RawQuantity) -> int:
    """The exact value in nano units; ValueError with Kubernetes' own wording when malformed."""
    plain = _plain(raw, _PLAIN_NANOS)
    if plain is not None:
        return plain
    if isinstance(raw, bool):
        raise ValueError(FORMAT_MESSAGE)
    if isinstance(raw, int):
        return raw * NANO_PER_UNIT
    # JSON values lose surrounding blanks before parsing; a float shows the digits it was written with.
    text = raw.strip() if isinstance(raw, str) else repr(raw)
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        raise ValueError(FORMAT_MESSAGE)
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    if len(whole) + len(fraction) > _DIGITS_LIMIT:
        raise ValueError(NUMERIC_MESSAGE)
    if not whole and not fraction:
        return _without_digits(suffix)
    magnitude = _magnitude(int(whole + fraction), len(fraction), suffix)
    return -magnitude if sign == "-" else magnitude


def milli_quantity(raw: RawQuantity) -> int:
    """`milli_value` of a quantity as it is written."""
    plain = _plain(raw, _PLAIN_MILLIS)
    return milli_value(parse_quantity(raw)) if plain is None else plain


def whole_quantity(raw: RawQuantity) -> int:
    """`whole_value` of a quantity as it is written."""
    plain = _plain(raw, _PLAIN_WHOLES)
    return whole_value(parse_quantity(raw)) if plain is None else plain


def _plain(raw: RawQuantity, factors: Mapping[str, int]) -> int | None:
    """A few digits and one of these suffixes; None: anything else."""
    if not isinstance(raw, str):
        return None
    digits = raw.rstrip(_PLAIN_SUFFIX_LETTERS)
    factor = factors.get(raw[len(digits) :])
    if factor is None or len(digits) >= _PLAIN_DIGITS_MAX or not (digits.isascii() and digits.isdecimal()):
        return None
    return int(digits) * factor


def milli_value(nano: int) -> int:
    """In thousandths, rounded away from zero; 0 beyond int64, where upstream's conversion overflows to 0."""
    return _scaled_down(nano, NANO_PER_MILLI)


def whole_value(nano: int) -> int:
    """In whole units, rounded away from zero; 0 beyond int64, where upstream's conversion overflows to 0."""
    return _scaled_down(nano, NANO_PER_UNIT)


def _magnitude(digits: int, fraction_digits: int, suffix: str) -> int:
    binary_exponent = _BINARY_EXPONENTS.get(suffix)
    if binary_exponent is None:
        return _times_power_of_ten(digits, _decimal_exponent(suffix) - fraction_digits + 9)
    nano = _ceil_div((digits << binary_exponent) * NANO_PER_UNIT, 10**fraction_digits)
    return min(nano, INT64_MAX * NANO_PER_UNIT)


def _decimal_exponent(suffix: str) -> int:
    exponent = _DECIMAL_EXPONENTS.get(suffix)
    if exponent is not None:
        return exponent
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > _DIGITS_LIMIT or not -INT64_MAX - 1 <= int(match[1]) <= INT64_MAX:
        raise ValueError(SUFFIX_MESSAGE)
    # Upstream narrows the exponent to 32 bits without looking.
    return (int(match[1]) + 2**31) % 2**32 - 2**31


def _times_power_of_ten(digits: int, exponent: int) -> int:
    if digits == 0:
        return 0
    if exponent >= 0:
        power: int = 10 ** min(exponent, _EXPONENT_LIMIT)
        return digits * power
    return _ceil_div(digits, 10 ** min(-exponent, _DIGITS_LIMIT + 1))


def _without_digits(suffix: str) -> int:
    # Upstream: resource.ParseQuantity takes a missing number for zero on its fast path and fails on the
    # other, which it needs for exponents below nano and for the two largest binary suffixes.
    binary_exponent = _BINARY_EXPONENTS.get(suffix)
    on_fast_path = _decimal_exponent(suffix) >= -9 if binary_exponent is None else binary_exponent <= 40
    if not on_fast_path:
        raise ValueError(NUMERIC_MESSAGE)
    return 0


def _scaled_down(nano: int, divisor: int) -> int:
    scaled = -(-nano // divisor) if nano >= 0 else nano // divisor
    return scaled if -INT64_MAX - 1 <= scaled <= INT64_MAX else 0


def _ceil_div(number: int, divisor: int) -> int:
    return -(-number // divisor)
