"""Names that are addresses: written in one way only; and ranges of addresses."""

from __future__ import annotations

import pytest

from bayplan.apiserver.admitting.validation.names import address_faults, is_network

_INVALID = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("10.9.8.7", ""),
        ("fe80::1", ""),
        ("::", ""),
        ("fe80::0001", 'must be in canonical form ("fe80::1")'),
        ("FE80::1", 'must be in canonical form ("fe80::1")'),
        ("2001:db8:0:0:1:0:0:1", 'must be in canonical form ("2001:db8::1:0:0:1")'),
        ("010.1.1.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("fe80::1%eth0", _INVALID),
        ("10.9.8", _INVALID),
        ("example.com", _INVALID),
    ],
)
def test_addresses_as_names(name: str, fault: str) -> None:
    assert address_faults(name) == ((fault,) if fault else ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.0/8", True),
        ("10.0.0.1/8", True),
        ("fd00::1/64", True),
        ("10.0.0.0", False),
        ("10.0.0.0/33", False),
        ("x/8", False),
    ],
)
def test_ranges_may_be_named_by_any_of_their_addresses(text: str, *, expected: bool) -> None:
    assert is_network(text) is expected
