"""Addresses as URLs give them."""

from __future__ import annotations

import pytest

from bayplan.client.connection import address_of


@pytest.mark.parametrize(
    ("url", "authority", "shown"),
    [
        ("https://a.example.com", "a.example.com", "https://a.example.com"),
        ("https://a.example.com:443/x/", "a.example.com", "https://a.example.com/x"),
        ("http://a.example.com:443", "a.example.com:443", "http://a.example.com:443"),
        ("http://[::1]:80", "[::1]", "http://[::1]"),
        ("http://[::1]:8080", "[::1]:8080", "http://[::1]:8080"),
        ("http://me:secret@a:1/token=secret", "a:1", "http://me:***@a:1/token=***"),
        ("http://me@a:1", "a:1", "http://me@a:1"),
    ],
)
def test_how_an_address_is_shown(url: str, authority: str, shown: str) -> None:
    address = address_of(url)
    assert (address.authority, address.shown) == (authority, shown)
