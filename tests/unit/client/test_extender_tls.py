"""Extenders over TLS: whom they trust, and what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.extenders import serving

from bayplan.client.extender_documents import KeptDocuments
from bayplan.client.extenders import connect_extenders
from bayplan.config.schema import Extender, ExtenderTls
from bayplan.core.actions import Bind
from bayplan.core.framework.verdict import CycleError
from bayplan.model.errors import InvalidObject
from bayplan.worlds.certificates import self_signed

SERVER, CLIENT = self_signed(["127.0.0.1", "extender.example"]), self_signed(["me"])
UNKNOWN = "x509: certificate signed by unknown authority"


def said(url: str, **fields: Any) -> str:
    """What comes of a binding over TLS."""
    configuration = Extender(url_prefix=url, bind_verb="bind", **fields)
    (extender,) = connect_extenders([configuration], KeptDocuments([configuration]))
    try:
        extender.bind(Bind("default/p", "uid", "n"))
    except CycleError as error:
        return error.message
    finally:
        extender.close()
    return ""


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, UNKNOWN),
        ({"enable_https": True}, ""),
        ({"tls_config": ExtenderTls(insecure=True)}, ""),
        ({"tls_config": ExtenderTls(ca_data=SERVER.certificate)}, ""),
        ({"enable_https": True, "tls_config": ExtenderTls(ca_data=SERVER.certificate)}, ""),
        ({"enable_https": True, "tls_config": ExtenderTls(ca_data=CLIENT.certificate)}, UNKNOWN),
        ({"tls_config": ExtenderTls(ca_data=SERVER.certificate, server_name="extender.example")}, ""),
        (
            {"tls_config": ExtenderTls(ca_data=SERVER.certificate, server_name="x.example")},
            "certificate is not valid for x.example",
        ),
    ],
)
def test_whom_it_trusts(fields: dict[str, Any], text: str) -> None:
    """Upstream trusts anybody where `enableHTTPS` comes without an authority."""
    with serving({"/ext/bind": (200, {})}, SERVER) as server:
        error = said(server.url, **fields)
    assert (text in error) if text else not error


@pytest.mark.parametrize("as_files", [False, True])
def test_it_shows_its_own_certificate(as_files: bool, tmp_path: Path) -> None:
    shown = ExtenderTls(cert_data=CLIENT.certificate, key_data=CLIENT.key, ca_data=SERVER.certificate)
    if as_files:
        names = {"cert": CLIENT.certificate, "key": CLIENT.key, "ca": SERVER.certificate}
        for name, content in names.items():
            (tmp_path / name).write_bytes(content)
        cert, key, ca = (str(tmp_path / name) for name in names)
        shown = ExtenderTls(cert_file=cert, key_file=key, ca_file=ca)
    with serving({"/ext/bind": (200, {})}, SERVER, clients=CLIENT) as server:
        assert said(server.url, tls_config=shown) == ""
        assert said(server.url, tls_config=ExtenderTls(ca_data=SERVER.certificate)) != ""


@pytest.mark.parametrize(
    ("tls", "text"),
    [
        (ExtenderTls(insecure=True, ca_data=b"x"), "specifying a root certificates file with the insecure flag"),
        (ExtenderTls(cert_data=CLIENT.certificate), "a client certificate needs both certificate and key"),
        (ExtenderTls(ca_file="/nowhere/ca.pem"), "No such file or directory"),
        (ExtenderTls(ca_data=b"nonsense"), ""),
    ],
)
def test_certificates_that_cannot_be_used_are_reported_at_the_start(tls: ExtenderTls, text: str) -> None:
    configuration = Extender(url_prefix="https://extender", tls_config=tls)
    with pytest.raises(InvalidObject) as raised:
        connect_extenders([configuration, configuration], KeptDocuments([]))
    first, second = str(raised.value).splitlines()
    assert first == second
    assert first.startswith("extender https://extender: tlsConfig: ")
    assert text in first
