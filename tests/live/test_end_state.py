"""The checks themselves: each finds what it is for, and nothing in what is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.live.end_state import (
    check_bound_once,
    check_bound_where_asked,
    check_evicted_once,
    check_no_nomination_left,
    check_nobody_waits_in_vain,
    check_victims_matter_less,
)
from tests.live.records import Answer, Exchange, Log

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.store import Store
from bayplan.testing.builders import node, pod


def exchange(
    at: float, method: str, path: str, document: Any, *statuses: int, returned: int | None = None, took_s: float = 0.2
) -> Exchange:
    answers = [Answer(at + 0.1, status, b"{}") for status in statuses]
    body = json.dumps(document).encode()
    return Exchange("A", at, method, path, {}, body, None, answers, at, returned, at + took_s)


def bind(at: float, to: str, *statuses: int, uid: str = "u1") -> Exchange:
    document = {"metadata": {"uid": uid}, "target": {"name": to}}
    return exchange(at, "POST", "/api/v1/namespaces/default/pods/a/binding", document, *statuses)


def delete(at: float, *statuses: int, uid: str = "u1", returned: int | None = None, took_s: float = 0.2) -> Exchange:
    document = {"preconditions": {"uid": uid}} if uid else {}
    path = "/api/v1/namespaces/default/pods/a"
    return exchange(at, "DELETE", path, document, *statuses, returned=returned, took_s=took_s)


def log_of(*exchanges: Exchange) -> Log:
    log = Log()
    log.exchanges.extend(exchanges)
    return log


RIGHT: dict[str, tuple[Callable[[Log], None], Log]] = {
    "asked again where an answer was lost": (check_bound_once, log_of(bind(1, "n1", 201), bind(2, "n1", 409))),
    "elsewhere after a refusal": (check_bound_once, log_of(bind(1, "n1", 500), bind(2, "n2", 201))),
    "two pods": (check_bound_once, log_of(bind(1, "n1", 201), bind(2, "n1", 201, uid="u2"))),
    "deleted again after a lost answer": (check_evicted_once, log_of(delete(1, 200), delete(2, 404, returned=404))),
    "deleted again after an answer that came too late": (
        check_evicted_once,
        log_of(delete(1, 200, returned=200, took_s=20), delete(22, 404, returned=404)),
    ),
    "two victims": (check_evicted_once, log_of(delete(1, 200, returned=200), delete(2, 200, uid="u2", returned=200))),
}
WRONG: dict[str, tuple[Callable[[Log], None], Log]] = {
    "bound twice": (check_bound_once, log_of(bind(1, "n1", 201), bind(2, "n1", 201))),
    "a repeated request bound twice": (check_bound_once, log_of(bind(1, "n1", 201, 201))),
    "wanted elsewhere": (check_bound_once, log_of(bind(1, "n1", 201), bind(2, "n2", 409))),
    "evicted again": (check_evicted_once, log_of(delete(1, 200, returned=200), delete(2, 200))),
    "evicted by name": (check_evicted_once, log_of(delete(1, 200, uid=""))),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_passes(case: str) -> None:
    check, log = RIGHT[case]
    check(log)


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_found(case: str) -> None:
    check, log = WRONG[case]
    with pytest.raises(AssertionError):
        check(log)


def test_after_a_restart_a_refused_request_for_another_node_is_no_fault() -> None:
    check_bound_once(log_of(bind(1, "n1", 201), bind(2, "n2", 409)), one_process=False)


def test_a_victim_must_matter_less_than_its_preemptor() -> None:
    event = {"regarding": {"uid": "victim"}, "note": "Preempted by pod preemptor on node n1"}
    log = log_of(exchange(1, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", event, 201))
    check_victims_matter_less(log, {"victim": 1, "preemptor": 2})
    with pytest.raises(AssertionError):
        check_victims_matter_less(log, {"victim": 2, "preemptor": 2})


def stored(*objects: Any) -> Store:
    store = Store()
    for obj in objects:
        store.create(obj, 0)
    return store


def test_a_pod_that_waits_though_it_fits_is_found() -> None:
    profiles = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))
    waiting = pod("a").cpu("1").manifest().obj()
    check_nobody_waits_in_vain(stored(node("n1").capacity(cpu="500m", pods=5).manifest().obj(), waiting), profiles)
    with pytest.raises(AssertionError, match="default/a"):
        check_nobody_waits_in_vain(stored(node("n1").capacity(cpu="2", pods=5).manifest().obj(), waiting), profiles)


def test_a_nomination_that_is_left_is_found() -> None:
    store = stored(pod("a").manifest().obj())
    document = {"status": {"nominatedNodeName": "n1"}}
    log = log_of(exchange(1, "PATCH", "/api/v1/namespaces/default/pods/a/status", document, 200))
    check_no_nomination_left(log, store)
    found = store.list(Pod)[0]
    status = replace(found.status, nominated_node_name="n1")
    store.modify_status(Pod, "default", "a", lambda each: replace(each, status=status), 1)
    check_no_nomination_left(log_of(), store)  # somebody else's
    with pytest.raises(AssertionError, match="n1"):
        check_no_nomination_left(log, store)


def test_a_binding_that_the_objects_do_not_show_is_found() -> None:
    store = stored(pod("a").manifest().obj())
    uid = store.list(Pod)[0].metadata.uid
    with pytest.raises(AssertionError, match="asked for n1"):
        check_bound_where_asked(log_of(bind(1, "n1", 201, uid=uid)), store)
    check_bound_where_asked(log_of(bind(1, "n1", 500, uid=uid)), store)
