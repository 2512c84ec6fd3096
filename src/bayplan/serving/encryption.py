"""The certificate of the secure port: from files, read again when they change, or made for this process alone.

Gives an SSL context for the server. A certificate that was made here never touches a disk: the file system may be
read-only. Client certificates are asked for, and verified, once there is an authority to verify them with.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from bayplan.apiserver.http.server import TlsFiles
from bayplan.client.loggers import structlog
from bayplan.client.memory_files import file_in_memory
from bayplan.worlds.certificates import Certificate, self_signed

#: Whom a certificate is for that nobody gave.
LOCAL_NAMES = ("localhost", "127.0.0.1")

#: Of TLS 1.3, where nothing can be chosen, in Go neither.
_ALWAYS_ON = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})

_log = structlog.get_logger("encryption")


class Encryption:
    """The server's side of TLS; `refresh` from time to time.

    Args:
        files: certificate and key; None: a self-signed certificate for this machine alone.
        minimum: the lowest version of TLS that is spoken.
        cipher_suites: what TLS 1.2 may use, under Go's names; empty: what the library prefers.
    Raises OSError and ssl.SSLError if a file or a cipher suite cannot be used.
    """

    def __init__(
        self,
        files: TlsFiles | None,
        *,
        minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
        cipher_suites: Sequence[str] = (),
    ) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = minimum
        older = [_library_name(suite) for suite in cipher_suites if suite not in _ALWAYS_ON]
        if older:
            self.context.set_ciphers(":".join(older))
        self._files = files
        self._seen = self._look()
        if files is None:
            _load(self.context, self_signed(LOCAL_NAMES))
        else:
            self.context.load_cert_chain(files.certificate, files.key)
        self._accepted: set[bytes] = set()

    def accept(self, authorities: bytes) -> None:
        """From now on, accept client certificates that these (as PEM) have signed. Raises SSLError."""
        if authorities not in self._accepted:
            self.context.load_verify_locations(cadata=authorities.decode("ascii", "replace"))
            self.context.verify_mode = ssl.CERT_OPTIONAL
            self._accepted.add(authorities)

    def refresh(self) -> None:
        """Reads the files again if they have changed; connections that exist go on as they are."""
        seen = self._look()
        if self._files is None or seen == self._seen or seen is None:
            return
        try:
            self.context.load_cert_chain(self._files.certificate, self._files.key)
        except (OSError, ssl.SSLError) as error:  # certificate and key are perhaps being replaced right now
            _log.error("Failed to reload the serving certificate", file=str(self._files.certificate), err=str(error))
            return
        self._seen = seen
        _log.info("Reloaded the serving certificate", file=str(self._files.certificate))

    def _look(self) -> tuple[tuple[int, int, int], ...] | None:
        """What tells one state of the files from another; None if there are none."""
        if self._files is None:
            return None
        try:
            stats = [path.stat() for path in self._files]
        except OSError:
            return None
        return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in stats)


def _library_name(suite: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` as OpenSSL calls it: `ECDHE-RSA-AES128-GCM-SHA256`."""
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    for there, here in (("AES_", "AES"), ("_CBC_", "_"), ("POLY1305_SHA256", "POLY1305")):
        cipher = cipher.replace(there, here)
    return f"{exchange}_{cipher}".replace("_", "-")


def _load(context: ssl.SSLContext, made: Certificate) -> None:
    """Give the context a certificate that is only in memory."""
    with file_in_memory(made.certificate + made.key) as file:
        context.load_cert_chain(file)
