"""Addresses as their URLs give them, and as messages may show them."""

from __future__ import annotations

import pytest

from bayplan.client.connection import address_of


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
        ("https://api.example:443/prefix", "https://api.example/prefix"),
        ("https://[::1]:6443", "https://[::1]:6443"),
        ("http://me:secret@api.example:8080", "http://me:***@api.example:8080"),
        ("http://me:secret@api.example/token=secret", "http://me:***@api.example/token=***"),
    ],
)
def test_no_message_shows_a_password(url: str, shown: str) -> None:
    assert address_of(url).shown == shown
