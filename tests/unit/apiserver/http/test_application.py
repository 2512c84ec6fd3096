"""What is said with answers about kinds that nobody should use any more."""

from __future__ import annotations

from tests.support.api_server import CONFIG_MAPS, Api


def test_deprecated_kinds_come_with_a_warning() -> None:
    api = Api()
    headers = dict(api.answer("GET", "/api/v1/endpoints").headers)
    assert headers["warning"] == ('299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"')
    assert "warning" not in dict(api.answer("GET", CONFIG_MAPS).headers)
