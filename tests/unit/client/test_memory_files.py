"""Files that never touch a disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.support.authorities import Authority

from bayplan.client.connection import ClientCertificate, TlsSettings
from bayplan.client.extender_tls import tls_context
from bayplan.client.memory_files import file_in_memory
from bayplan.config.schema import Extender, ExtenderTls
from bayplan.serving.encryption import Encryption


@pytest.fixture
def _no_place_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose file systems are all read-only."""

    def nowhere() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", nowhere)
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_file_is_there_while_it_is_needed() -> None:
    with file_in_memory(b"one") as first, file_in_memory(b"two") as second:
        assert (Path(first).read_bytes(), Path(second).read_bytes()) == (b"one", b"two")
    assert not Path(first).exists() or Path(first).read_bytes() != b"one"


@pytest.mark.usefixtures("_no_place_to_write")
def test_certificates_are_used_where_nothing_can_be_written() -> None:
    own = Authority().sign("me")
    TlsSettings().context(ClientCertificate(own.certificate, own.key))
    Encryption(None)
    tls = ExtenderTls(cert_data=own.certificate, key_data=own.key)
    assert tls_context(Extender(url_prefix="https://extender", tls_config=tls)) is not None
