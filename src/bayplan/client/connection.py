"""Where a server is and how it is reached: what a kubeconfig comes to, and all that the HTTP client needs.

Plain data but for `TlsSettings.context`, which reads certificates into a TLS context, and for credentials that renew
themselves. Connects to nothing.
"""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from bayplan.client.go_errors import host_and_port
from bayplan.client.memory_files import file_in_memory

HTTP: Final = "http"
HTTPS: Final = "https"
SOCKS5: Final = "socks5"
PROXY_SCHEMES: Final = (HTTP, HTTPS, SOCKS5)
_DEFAULT_PORTS: Final = {HTTP: 80, HTTPS: 443, SOCKS5: 1080}


class ClientCertificate(NamedTuple):
    """Who asks, as PEM."""

    certificate: bytes
    key: bytes


class Address(NamedTuple):
    """An address as its URL gives it: of the server, with the path in front of every request's, or of a proxy."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    user: str = ""
    password: str | None = None

    @property
    def authority(self) -> str:
        """Host and port for a Host header: without the port that goes without saying."""
        if self.port == _DEFAULT_PORTS[self.scheme]:
            return f"[{self.host}]" if ":" in self.host else self.host
        return host_and_port(self.host, self.port)

    @property
    def shown(self) -> str:
        """The URL as Go's messages have it, with stars for a password, also where the path repeats it."""
        user = self.user + (":***" if self.password is not None else "")
        prefix = self.prefix.replace(self.password, "***") if self.password else self.prefix
        return f"{self.scheme}://{user}{'@' if user else ''}{self.authority}{prefix}"

    @property
    def basic_authorization(self) -> str:
        """The value of a header; empty if the URL names nobody."""
        return basic_authorization(self.user, self.password or "") if self.user else ""


def basic_authorization(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def address_of(url: str, schemes: tuple[str, ...] = (HTTP, HTTPS)) -> Address:
    """The address that a URL names; raises ValueError."""
    parts: SplitResult = urlsplit(url)
    if parts.scheme not in schemes:
        raise ValueError(f'unsupported scheme "{parts.scheme}", must be {" or ".join(schemes)}')
    if not parts.hostname:
        raise ValueError("no host in URL")
    return Address(
        parts.scheme,
        parts.hostname,
        parts.port or _DEFAULT_PORTS[parts.scheme],
        parts.path.rstrip("/"),
        unquote(parts.username or ""),
        None if parts.password is None else unquote(parts.password),
    )


class Credential(NamedTuple):
    """Who asks, at a time: the value of a header, or a certificate, or nobody."""

    authorization: str = ""
    certificate: ClientCertificate | None = None


NOBODY: Final = Credential()


class CredentialsFailed(Exception):  # noqa: N818 - what happened; the client turns it into an error of the contract
    """There are no credentials to be had, and why."""


class Credentials(Protocol):
    """Who asks; may change over time."""

    current: Credential
    fresh_until: float  # of time.monotonic(): who asks later calls `renew` first

    async def renew(self) -> None:
        """Called when `fresh_until` has passed. Raises CredentialsFailed."""

    async def rejected(self, used: Credential) -> bool:
        """The server answered 401. Whether there are other credentials now, so that asking again makes sense."""


@dataclass
class FixedCredentials:
    """Credentials that never change."""

    current: Credential = NOBODY
    fresh_until: float = float("inf")

    async def renew(self) -> None:
        return

    async def rejected(self, used: Credential) -> bool:  # noqa: ARG002
        return False


@dataclass(frozen=True)
class TlsSettings:
    """Whom to trust. Without `authorities` (PEM) those of the system."""

    authorities: bytes = b""
    is_insecure: bool = False
    server_name: str = ""

    def context(self, own: ClientCertificate | None = None) -> ssl.SSLContext:
        """Raises ssl.SSLError or ValueError for certificates that cannot be read."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.is_insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.authorities:
            context.load_verify_locations(cadata=self.authorities.decode("ascii", "replace"))
        else:
            context.load_default_certs()
        if own is not None:
            _load_own(context, own)
        return context


def _load_own(context: ssl.SSLContext, own: ClientCertificate) -> None:
    """Python reads a chain from files only."""
    with file_in_memory(own.certificate + b"\n" + own.key) as file:
        context.load_cert_chain(file, password="")


@dataclass(frozen=True)
class Connection:
    """How a server is reached, and as whom."""

    address: Address
    credentials: Credentials = field(default_factory=FixedCredentials)
    tls: TlsSettings = TlsSettings()
    proxy: Address | None = None
    headers: tuple[tuple[str, str], ...] = ()  # sent with every request, such as Impersonate-User
