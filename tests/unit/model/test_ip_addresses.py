"""Addresses and networks; the words are those of Go's net/netip (1.26)."""

from __future__ import annotations

import pytest

from bayplan.model.ip_addresses import AddressError, parse_address, parse_network


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("::", "::"),
        ("2001:DB8::0:0:ABCD", "2001:db8::abcd"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ],
)
def test_an_address_has_one_form(text: str, shown: str) -> None:
    assert str(parse_address(text)) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.3.x", 'unexpected character (at "x")'),
        ("fe80::1%", "zone must be a non-empty string"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        (":::1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1:2:3:4:5:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        (
            "::2:3:4:5:6:7:8:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
        ("1:2g", 'unexpected character, want colon (at "g")'),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2", "address string too short"),
        ("1:2:3:4::5:6:7:8", "the :: must expand to at least one field of zeros"),
    ],
)
def test_what_is_no_address(text: str, why: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {why}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10.0.0.0", "no '/'"),
        ("x/8", 'ParseAddr("x"): unable to parse IP'),
        ("fe80::1%a/64", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/-1", 'bad bits after slash: "-1"'),
        ("10.0.0.0/9223372036854775808", 'bad bits after slash: "9223372036854775808"'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::/129", "prefix length out of range"),
    ],
)
def test_what_is_no_network(text: str, why: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_network(text)
    assert str(caught.value) == f'netip.ParsePrefix("{text}"): {why}'


@pytest.mark.parametrize(("text", "bits"), [("10.1.2.3/0", 0), ("10.1.2.3/32", 32), ("::1/128", 128)])
def test_a_network_keeps_its_address(text: str, bits: int) -> None:
    address, found = parse_network(text)
    assert (f"{address}/{found}", found) == (text, bits)
