"""A certificate that clients accept for the names it was made for."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime

from cryptography import x509

from bayplan.worlds.certificates import self_signed


def test_names_and_addresses() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made = x509.load_pem_x509_certificate(self_signed(["localhost", "127.0.0.1", "::1", "localhost"], now).certificate)
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]
    assert made.not_valid_before_utc < now < made.not_valid_after_utc


def test_each_has_a_key_of_its_own() -> None:
    first, second = self_signed(["a"]), self_signed(["a"])
    assert first.key != second.key
    assert first.key.startswith(b"-----BEGIN PRIVATE KEY-----")
