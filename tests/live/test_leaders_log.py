"""Who may write when, on logs made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.live.leaders import check_one_leader, takeovers
from tests.live.records import Answer, Exchange, Log

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler?timeout=5s"


def write(who: str, at: float, method: str, path: str, document: Any, status: int = 200) -> Exchange:
    return Exchange(who, at, method, path, {}, json.dumps(document).encode(), answers=[Answer(at + 0.1, status, b"{}")])


def lease(who: str, at: float, holder: str | None = None, status: int = 200) -> Exchange:
    spec = {"holderIdentity": f"host_{who}" if holder is None else holder, "leaseDurationSeconds": 3}
    return write(who, at, "PUT", LEASE, {"spec": spec}, status)


def bind(who: str, at: float) -> Exchange:
    return write(who, at, "POST", "/api/v1/namespaces/default/pods/a/binding", {})


def log_of(*exchanges: Exchange) -> Log:
    log = Log()
    log.exchanges.extend(exchanges)
    return log


RIGHT = {
    "a leader": log_of(lease("A", 1), bind("A", 2), lease("A", 3), bind("A", 5.9)),
    "one after the other": log_of(lease("A", 1), bind("A", 2), lease("B", 5), bind("B", 5.2)),
    "another was refused": log_of(lease("A", 1), lease("B", 2, status=409), bind("A", 3)),
}
WRONG = {
    "before anybody led": log_of(bind("A", 0.5), lease("A", 1)),
    "B led": log_of(lease("A", 1), lease("B", 5), bind("A", 5.2)),
    "given back": log_of(lease("A", 1), lease("A", 2, holder=""), bind("A", 2.5)),
    "after the Lease had ended": log_of(lease("A", 1), bind("A", 4.2)),
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_leader_may_write(case: str) -> None:
    check_one_leader(RIGHT[case])


@pytest.mark.parametrize("case", WRONG)
def test_nobody_else_may(case: str) -> None:
    with pytest.raises(AssertionError, match=case):
        check_one_leader(WRONG[case])


def test_a_log_that_is_late_is_given_some_slack() -> None:
    check_one_leader(WRONG["after the Lease had ended"], slack_s=0.5)
    with pytest.raises(AssertionError):
        check_one_leader(WRONG["B led"], slack_s=0.01)


def test_a_reign_begins_with_its_first_renewal() -> None:
    log = log_of(lease("A", 1), lease("A", 2), lease("B", 5), lease("B", 6), lease("A", 9))
    assert [(each.who, round(each.at - 0.1)) for each in takeovers(log)] == [("A", 1), ("B", 5), ("A", 9)]
