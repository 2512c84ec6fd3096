"""Which names Kubernetes accepts for what: ports, keys, variables, addresses. Gives the complaints in its words.

Labels and subdomains of DNS, as most names are, are in `bayplan.model.dns_names`; label keys and values in
`bayplan.model.names`. Verdicts are cached: the same names come again and again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address, ip_network

from bayplan.model.dns_names import SUBDOMAIN, SUBDOMAIN_MAX, is_subdomain, regex_error, too_long
from bayplan.model.meta import INT32_MAX

_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"
_HEADER = "[-A-Za-z0-9]+"
_WILDCARD = rf"\*\.{SUBDOMAIN}"
_UNDERSCORED_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED = rf"{_UNDERSCORED_LABEL}(\.{_UNDERSCORED_LABEL})*"
_PORT_NAME_MAX = 15
_DIGITS_MAX = 9
_NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_LEADING_ZEROS = "must not have leading 0s"
_MAPPED = "must not be an IPv4-mapped IPv6 address"
_CASELESS_SUBDOMAIN_ERROR = regex_error(
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    SUBDOMAIN,
    "Example.com",
)
_UNDERSCORED_ERROR = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character",
    _UNDERSCORED,
    "example.com",
)
_WILDCARD_ERROR = regex_error(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD,
    "*.example.com",
)
_CONFIG_KEY_ERROR = regex_error(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_PERCENT_ERROR = regex_error(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)
_HEADER_ERROR = regex_error(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name"
)
_VARIABLE_ERROR = "a valid environment variable name must consist only of printable ASCII characters other than '='"

_is_underscored = re.compile(_UNDERSCORED).fullmatch
_is_wildcard = re.compile(_WILDCARD).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch
_is_header = re.compile(_HEADER).fullmatch
_is_port_name = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search


def caseless_subdomain_faults(text: str) -> tuple[str, ...]:
    """Of a subdomain in capitals or small letters: drivers."""
    faults = too_long(text, SUBDOMAIN_MAX)
    if not is_subdomain(text.lower()):
        faults.append(_CASELESS_SUBDOMAIN_ERROR)
    return tuple(faults)


def wildcard_faults(text: str) -> tuple[str, ...]:
    """Of a subdomain behind a star."""
    faults = too_long(text, SUBDOMAIN_MAX)
    if not _is_wildcard(text):
        faults.append(_WILDCARD_ERROR)
    return tuple(faults)


@lru_cache(maxsize=4096)
def underscored_subdomain_faults(text: str) -> tuple[str, ...]:
    """Of a subdomain that may have underscores: where names are searched."""
    faults = too_long(text, SUBDOMAIN_MAX)
    if not _is_underscored(text):
        faults.append(_UNDERSCORED_ERROR)
    return tuple(faults)


@lru_cache(maxsize=4096)
def path_segment_faults(text: str) -> tuple[str, ...]:
    """Of a name that may be anything that fits into a URL: roles and their bindings."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in text)


@lru_cache(maxsize=4096)
def config_key_faults(text: str) -> tuple[str, ...]:
    """Of a key in a ConfigMap or Secret."""
    faults = too_long(text, SUBDOMAIN_MAX)
    if not _is_config_key(text):
        faults.append(_CONFIG_KEY_ERROR)
    elif text in (".", ".."):
        faults.append(f"must not be '{text}'")
    elif text.startswith(".."):
        faults.append("must not start with '..'")
    return tuple(faults)


@lru_cache(maxsize=4096)
def variable_faults(text: str) -> tuple[str, ...]:
    """Of an environment variable."""
    if not text:
        return ("environment variable name must be non-empty",)
    is_valid = all(" " <= letter <= "~" and letter != "=" for letter in text)
    return () if is_valid else (_VARIABLE_ERROR,)


@lru_cache(maxsize=4096)
def port_name_faults(text: str) -> tuple[str, ...]:
    """Of a container's port, and of whatever refers to one."""
    faults = too_long(text, _PORT_NAME_MAX)
    if not _is_port_name(text):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(text):
        faults.append("must contain at least one letter (a-z)")
    if "--" in text:
        faults.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        faults.append("must not begin or end with a hyphen")
    return tuple(faults)


def port_number_faults(number: int) -> tuple[str, ...]:
    return range_faults(number, 1, 65_535)


def id_faults(number: int) -> tuple[str, ...]:
    """Of a user or a group."""
    return range_faults(number, 0, INT32_MAX)


