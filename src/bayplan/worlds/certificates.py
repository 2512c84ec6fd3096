"""A certificate of the cluster's own.

Takes the names under which the server is reached; gives a key and a certificate that vouches for itself, as PEM.
Clients learn it from the kubeconfig. A cluster that keeps its state keeps its certificate, too, as its clients do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALID = timedelta(days=365)
_RENEWED_BEFORE = timedelta(days=30)
#: Clocks differ a little between machines.
_SINCE = timedelta(hours=1)


class Certificate(NamedTuple):
    """As PEM."""

    certificate: bytes
    key: bytes


def self_signed(names: Iterable[str], now: datetime | None = None) -> Certificate:
    """A certificate for these host names and addresses."""
    at = now or datetime.now(UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bayplan")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - _SINCE)
        .not_valid_after(at + _VALID)
        .add_extension(x509.SubjectAlternativeName([_named(name) for name in dict.fromkeys(names)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    certificate = builder.sign(key, hashes.SHA256())
    return Certificate(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def still_serves(certificate: bytes, names: Iterable[str], now: datetime | None = None) -> bool:
    """Whether a certificate from before is good for these host names and addresses for some time to come."""
    try:
        known = x509.load_pem_x509_certificate(certificate)
        alternatives = known.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    until = known.not_valid_after_utc - (now or datetime.now(UTC))
    return until > _RENEWED_BEFORE and {_named(name) for name in names} <= set(alternatives)


def _named(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
