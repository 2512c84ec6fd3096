"""What Go's HTTP client says when there is no answer; operators know these texts, and search for them.

Takes errors of sockets and of TLS; gives the text after `Get "https://…": `.
"""

from __future__ import annotations

import os
import socket
import ssl
from typing import Final

EOF: Final = "EOF"
UNEXPECTED_EOF: Final = "unexpected EOF"
NO_HEADERS_IN_TIME: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
NO_BODY_IN_TIME: Final = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
HANDSHAKE_TIMEOUT: Final = "net/http: TLS handshake timeout"

_VERIFYING: Final = "tls: failed to verify certificate: x509:"
#: OpenSSL's X509_V_ERR_*: who signed it is unknown (2, 18 to 21), when it is valid (9, 10), whom it is for (62, 64).
_UNKNOWN_SIGNER: Final = frozenset({2, 18, 19, 20, 21})
_OUT_OF_DATE: Final = frozenset({9, 10})
_OTHER_NAME: Final = frozenset({62, 64})
_ALERT: Final = "ALERT_"


def request_failed(method: str, url: str, cause: str) -> str:
    """The whole text, as Go's `url.Error`."""
    return f'{method.capitalize()} "{url}": {cause}'


def dial_failed(host: str, port: int, error: OSError) -> str:
    """No connection to this address."""
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    what = "i/o timeout" if isinstance(error, TimeoutError) else f"connect: {_system_text(error)}"
    return f"dial tcp {host_and_port(host, port)}: {what}"


def connection_broken(error: Exception | None, has_begun: bool, ends: str = "") -> str:
    """A connection that ended before the answer did.

    Args:
        error: what the system says; None for an orderly end.
        has_begun: whether any of the answer came.
        ends: of the connection, such as ` tcp 10.0.0.1:4711->10.0.0.2:443`.
    """
    if error is None:
        return UNEXPECTED_EOF if has_begun else EOF
    if isinstance(error, ssl.SSLError):
        return tls_failed(error, "")
    if isinstance(error, BrokenPipeError):
        return f"write{ends}: write: {_system_text(error)}"
    return f"read{ends}: read: {_system_text(error)}" if isinstance(error, OSError) else str(error)


def tls_failed(error: Exception, name: str) -> str:
    """A handshake that failed; `name` is whom the certificate was to be for."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{_VERIFYING} {_distrust(error, name)}"
    reason = (getattr(error, "reason", "") or "") if isinstance(error, ssl.SSLError) else ""
    if reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}:
        return "http: server gave HTTP response to HTTPS client"
    if _ALERT in reason:
        return f"remote error: tls: {_lower(reason.partition(_ALERT)[2])}"
    if isinstance(error, ssl.SSLError):
        return f"tls: {_lower(reason) or error}"
    if isinstance(error, ConnectionError) and error.errno is None:
        return EOF
    return connection_broken(error, has_begun=False)


def _distrust(error: ssl.SSLCertVerificationError, name: str) -> str:
    if error.verify_code in _UNKNOWN_SIGNER:
        return "certificate signed by unknown authority"
    if error.verify_code in _OUT_OF_DATE:
        return "certificate has expired or is not yet valid"
    if error.verify_code in _OTHER_NAME:
        return f"certificate is not valid for {name}"
    return error.verify_message


def host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _system_text(error: OSError) -> str:
    """Go's names of system errors are the C library's in lower case."""
    return os.strerror(error.errno).lower() if error.errno else str(error)


def _lower(reason: str) -> str:
    return reason.replace("_", " ").lower()
