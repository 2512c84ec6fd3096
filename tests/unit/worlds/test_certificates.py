"""A certificate that clients accept for the names it was made for."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509

from bayplan.worlds.certificates import self_signed, still_serves

NOW = datetime(2026, 1, 1, tzinfo=UTC)


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


def test_a_certificate_serves_until_it_is_old_or_lacks_a_name() -> None:
    made = self_signed(["localhost", "127.0.0.1"], NOW).certificate
    assert still_serves(made, ["127.0.0.1"], NOW + timedelta(days=330))
    assert not still_serves(made, ["127.0.0.1"], NOW + timedelta(days=340))
    assert not still_serves(made, ["localhost", "elsewhere"], NOW)
    assert not still_serves(b"nonsense", ["localhost"], NOW)
