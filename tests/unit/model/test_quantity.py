"""Quantities: the forms Kubernetes accepts, their exact values, and the words it refuses others with."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import (
    FORMAT_MESSAGE,
    INT64_MAX,
    NANO_PER_UNIT,
    NUMERIC_MESSAGE,
    SUFFIX_MESSAGE,
    milli_quantity,
    milli_value,
    parse_quantity,
    whole_quantity,
    whole_value,
)

G = NANO_PER_UNIT


@pytest.mark.parametrize(
    ("raw", "nano"),
    [
        ("0", 0),
        ("1", G),
        ("100m", G // 10),
        ("1u", 1_000),
        ("1n", 1),
        ("1k", 10**3 * G),
        ("1M", 10**6 * G),
        ("1G", 10**9 * G),
        ("1T", 10**12 * G),
        ("1P", 10**15 * G),
        ("1E", 10**18 * G),
        ("1Ki", 2**10 * G),
        ("1Mi", 2**20 * G),
        ("1Gi", 2**30 * G),
        ("1Ti", 2**40 * G),
        ("1Pi", 2**50 * G),
        ("1Ei", 2**60 * G),
        ("1.5Gi", 3 * 2**29 * G),
        ("0.1Ki", 102_400_000_000),
        ("1e3", 1_000 * G),
        ("1E3", 1_000 * G),
        ("1e+3", 1_000 * G),
        ("1e-3", G // 1_000),
        ("12.34e2", 1_234 * G),
        ("+1", G),
        ("-1", -G),
        ("-100m", -G // 10),
        (".5", G // 2),
        ("5.", 5 * G),
        ("5.G", 5 * 10**9 * G),
        ("007", 7 * G),
        ("00", 0),
        ("-0", 0),
        (" 2Gi\n", 2**31 * G),
        (2, 2 * G),
        (-3, -3 * G),
        (0.5, G // 2),
        (0.1, G // 10),
        (1e22, 10**22 * G),
        ("9223372036854775807", INT64_MAX * G),
        ("18446744073709551616", 2**64 * G),
    ],
)
def test_value(raw: RawQuantity, nano: int) -> None:
    """Every accepted form has one exact value."""
    assert parse_quantity(raw) == nano
    assert milli_quantity(raw) == milli_value(nano)
    assert whole_quantity(raw) == whole_value(nano)


@pytest.mark.parametrize(
    ("raw", "nano"),
    [
        ("0.1n", 1),
        ("0.9n", 1),
        ("1.1n", 2),
        ("-0.1n", -1),
        ("-1.1n", -2),
        ("1e-10", 1),
        ("1e-2000000000", 1),
        ("0e-2000000000", 0),
        ("0.0000000001Ki", 103),
    ],
)
def test_finer_than_nano(raw: str, nano: int) -> None:
    """What is finer than a billionth is rounded away from zero, so a small request never becomes none."""
    assert parse_quantity(raw) == nano


@pytest.mark.parametrize(
    ("raw", "whole"),
    [("8Ei", INT64_MAX), ("100Ei", INT64_MAX), ("-8Ei", -INT64_MAX), ("9.9Ei", INT64_MAX), ("7Ei", 7 * 2**60)],
)
def test_binary_cap(raw: str, whole: int) -> None:
    """Binary quantities are capped at the largest 64-bit integer; decimal ones are not."""
    assert parse_quantity(raw) == whole * G


@pytest.mark.parametrize("raw", ["+", "-", ".", "Mi", "m", "k", "Ti"])
def test_missing_number(raw: str) -> None:
    """Without any digit the value is zero, a quirk of the original."""
    assert parse_quantity(raw) == 0


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", FORMAT_MESSAGE),
        ("  ", FORMAT_MESSAGE),
        ("aoeu", FORMAT_MESSAGE),
        ("1.1.M", FORMAT_MESSAGE),
        ("1+1.0M", FORMAT_MESSAGE),
        ("1 Gi", FORMAT_MESSAGE),
        ("1GB", FORMAT_MESSAGE),
        ("1_000", FORMAT_MESSAGE),
        ("٣", FORMAT_MESSAGE),
        ("1,5", FORMAT_MESSAGE),
        ("--1", SUFFIX_MESSAGE),
        ("0x10", FORMAT_MESSAGE),
        ("0.1mi", SUFFIX_MESSAGE),
        ("1i", SUFFIX_MESSAGE),
        (".5i", SUFFIX_MESSAGE),
        ("1K", SUFFIX_MESSAGE),
        ("1ki", SUFFIX_MESSAGE),
        ("1e", SUFFIX_MESSAGE),
        ("-3.01e-", SUFFIX_MESSAGE),
        ("1-5", SUFFIX_MESSAGE),
        ("1e99999999999999999999", SUFFIX_MESSAGE),
        ("Ei", NUMERIC_MESSAGE),
        ("Pi", NUMERIC_MESSAGE),
        ("e-10", NUMERIC_MESSAGE),
        (float("inf"), FORMAT_MESSAGE),
        (float("nan"), FORMAT_MESSAGE),
        (True, FORMAT_MESSAGE),
        ("1" * 5_000, NUMERIC_MESSAGE),
    ],
)
def test_refused(raw: RawQuantity, message: str) -> None:
    """What Kubernetes refuses is refused in its words."""
    with pytest.raises(ValueError, match="quantit") as caught:
        parse_quantity(raw)
    assert str(caught.value) == message


def test_huge_exponents_cost_nothing() -> None:
    """An exponent that no integer could hold is bounded, and wraps at 32 bits as in the original."""
    assert parse_quantity("1e2000000000").bit_length() < 10_000
    assert parse_quantity("7e4294967296") == 7 * G


@pytest.mark.parametrize(
    ("nano", "milli", "whole"),
    [
        (0, 0, 0),
        (1, 1, 1),
        (1_000_000, 1, 1),
        (1_000_001, 2, 1),
        (G, 1_000, 1),
        (G + 1, 1_001, 2),
        (-1, -1, -1),
        (-G - 1, -1_001, -2),
        (INT64_MAX * G, 0, INT64_MAX),
        (INT64_MAX * NANO_PER_UNIT // 1_000, INT64_MAX, 9_223_372_036_854_776),
        (2**63 * G, 0, 0),
    ],
)
def test_scaled_values(nano: int, milli: int, whole: int) -> None:
    """Thousandths and whole units are rounded away from zero, and overflow to zero as upstream's do."""
    assert milli_value(nano) == milli
    assert whole_value(nano) == whole


SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50),
    "Ei": Fraction(2**60), "e5": Fraction(10**5), "E-7": Fraction(1, 10**7), "e+12": Fraction(10**12),
}  # fmt: skip


@given(
    sign=st.sampled_from(["", "+", "-"]),
    digits=st.text("0123456789", min_size=1, max_size=25),
    fraction=st.none() | st.text("0123456789", max_size=25),
    suffix=st.sampled_from(sorted(SUFFIXES)),
)
def test_against_fractions(sign: str, digits: str, fraction: str | None, suffix: str) -> None:
    """The value is that of exact rational arithmetic, rounded away from zero to a billionth, then capped."""
    text = sign + digits + (f".{fraction}" if fraction is not None else "") + suffix
    exact = (int(digits) + Fraction(int(fraction or 0), 10 ** len(fraction or ""))) * SUFFIXES[suffix]
    nano = math.ceil(exact * G)
    if suffix.endswith("i"):
        nano = min(nano, INT64_MAX * G)
    signed = -nano if sign == "-" else nano
    assert parse_quantity(text) == signed
    assert milli_quantity(text) == milli_value(signed)
    assert whole_quantity(text) == whole_value(signed)


@given(st.text(max_size=12) | st.text("0123456789.+-eEinumkKMGTP", max_size=10))
def test_any_text(text: str) -> None:
    """Any text is either a value or a ValueError in known words."""
    try:
        assert isinstance(parse_quantity(text), int)
    except ValueError as error:
        assert str(error) in (FORMAT_MESSAGE, NUMERIC_MESSAGE, SUFFIX_MESSAGE)  # noqa: PT017 - either may happen
