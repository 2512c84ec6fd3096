"""Health pages, word for word as kube-scheduler has them."""

from __future__ import annotations

import pytest

from bayplan.serving.health import Check, HealthPage, health_metrics

LEADER = Check("leaderElection", lambda: "")
SHUTDOWN = Check("shutdown", lambda: "")
SYNC = Check("sched-handler-sync", lambda: "")
LATE = Check("sched-handler-sync", lambda: "handlers are not fully synchronized")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (HealthPage("healthz", (LEADER,)), "[+]leaderElection ok\nhealthz check passed\n"),
        (HealthPage("livez"), "[+]ping ok\nlivez check passed\n"),
        (
            HealthPage("readyz", (LEADER, SHUTDOWN, SYNC)),
            "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n",
        ),
    ],
    ids=["healthz", "livez", "readyz"],
)
def test_a_page_says_ok_and_on_demand_what_was_checked(page: HealthPage, text: str) -> None:
    assert page.answer().body == b"ok"
    answer = page.answer(verbose=True)
    assert (answer.status, answer.body.decode(), answer.content_type) == (200, text, "text/plain; charset=utf-8")


def test_a_failed_check_is_named_and_its_reason_withheld() -> None:
    answer = HealthPage("readyz", (LEADER, LATE)).answer()
    assert answer.status == 500
    assert answer.body == (
        b"[+]leaderElection ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
    )


def test_an_excluded_check_is_not_made() -> None:
    answer = HealthPage("readyz", (LEADER, LATE)).answer(verbose=True, excluded=["sched-handler-sync"])
    assert answer.status == 200
    assert answer.body == b"[+]leaderElection ok\n[+]sched-handler-sync excluded: ok\nreadyz check passed\n"


def test_what_cannot_be_excluded_is_named() -> None:
    answer = HealthPage("livez").answer(verbose=True, excluded=["zeal", "etcd"])
    warning = 'warn: some health checks cannot be excluded: no matches for "etcd","zeal"'
    assert answer.body.decode() == f"[+]ping ok\n{warning}\nlivez check passed\n"


def test_a_check_alone_says_what_is_wrong() -> None:
    page = HealthPage("readyz", (LEADER, LATE))
    assert page.answer_one("leaderElection").body == b"ok"
    answer = page.answer_one("sched-handler-sync")
    assert (answer.status, answer.body) == (500, b"internal server error: handlers are not fully synchronized\n")


def test_results_are_counted_by_check_and_page() -> None:
    live, ready = HealthPage("livez"), HealthPage("readyz", (LATE,))
    live.answer()
    live.answer()
    ready.answer()
    lines = health_metrics([live, ready], 12.5).splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        'kubernetes_healthcheck{name="ping",type="livez"} 1',
        'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0',
        'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 2',
        'kubernetes_healthchecks_total{name="sched-handler-sync",status="error",type="readyz"} 1',
        "process_start_time_seconds 12.5",
    ]
