"""Formats of text that schemas may ask for, and patterns in Go's syntax of regular expressions.

Formats that nobody uses for clusters (ISBN, credit cards, colors) take any text. Patterns are carried out by the CEL
library's RE2, never by Python: a pattern of somebody else's could keep Python's for ever.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from bayplan.model.cel.library import by_library
from bayplan.model.dns_names import LABEL, SUBDOMAIN
from bayplan.model.durations import parse_duration
from bayplan.model.go_urls import is_request_uri
from bayplan.model.text_formats import is_base64, is_date, is_date_time, is_uuid

_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_ANY_HEX = "[0-9a-f]"
_HOSTNAME = re.compile(r"[^\W_]([^\W_]|-)*(\.[^\W_]([^\W_]|-)*)*")
_MAC = re.compile(r"[0-9a-fA-F]{2}(([:-])[0-9a-fA-F]{2}){5,19}|[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){2,9}")
_WORDED_DURATION = r"(?i)[0-9]+\s*(ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week)"
_SHADE = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_CREDIT_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|"
    r"3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
)
_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+|[^<>]*<[^@\s<>]+@[^@\s<>]+>")


def _is_duration(text: str) -> bool:
    return _reads(lambda: parse_duration(text)) or matches_pattern(text, _WORDED_DURATION)


def _is_ipv4(text: str) -> bool:
    return _reads(lambda: ipaddress.IPv4Address(text))


def _is_ipv6(text: str) -> bool:
    return _reads(lambda: ipaddress.IPv6Address(text))


def _is_cidr(text: str) -> bool:
    return "/" in text and _reads(lambda: ipaddress.ip_interface(text))


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    return len(text) <= 255 and all(len(label) <= 63 for label in labels) and _HOSTNAME.fullmatch(text) is not None


def _reads(read: Callable[[], object]) -> bool:
    try:
        read()
    except ValueError:
        return False
    return True


def _full(pattern: str, length_max: int = 10_000) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE if "[0-9a-f]" in pattern else 0)
    return lambda text: len(text) <= length_max and compiled.fullmatch(text) is not None


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]", "", text)
    return _CREDIT_CARD.fullmatch(digits) is not None and _luhn_sum(digits) % 10 == 0


def _luhn_sum(digits: str) -> int:
    """Each second digit counts twice, from the right; of two digits the sum."""
    return sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(reversed(digits)))


def _is_isbn10(text: str) -> bool:
    digits = _without_blanks(text)
    if re.fullmatch("[0-9]{9}[0-9X]", digits) is None:
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _without_blanks(text)
    if re.fullmatch("[0-9]{13}", digits) is None:
        return False
    return sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10 == 0


def _without_blanks(text: str) -> str:
    return re.sub(r"[\s-]+", "", text)


def _anything(_text: str) -> bool:
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "byte": is_base64,
    "cidr": _is_cidr,
    "date": is_date,
    "datetime": is_date_time,
    "duration": _is_duration,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "k8sshortname": _full(LABEL, 63),
    "k8slongname": _full(SUBDOMAIN, 253),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uri": is_request_uri,
    "uuid": is_uuid,
    "uuid3": _full(_UUID % ("3", _ANY_HEX)),
    "uuid4": _full(_UUID % ("4", "[89ab]")),
    "uuid5": _full(_UUID % ("5", "[89ab]")),
    "bsonobjectid": _full("[0-9a-fA-F]{24}"),
    "creditcard": _is_credit_card,
    "hexcolor": _full("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "password": _anything,
    "rgbcolor": _full(rf"rgb\(\s*{_SHADE}\s*,\s*{_SHADE}\s*,\s*{_SHADE}\s*\)"),
    "ssn": _full(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
}
"""By name without dashes."""


def is_of_texts(name: str) -> bool:
    """Whether a text can have the format; int32 and double are formats of numbers."""
    return name.replace("-", "") in FORMATS


def has_format(text: str, name: str) -> bool:
    return FORMATS[name.replace("-", "")](text)


def matches_pattern(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text; in time that grows with the text alone."""
    return by_library("matches", text, pattern) is True


#: What RE2 calls a fault, and Go.
_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


def pattern_fault(pattern: str) -> str:
    """What Go says of a pattern that is none; "" of one that is."""
    found = by_library("matches", "", pattern)
    if isinstance(found, bool):
        return ""
    words = str(found).partition("invalid regular expression: ")[2]
    what, _, where = words.partition(": ")
    if not where:
        return "error parsing regexp: trailing backslash at end of expression: ``"
    return f"error parsing regexp: {_GO_WORDS.get(what, what)}: `{where}`"
