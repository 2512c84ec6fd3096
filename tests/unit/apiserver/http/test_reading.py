"""Lists: pages, selections, and versions of the past."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, Api, config_map

ALL_MAPS = "/api/v1/configmaps"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def _with(*names: str, capacity: int = 1_000) -> Api:
    api = Api(log_capacity=capacity)
    for name in names:
        api.post(CONFIG_MAPS, config_map(name))
    return api


def _names(listed: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def test_a_list_has_its_version_and_items_without_their_type() -> None:
    api = _with("b", "a")
    listed = api.get(CONFIG_MAPS)
    assert (listed["kind"], listed["metadata"]) == ("ConfigMapList", {"resourceVersion": "13"})
    assert _names(listed) == ["a", "b"]
    assert "kind" not in listed["items"][0]


def test_pages_show_the_list_as_it_was_when_the_first_was_asked_for() -> None:
    api = _with("a", "b", "c", "d", "e")
    first = api.get(f"{CONFIG_MAPS}?limit=2")
    assert (_names(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 3)
    api.delete(f"{CONFIG_MAPS}/c")
    api.patch(f"{CONFIG_MAPS}/d", {"data": {"new": "1"}})
    api.post(CONFIG_MAPS, config_map("cc"))
    second = api.get(f"{CONFIG_MAPS}?limit=2&continue={first['metadata']['continue']}")
    assert (_names(second), "data" in second["items"][1]) == (["c", "d"], False)
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = api.get(f"{CONFIG_MAPS}?limit=2&continue={second['metadata']['continue']}")
    assert (_names(last), "continue" in last["metadata"]) == (["e"], False)


def test_pages_go_across_namespaces() -> None:
    api = _with("a", "b")
    api.post(CONFIG_MAPS.replace("default", "kube-public"), config_map("a"))
    found, token = [], ""
    for _ in range(3):
        page = api.get(f"{ALL_MAPS}?limit=1&continue={token}" if token else f"{ALL_MAPS}?limit=1")
        found += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
        token = page["metadata"].get("continue", "")
    assert (found, token) == ([("default", "a"), ("default", "b"), ("kube-public", "a")], "")


def test_a_page_that_comes_too_late_is_refused_with_a_token_to_go_on_anyway() -> None:
    api = _with(*[f"m{number}" for number in range(5)], capacity=4)
    token = api.get(f"{CONFIG_MAPS}?limit=2")["metadata"]["continue"]
    for number in range(10):
        api.patch(f"{CONFIG_MAPS}/m0", {"data": {"n": str(number)}})
    status, refusal = api.call("GET", f"{CONFIG_MAPS}?limit=2&continue={token}")
    assert (status, refusal["reason"]) == (410, "Expired")
    rest = api.get(f"{CONFIG_MAPS}?continue={refusal['metadata']['continue']}")
    assert _names(rest) == ["m2", "m3", "m4"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("labelSelector=tier%3Dfront", ["a"]),
        ("labelSelector=tier+in+(front,back)", ["a", "b"]),
        ("labelSelector=!tier", ["c"]),
        ("labelSelector=tier!%3Dfront", ["b", "c"]),
        ("fieldSelector=metadata.name%3Db", ["b"]),
        ("fieldSelector=metadata.name!%3Db", ["a", "c"]),
        ("labelSelector=tier&fieldSelector=metadata.name%3Dc", []),
        ("limit=-1", ["a", "b", "c"]),
    ],
)
def test_selections(query: str, names: list[str]) -> None:
    api = Api()
    for name, labels in (("a", {"tier": "front"}), ("b", {"tier": "back"}), ("c", {})):
        api.post(CONFIG_MAPS, {**config_map(name), "metadata": {"name": name, "labels": labels}})
    assert _names(api.get(f"{CONFIG_MAPS}?{query}")) == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("resourceVersion=12&resourceVersionMatch=Exact", ["a"]),
        ("resourceVersion=13&resourceVersionMatch=Exact", ["a", "b"]),
        ("resourceVersion=12&resourceVersionMatch=NotOlderThan", ["a", "b"]),
        ("resourceVersion=0", ["a", "b"]),
    ],
)
def test_versions_of_the_past(query: str, names: list[str]) -> None:
    assert _names(_with("a", "b").get(f"{CONFIG_MAPS}?{query}")) == names


@pytest.mark.parametrize(
    ("query", "status", "fault"),
    [
        ("continue=zzz", 400, "invalid continue token: continue key is not valid: "),
        ("continue=%C3%BC", 400, "invalid continue token: continue key is not valid: "),
        ("continue=e30", 400, "invalid continue token: continue key is not valid: server does not recognize"),
        ("limit=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        (f"limit={'9' * 5_000}", 400, 'strconv.ParseInt: parsing "999'),
        ("resourceVersion=abc", 400, "invalid resource version: "),
        (f"resourceVersion={'9' * 5_000}", 400, "invalid resource version: "),
        ("resourceVersion=99999", 504, "Timeout: Too large resource version: 99999, current: 12"),
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("resourceVersion=1&resourceVersionMatch=Odd", 422, 'Unsupported value: "Odd"'),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
        ("labelSelector=a+x", 400, "unable to parse requirement: "),
        ("fieldSelector=a", 400, "invalid selector: 'a'; can't understand 'a'"),
    ],
)
def test_a_list_that_cannot_be_is_refused(query: str, status: int, fault: str) -> None:
    found, words = _with("a").refusal("GET", f"{CONFIG_MAPS}?{query}")
    assert (found, fault in words) == (status, True), words


def test_a_selector_of_thousands_of_terms_is_answered() -> None:
    terms = ",".join(f"key{number}!=x" for number in range(10_000))
    assert _names(_with("a").get(f"{CONFIG_MAPS}?labelSelector={terms}")) == ["a"]


def test_a_list_of_metadata_only() -> None:
    answer = _with("a").answer("GET", CONFIG_MAPS, accept=PARTIAL)
    listed = json.loads(answer.body)
    assert listed["kind"] == "PartialObjectMetadataList"
    assert [set(item) for item in listed["items"]] == [{"kind", "apiVersion", "metadata"}]


@pytest.mark.parametrize(
    ("limit", "fault"),
    [
        ("1_0", "invalid syntax"),
        ("x", "invalid syntax"),
        ("9" * 30, "value out of range"),
        ("9" * 5000, "out of range"),
    ],
)
def test_numbers_are_whole_and_fit_64_bits(limit: str, fault: str) -> None:
    status, message = Api().refusal("GET", f"{CONFIG_MAPS}?limit={limit}")
    assert status == 400
    assert message.endswith(fault)


@pytest.mark.parametrize(
    ("timeout", "fault"),
    [
        ("5s", ""),
        ("0", ""),
        ("1h2m", ""),
        ("invalid", 'invalid duration "invalid"'),
        ("5", 'missing unit in duration "5"'),
        ("5x", 'unknown unit "x" in duration "5x"'),
    ],
)
def test_a_timeout_is_a_duration(timeout: str, fault: str) -> None:
    api = Api()
    status, answer = api.call("GET", f"{CONFIG_MAPS}?timeout={timeout}")
    said = f"invalid timeout specified in the request URL - time: {fault}"
    assert (status, answer.get("message")) == ((400, said) if fault else (200, None))
