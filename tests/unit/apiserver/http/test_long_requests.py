"""Which requests get a turn of their own, and that nobody waits for them who need not."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, DEFINITIONS, PODS, TOYS, Api, config_map, toy, toy_definition

from bayplan.apiserver.http.long_requests import LARGE, takes_long
from bayplan.apiserver.http.requests import Answer, Request, query_of, segments_of

_TRIPLE = "[1,2,3,4,5,6,7,8,9,10].all(x, [1,2,3,4,5,6,7,8,9,10].all(y, [1,2,3,4,5,6,7,8,9,10].all(z, x+y+z > 0)))"
#: Of whose items each costs a thousand evaluations.
_COSTLY = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "items": {
                    "type": "array",
                    "maxItems": 400,
                    "items": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": _TRIPLE}]},
                }
            },
        }
    },
}
_POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}]
        },
        "validations": [{"expression": "true"}],
    },
}
MERGES = {"content-type": "application/merge-patch+json"}
_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def _request(method: str, path: str, body: Any = None) -> Request:
    path, _, query = path.partition("?")
    sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    return Request(method, segments_of(path.encode()), query_of(query.encode()), headers, sent)


@pytest.mark.parametrize(
    ("method", "path", "size", "is_long"),
    [
        ("POST", CONFIG_MAPS, 10, False),
        ("POST", CONFIG_MAPS, LARGE + 1, True),
        ("GET", f"{CONFIG_MAPS}/small", 0, False),
        ("GET", f"{CONFIG_MAPS}/large", 0, True),
        ("PATCH", f"{CONFIG_MAPS}/small", 10, False),
        ("PATCH", f"{CONFIG_MAPS}/large", 10, True),
        ("DELETE", f"{CONFIG_MAPS}/small", 0, False),
        ("POST", DEFINITIONS, 10, True),
        ("POST", _POLICIES, 10, True),
        ("GET", CONFIG_MAPS, 0, False),
        ("GET", "/apis/example.com/v1/nonsense", 0, False),
        ("GET", "/nonsense", 0, False),
    ],
)
def test_what_takes_long(method: str, path: str, size: int, is_long: bool) -> None:
    api = Api()
    api.post(CONFIG_MAPS, config_map("small"))
    api.post(CONFIG_MAPS, config_map("large", a="x" * LARGE))
    assert takes_long(api.registry, _request(method, path, b"x" * size)) == is_long


def test_many_objects_take_long() -> None:
    api = Api()
    for number in range(60):
        api.post(CONFIG_MAPS, config_map(f"m{number}"))
    assert takes_long(api.registry, _request("DELETE", CONFIG_MAPS))
    assert not takes_long(api.registry, _request("GET", CONFIG_MAPS))
    for number in range(60, 501):
        api.post(CONFIG_MAPS, config_map(f"m{number}"))
    assert takes_long(api.registry, _request("GET", CONFIG_MAPS))
    assert not takes_long(api.registry, _request("GET", f"{CONFIG_MAPS}?watch=true"))


def test_large_objects_take_long_however_few_there_are() -> None:
    api = Api()
    as_yaml = _request("GET", CONFIG_MAPS)._replace(headers={"accept": "application/yaml"})
    api.post(CONFIG_MAPS, config_map("small"))
    assert not takes_long(api.registry, as_yaml)
    api.post(CONFIG_MAPS, config_map("large", a="x" * LARGE))
    assert takes_long(api.registry, as_yaml)
    assert takes_long(api.registry, _request("DELETE", CONFIG_MAPS))
    assert not takes_long(api.registry, _request("DELETE", CONFIG_MAPS.replace("default", "other")))
    assert not takes_long(api.registry, _request("GET", CONFIG_MAPS))
    api.post(CONFIG_MAPS, config_map("huge", a="x" * 1_000_000))
    api.post(CONFIG_MAPS, config_map("huge2", a="x" * 1_000_000))
    assert takes_long(api.registry, _request("GET", CONFIG_MAPS))


def test_policies_and_rules_take_long() -> None:
    api = Api()
    api.post(DEFINITIONS, toy_definition())
    assert not takes_long(api.registry, _request("POST", TOYS, toy()))
    api.put(f"{DEFINITIONS}/toys.example.com", _redefined(api, _COSTLY))
    assert takes_long(api.registry, _request("POST", TOYS, toy()))
    assert not takes_long(api.registry, _request("POST", CONFIG_MAPS, config_map()))
    api.post(_POLICIES, _POLICY)
    assert takes_long(api.registry, _request("POST", CONFIG_MAPS, config_map()))


def _redefined(api: Api, schema: dict[str, Any]) -> dict[str, Any]:
    stored = api.get(f"{DEFINITIONS}/toys.example.com")
    stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    return stored


async def _longest_in_loop(api: Api, requests: list[Request]) -> tuple[float, list[int]]:
    """The most time of the processor that the event loop's thread took in one turn, and what was answered."""
    longest, is_over = 0.0, False

    async def measure() -> None:
        nonlocal longest
        last = time.thread_time()
        while not is_over:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    measuring = asyncio.ensure_future(measure())
    answers = [await api.application.answer_in_turn(request) for request in requests]
    is_over = True
    await measuring
    return longest, [answer.status for answer in answers if isinstance(answer, Answer)]


def test_others_are_served_while_costly_rules_are_evaluated() -> None:
    async def check() -> None:
        api = Api()
        api.post(DEFINITIONS, toy_definition(_COSTLY))
        costly = _request("POST", TOYS, {**toy(), "spec": {"items": ["x"] * 20}})
        answering = asyncio.ensure_future(api.application.answer_in_turn(costly))
        await asyncio.sleep(0)
        read = await api.application.answer_in_turn(_request("GET", PODS))
        assert isinstance(read, Answer)
        assert (read.status, answering.done()) == (200, False)
        await api.application.answer_in_turn(_request("POST", CONFIG_MAPS, config_map()))
        assert _version_of(api, TOYS, toy()) < _version_of(api, CONFIG_MAPS, config_map())
        await answering

    asyncio.run(check())


def _version_of(api: Api, path: str, document: dict[str, Any]) -> int:
    return int(api.get(f"{path}/{document['metadata']['name']}")["metadata"]["resourceVersion"])


@pytest.mark.slow
def test_nothing_keeps_the_event_loop_for_long() -> None:
    api = Api()
    api.post(DEFINITIONS, toy_definition(_COSTLY))
    containers = [{"name": f"c{number}", "image": "i"} for number in range(20_000)]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    lines = "".join(f"  k{number}: v\n" for number in range(50_000))
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\ndata:\n{lines}".encode()
    requests = [
        _request("POST", TOYS, {**toy(), "spec": {"items": ["x"] * 400}}),
        _request("POST", CONFIG_MAPS, text)._replace(headers={"content-type": "application/yaml"}),
        _request("PATCH", f"{CONFIG_MAPS}/large", {"metadata": {"labels": {"a": "b"}}})._replace(headers=MERGES),
        _request("POST", PODS, pod),
        _request("GET", PODS),
    ]
    longest, statuses = asyncio.run(_longest_in_loop(api, requests))
    assert statuses == [201, 201, 200, 201, 200]
    assert longest < 0.05
