"""Texts that operators search for."""

from __future__ import annotations

import socket
import ssl

import pytest

from bayplan.client.go_errors import connection_broken, dial_failed, request_failed, tls_failed

ENDS = " tcp 10.0.0.1:5->10.0.0.2:6"


def ssl_error(reason: str = "") -> ssl.SSLError:
    error = ssl.SSLError(1, "[SSL] something")
    error.reason = reason
    return error


def test_a_request() -> None:
    assert request_failed("DELETE", "http://x/y", "EOF") == 'Delete "http://x/y": EOF'


@pytest.mark.parametrize(
    ("host", "error", "text"),
    [
        ("10.0.0.1", ConnectionRefusedError(111, "x"), "dial tcp 10.0.0.1:6443: connect: connection refused"),
        ("::1", OSError(113, "x"), "dial tcp [::1]:6443: connect: no route to host"),
        ("10.0.0.1", TimeoutError(), "dial tcp 10.0.0.1:6443: i/o timeout"),
        ("a.example", socket.gaierror(-2, "x"), "dial tcp: lookup a.example: no such host"),
    ],
)
def test_no_connection(host: str, error: OSError, text: str) -> None:
    assert dial_failed(host, 6443, error) == text


@pytest.mark.parametrize(
    ("error", "has_begun", "text"),
    [
        (None, False, "EOF"),
        (None, True, "unexpected EOF"),
        (ConnectionResetError(104, "x"), True, f"read{ENDS}: read: connection reset by peer"),
        (BrokenPipeError(32, "x"), False, f"write{ENDS}: write: broken pipe"),
        (ssl_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"), False, "remote error: tls: certificate required"),
        (RuntimeError("odd"), True, "odd"),
    ],
)
def test_a_connection_that_breaks(error: Exception | None, has_begun: bool, text: str) -> None:
    assert connection_broken(error, has_begun, ENDS) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ssl_error("WRONG_VERSION_NUMBER"), "http: server gave HTTP response to HTTPS client"),
        (ssl_error("SSLV3_ALERT_BAD_CERTIFICATE"), "remote error: tls: bad certificate"),
        (ssl_error("NO_SHARED_CIPHER"), "tls: no shared cipher"),
        (ssl_error(), "tls: [SSL] something"),
        (ConnectionResetError(104, "x"), "read: read: connection reset by peer"),
        (ConnectionResetError("closed by peer"), "EOF"),
    ],
)
def test_a_handshake_that_fails(error: Exception, text: str) -> None:
    assert tls_failed(error, "x") == text
