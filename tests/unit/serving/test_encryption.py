"""The certificate of the secure port."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bayplan.apiserver.http.server import TlsFiles
from bayplan.serving.encryption import Encryption
from bayplan.worlds.certificates import self_signed


def shaken_hands(server: ssl.SSLContext, authority: bytes | None = None, name: str = "localhost") -> bytes:
    """The certificate that a client sees, which trusts `authority` or, without one, anybody."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority is None:
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    else:
        client.load_verify_locations(cadata=authority.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname=name)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (asking, answering):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    certificate = asking.getpeercert(binary_form=True)
    assert certificate is not None
    return certificate


def written(folder: Path) -> tuple[TlsFiles, bytes]:
    made = self_signed(["localhost"])
    files = TlsFiles(folder / "tls.crt", folder / "tls.key")
    for path, content in zip(files, made, strict=True):
        # Replaced, not overwritten, as Kubernetes does it with mounted secrets.
        fresh = path.with_suffix(".new")
        fresh.write_bytes(content)
        os.replace(fresh, path)
    return files, made.certificate


def test_without_files_the_certificate_is_made_in_memory() -> None:
    assert shaken_hands(Encryption(None).context) != shaken_hands(Encryption(None).context)


def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    files, first = written(tmp_path)
    encryption = Encryption(files)
    shaken_hands(encryption.context, first)
    encryption.refresh()
    _, second = written(tmp_path)
    with capture_logs() as logs:
        encryption.refresh()
        encryption.refresh()
    assert [entry["event"] for entry in logs] == ["Reloaded the serving certificate"]
    shaken_hands(encryption.context, second)
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken_hands(encryption.context, first)


def test_files_that_cannot_be_used_leave_the_old_certificate(tmp_path: Path) -> None:
    files, first = written(tmp_path)
    encryption = Encryption(files)
    files.certificate.write_text("no certificate")
    with capture_logs() as logs:
        encryption.refresh()
    assert [entry["log_level"] for entry in logs] == ["error"]
    shaken_hands(encryption.context, first)
    files.key.unlink()
    encryption.refresh()
    shaken_hands(encryption.context, first)


def test_a_file_that_is_missing_at_the_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Encryption(TlsFiles(tmp_path / "tls.crt", tmp_path / "tls.key"))


def _agreed(server: ssl.SSLContext, newest: ssl.TLSVersion) -> str:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode, client.maximum_version = False, ssl.CERT_NONE, newest
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (asking, answering):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    cipher = asking.cipher()
    assert cipher is not None
    return cipher[0]


@pytest.mark.parametrize(
    ("suite", "cipher"),
    [
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
    ],
)
def test_cipher_suites_have_the_names_that_go_gives_them(suite: str, cipher: str) -> None:
    context = Encryption(None, cipher_suites=["TLS_AES_128_GCM_SHA256", suite]).context
    assert _agreed(context, ssl.TLSVersion.TLSv1_2) == cipher


def test_older_versions_of_tls_are_not_spoken() -> None:
    context = Encryption(None, minimum=ssl.TLSVersion.TLSv1_3).context
    with pytest.raises(ssl.SSLError):
        _agreed(context, ssl.TLSVersion.TLSv1_2)
