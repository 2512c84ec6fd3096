"""What `/metrics` says of requests and of what is stored."""

from __future__ import annotations

from tests.support.api_server import CONFIG_MAPS, Api, config_map


def _metrics(api: Api) -> list[str]:
    answer = api.answer("GET", "/metrics")
    assert answer.status == 200
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    return answer.body.decode().splitlines()


def _request(code: int, scope: str, verb: str) -> str:
    return (
        f'apiserver_request_total{{code="{code}",component="apiserver",dry_run="",group="",resource="configmaps",'
        f'scope="{scope}",subresource="",verb="{verb}",version="v1"}}'
    )


def test_requests_are_counted_by_what_was_asked_and_answered() -> None:
    api = Api()
    for _ in range(2):
        api.ask("POST", CONFIG_MAPS, config_map())
    api.get(CONFIG_MAPS)
    api.ask("PATCH", f"{CONFIG_MAPS}/m?fieldManager=x", {"data": {}}, "application/apply-patch+yaml")
    lines = _metrics(api)
    assert f"{_request(201, 'namespace', 'POST')} 1" in lines
    assert f"{_request(409, 'namespace', 'POST')} 1" in lines
    assert f"{_request(200, 'namespace', 'LIST')} 1" in lines
    assert any('verb="APPLY"' in line for line in lines)


def test_stored_objects_are_counted_by_kind() -> None:
    api = Api()
    api.post(CONFIG_MAPS, config_map())
    assert 'apiserver_resource_objects{group="",resource="configmaps"} 1' in _metrics(api)


def test_labels_are_not_made_of_what_clients_make_up() -> None:
    api = Api()
    api.ask("POST", f"{CONFIG_MAPS}?dryRun=nonsense", config_map())
    assert not any("nonsense" in line for line in _metrics(api))
