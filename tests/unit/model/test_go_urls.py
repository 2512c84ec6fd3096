"""URLs; parts and words are those of Go's net/url (1.26)."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.go_urls import UrlError, is_request_uri, parse_request_uri, parse_url


@pytest.mark.parametrize(
    ("text", "scheme", "host", "name", "port", "path", "query"),
    [
        (
            "https://user:pass@example.com:80/path?query=val#fragment",
            *("https", "example.com:80", "example.com", "80", "/path"),
            {"query": ["val"]},
        ),
        ("/absolute-path", "", "", "", "", "/absolute-path", {}),
        ("HTTPS://[::1]:80/", "https", "[::1]:80", "::1", "80", "/", {}),
        ("http://[fe80::1%25eth0]", "http", "[fe80::1%eth0]", "fe80::1%eth0", "", "", {}),
        ("https://example.com/with space/", "https", "example.com", "example.com", "", "/with%20space/", {}),
        ("http://a/%2f!b?", "http", "a", "a", "", "/%2f!b", {}),
        ('/ü"', "", "", "", "", "/%C3%BC%22", {}),
        ("http://a:/", "http", "a:", "a", "", "/", {}),
        ("http://%c3%a4/", "http", "ä", "ä", "", "/", {}),
        ("postgres://a:1,b:2/", "postgres", "a:1,b:2", "a:1,b", "2", "/", {}),
        ("mailto:a@b?c=d", "mailto", "", "", "", "", {"c": ["d"]}),
        ("*", "", "", "", "", "*", {}),
        ("///path", "", "", "", "", "///path", {}),
        ("/?a=1&a=2&b+c=%20&=x&d;e=f&g=%zz", "", "", "", "", "/", {"a": ["1", "2"], "b c": [" "], "": ["x"]}),
        ("/a#b?c=d", "", "", "", "", "/a", {}),
    ],
)
def test_the_parts_of_a_url(
    text: str, scheme: str, host: str, name: str, port: str, path: str, query: dict[str, Any]
) -> None:
    url = parse_url(text)
    assert (url.scheme, url.host, url.host_name, url.port, url.escaped_path) == (scheme, host, name, port, path)
    assert url.query_values() == query


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty url"),
        ("../relative-path", "invalid URI for request"),
        ("1http://a", "invalid URI for request"),
        (":a", "missing protocol scheme"),
        ("https://a:b:c/", 'invalid port ":b:c" after host'),
        ("http://localhost:80:80/", 'invalid port ":80:80" after host'),
        ("postgres://a:1,b:x/", 'invalid port ":x" after host'),
        ("http://[::1", "missing ']' in host"),
        ("http://[::1]x/", 'invalid port "x" after host'),
        ("http://x[::1]/", "invalid IP-literal"),
        ("http://[1.2.3.4]/", "invalid IP-literal"),
        ("http://[a]/", 'invalid host: ParseAddr("a"): unable to parse IP'),
        ("http://us er@host/", "net/url: invalid userinfo"),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://%41/", 'invalid URL escape "%41"'),
        ("/a%zz", 'invalid URL escape "%zz"'),
        ("/a%4", 'invalid URL escape "%4"'),
    ],
)
def test_what_is_no_url(text: str, why: str) -> None:
    with pytest.raises(UrlError) as caught:
        parse_request_uri(text)
    assert str(caught.value) == f'parse "{text}": {why}'
    assert not is_request_uri(text)


def test_control_characters_are_refused() -> None:
    for letter in "\x00\x1f\x7f":
        with pytest.raises(UrlError, match="net/url: invalid control character in URL"):
            parse_request_uri(f"/a{letter}")


def test_fragments_are_read_by_themselves() -> None:
    assert parse_url("/a#b").fragment == "b"
    with pytest.raises(UrlError, match='invalid URL escape "%zz"'):
        parse_url("/a#%41%zz")
