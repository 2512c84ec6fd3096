"""Which texts are labels and subdomains of DNS, as names of objects must be; gives the complaints in Kubernetes' words.

Label keys and values are in `names`, whose limits are counted in bytes where these say characters. Verdicts are cached:
the same names come again and again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = rf"{LABEL}(\.{LABEL})*"
SUBDOMAIN_MAX: Final = 253
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_MAX = 63


def regex_error(text: str, pattern: str, *examples: str) -> str:
    """The complaint about a text that a pattern does not match."""
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {listed}regex used for validation is '{pattern}')"


LABEL_ERROR: Final = regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_ERROR = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    SUBDOMAIN,
    "example.com",
)
_DNS1035_ERROR = regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035,
    "my-name",
    "abc-123",
)
_is_label = re.compile(LABEL).fullmatch
is_subdomain = re.compile(SUBDOMAIN).fullmatch
_is_dns1035 = re.compile(_DNS1035).fullmatch


def too_long(text: str, length_max: int) -> list[str]:
    return [f"must be no more than {length_max} characters"] if len(text.encode()) > length_max else []


@lru_cache(maxsize=4096)
def label_faults(text: str) -> tuple[str, ...]:
    """Of an RFC 1123 label: names of containers, volumes, namespaces."""
    faults = too_long(text, _LABEL_MAX)
    if not _is_label(text):
        faults.append("must not contain dots" if is_subdomain(text) else LABEL_ERROR)
    return tuple(faults)


@lru_cache(maxsize=4096)
def subdomain_faults(text: str) -> tuple[str, ...]:
    """Of an RFC 1123 subdomain: names of most objects."""
    faults = too_long(text, SUBDOMAIN_MAX)
    if not is_subdomain(text):
        faults.append(_SUBDOMAIN_ERROR)
    return tuple(faults)


@lru_cache(maxsize=4096)
def dns1035_faults(text: str) -> tuple[str, ...]:
    """Of a label that starts with a letter: versions and names of custom resources."""
    faults = too_long(text, _LABEL_MAX)
    if not _is_dns1035(text):
        faults.append(_DNS1035_ERROR)
    return tuple(faults)