def range_faults(number: int, least: int, most: int) -> tuple[str, ...]:
    return () if least <= number <= most else (f"must be between {least} and {most}, inclusive",)


def percent_faults(text: str) -> tuple[str, ...]:
    return () if _is_percent(text) else (_PERCENT_ERROR,)


def header_faults(text: str) -> tuple[str, ...]:
    return () if _is_header(text) else (_HEADER_ERROR,)


def is_address(text: str) -> bool:
    """Whether it is an IP address of either family, numbers with zeros in front included."""
    if "%" in text:
        return False
    try:
        ip_address(_without_leading_zeros(text))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def loose_address_faults(text: str) -> tuple[str, ...]:
    """Of an address in a field that may write it in more ways than one."""
    # Upstream: parseIP in apimachinery/pkg/util/validation/ip.go (v1.36), with StrictIPCIDRValidation.
    if not is_address(text):
        return (_NOT_AN_ADDRESS,)
    if _without_leading_zeros(text) != text:
        return (_LEADING_ZEROS,)
    return (_MAPPED,) if _is_mapped(text) else ()


@lru_cache(maxsize=4096)
def network_faults(text: str) -> tuple[str, ...]:
    """Of a range of addresses such as 10.0.0.0/8."""
    if not is_network(text):
        return ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)
    address, _, length = text.partition("/")
    if _without_leading_zeros(address) != address or (length.startswith("0") and length != "0"):
        return ("must not have leading 0s in IP or prefix length",)
    if _is_mapped(address):
        return ("must not have an IPv4-mapped IPv6 address",)
    masked = ip_network(text, strict=False).network_address
    return ("must not have bits set beyond the prefix length",) if masked != ip_address(address) else ()


def is_part_of(part: str, whole: str) -> bool:
    """Whether one range of addresses lies in another, and is not all of it."""
    inner, outer = (ip_network(_plain_network(text), strict=False) for text in (part, whole))
    return inner.network_address in outer and inner.prefixlen > outer.prefixlen


def _plain_network(text: str) -> str:
    address, _, length = text.partition("/")
    return f"{_without_leading_zeros(address)}/{int(length)}"


def canonical_network_faults(text: str) -> tuple[str, ...]:
    """Of a range of addresses in its one way of being written."""
    faults = network_faults(text)
    if faults or str(ip_network(text)) == text:
        return faults
    return (f'must be in canonical form ("{ip_network(text)}")',)


def interface_address_faults(text: str) -> tuple[str, ...]:
    """Of an address with the length of its network's prefix, such as 10.9.8.7/24."""
    if not is_network(text):
        return ("must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",)
    address, _, length = text.partition("/")
    parsed, bits = ip_address(_without_leading_zeros(address)), int(length)
    mapped = getattr(parsed, "ipv4_mapped", None)
    if mapped is not None:
        parsed, bits = mapped, bits - 96 if bits > 32 else bits
    canonical = f"{parsed}/{bits}"
    return () if text == canonical else (f'must be in canonical form ("{canonical}")',)


def _is_mapped(address: str) -> bool:
    return getattr(ip_address(address), "ipv4_mapped", None) is not None


@lru_cache(maxsize=4096)
def address_faults(text: str) -> tuple[str, ...]:
    """Of an IP address in its one way of being written."""
    # Upstream: IsValidIP in apimachinery/pkg/util/validation/ip.go (v1.36).
    if faults := loose_address_faults(text):
        return faults
    address = ip_address(text)
    return () if str(address) == text else (f'must be in canonical form ("{address}")',)


def _without_leading_zeros(text: str) -> str:
    """An IPv4 address as Go once read it: `010.1.1.1` as `10.1.1.1`; also at the end of an IPv6 address."""
    before, colon, last = text.rpartition(":")
    if "." not in last:
        return text
    parts = (part.lstrip("0") or "0" if part.isascii() and part.isdigit() else part for part in last.split("."))
    return f"{before}{colon}{'.'.join(parts)}"


def is_network(text: str) -> bool:
    """Whether it is a range of addresses such as 10.0.0.0/8, numbers with zeros in front included."""
    address, _, length = text.partition("/")
    if not is_address(address) or not (length.isascii() and length.isdigit()):
        return False
    return len(length) < _DIGITS_MAX and int(length) <= (128 if ":" in address else 32)
