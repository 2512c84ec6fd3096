"""Who asks, as certificates and headers say it: users with certificates of their own, and proxies that speak for users.

Takes the client certificate of a connection, which TLS has verified, and the request's headers; gives a user. A proxy
(the API server's aggregator, say) is known by the authority that signed its certificate, and perhaps by its name, and
is believed what its headers say. Authorities that signed through others, which nobody here knows, do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from bayplan.apiserver.registry.users import AUTHENTICATED
from bayplan.serving.encryption import Encryption

#: Names in lower case, with values; a name may stand there several times.
Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class User:
    """Whoever asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True, slots=True)
class ProxyHeaders:
    """In which headers a proxy names a user, and which proxies may; no names: all of the authority's."""

    users: tuple[str, ...] = ("x-remote-user",)
    groups: tuple[str, ...] = ("x-remote-group",)
    uids: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)
    allowed_names: tuple[str, ...] = ()

    def user(self, headers: Headers) -> User | None:
        """The user that is named; None if none is."""
        name = next(iter(_values(headers, self.users)), "")
        if not name:
            return None
        extra: dict[str, list[str]] = {}
        for prefix in self.extra_prefixes:
            for header, value in headers:
                if header.startswith(prefix.lower()):
                    extra.setdefault(unquote(header[len(prefix) :]), []).append(value)
        groups = [group for group in _values(headers, self.groups) if group != AUTHENTICATED]
        return User(name, (*groups, AUTHENTICATED), next(iter(_values(headers, self.uids)), ""), extra)


def _values(headers: Headers, names: Iterable[str]) -> list[str]:
    return [value for name in names for header, value in headers if header == name.lower() and value]


class Trust:
    """Whose certificates count; may be told more while it is in use."""

    def __init__(self, encryption: Encryption) -> None:
        self._encryption = encryption
        self._clients: tuple[x509.Certificate, ...] = ()
        self._proxies: tuple[x509.Certificate, ...] = ()
        self._headers = ProxyHeaders()

    def believe_clients(self, authorities: bytes) -> None:
        """Their certificates, as PEM, instead of those before. Raises ValueError."""
        self._clients = _parsed(authorities)
        self._encryption.accept(authorities)

    def believe_proxies(self, authorities: bytes, headers: ProxyHeaders) -> None:
        """Certificates of proxies that speak for users, as PEM. Raises ValueError."""
        self._proxies, self._headers = _parsed(authorities), headers
        self._encryption.accept(authorities)

    def user(self, der: bytes, headers: Headers) -> User | None:
        """Whom the certificate stands for; None if it is nobody's who is known."""
        certificate = x509.load_der_x509_certificate(der)
        if _is_issued_by(certificate, self._proxies):
            allowed = self._headers.allowed_names
            named = self._headers.user(headers) if not allowed or _names(certificate)[0] in allowed else None
            if named is not None:
                return named
        # Where there are no proxies, TLS has accepted nobody but clients.
        if not self._proxies or _is_issued_by(certificate, self._clients):
            return certificate_user(certificate)
        return None


def certificate_user(certificate: x509.Certificate) -> User:
    """The common name is the user, organizations are the groups."""
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return User(_names(certificate)[0], (*(str(group.value) for group in groups), AUTHENTICATED))


def _names(certificate: x509.Certificate) -> list[str]:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return [str(name.value) for name in names] or [""]


def _parsed(authorities: bytes) -> tuple[x509.Certificate, ...]:
    return tuple(x509.load_pem_x509_certificates(authorities))


def _is_issued_by(certificate: x509.Certificate, authorities: Iterable[x509.Certificate]) -> bool:
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False
