"""The proxy of the environment, as Go's programs choose it."""

from __future__ import annotations

import pytest

from bayplan.client.connection import address_of
from bayplan.client.proxy_choice import proxy_from_environment

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        ("https://a.example.com", {}, None),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY}, "proxy"),
        ("https://a.example.com", {"https_proxy": PROXY}, "proxy"),
        ("https://a.example.com", {"HTTPS_PROXY": "proxy:3128"}, "proxy"),
        ("https://a.example.com", {"HTTPS_PROXY": "socks5://proxy"}, "proxy"),
        ("https://a.example.com", {"HTTP_PROXY": PROXY}, None),
        ("http://a.example.com", {"HTTP_PROXY": PROXY}, "proxy"),
        ("http://a.example.com", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, None),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, None),
    ],
)
def test_which_variable_counts(server: str, environ: dict[str, str], proxy: str | None) -> None:
    chosen = proxy_from_environment(address_of(server), environ)
    assert (chosen and chosen.host) == proxy


@pytest.mark.parametrize(
    ("server", "no_proxy", "is_exempt"),
    [
        ("https://a.example.com", "*", True),
        ("https://a.example.com", "example.com", True),
        ("https://example.com", "example.com", True),
        ("https://a.example.com", ".example.com", True),
        ("https://a.example.com", "*.example.com", True),
        ("https://example.com", ".example.com", False),
        ("https://badexample.com", "example.com", False),
        ("https://a.example.com", "other.com, EXAMPLE.com", True),
        ("https://a.example.com:6443", "example.com:6443", True),
        ("https://a.example.com:6443", "example.com:443", False),
        ("https://10.0.0.1", "10.0.0.1", True),
        ("https://10.0.0.1", "10.0.0.2", False),
        ("https://10.0.0.1", "10.0.0.0/8", True),
        ("https://11.0.0.1", "10.0.0.0/8", False),
        ("https://10.0.0.1", "nonsense/8", False),
        ("https://[fd00::1]", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]", "fd00::/8", True),
    ],
)
def test_what_needs_no_proxy(server: str, no_proxy: str, is_exempt: bool) -> None:
    chosen = proxy_from_environment(address_of(server), {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy})
    assert (chosen is None) is is_exempt


def test_a_proxy_that_cannot_be_one() -> None:
    with pytest.raises(ValueError, match='environment variable HTTPS_PROXY: unsupported scheme "ftp"'):
        proxy_from_environment(address_of("https://a.example.com"), {"HTTPS_PROXY": "ftp://x"})
