"""Lists of the past can be had for five to ten minutes."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.housekeeping.stage import Stage

from bayplan.apiserver.housekeeping.compaction import INTERVAL_NS, PastVersions

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def stage() -> Stage:
    """Two maps, and a third that came after the list was begun."""
    made = Stage([PastVersions()])
    made.settle()
    for name in ("a", "b"):
        made.post(MAPS, metadata={"name": name})
    return made


def go_on(stage: Stage, nanoseconds: int) -> None:
    stage.api.now += nanoseconds
    stage.settle()


def begun(stage: Stage) -> str:
    """The token of a list's second page; another map comes later."""
    token: str = stage.api.get(f"{MAPS}?limit=1")["metadata"]["continue"]
    stage.post(MAPS, metadata={"name": "c"})
    return token


def status_of_the_rest(stage: Stage, token: str) -> int:
    return stage.api.answer("GET", f"{MAPS}?limit=5&continue={token}").status


def test_a_list_can_be_continued_for_five_minutes_and_not_for_ten(stage: Stage) -> None:
    token = begun(stage)
    go_on(stage, INTERVAL_NS)
    assert status_of_the_rest(stage, token) == 200
    go_on(stage, INTERVAL_NS)
    assert status_of_the_rest(stage, token) == 410


def test_the_refusal_has_a_token_for_the_rest_as_it_is_now(stage: Stage) -> None:
    token = begun(stage)
    go_on(stage, INTERVAL_NS)
    go_on(stage, INTERVAL_NS)
    _, refusal = stage.api.call("GET", f"{MAPS}?limit=5&continue={token}")
    assert refusal["reason"] == "Expired"
    assert stage.names(f"{MAPS}?limit=5&continue={refusal['metadata']['continue']}") == ["b", "c"]


def test_a_clock_that_is_put_forward_leaves_no_list_of_the_past(stage: Stage) -> None:
    token = begun(stage)
    go_on(stage, 2 * INTERVAL_NS)
    assert status_of_the_rest(stage, token) == 410


def test_a_list_to_which_nothing_happened_goes_on(stage: Stage) -> None:
    token = stage.api.get(f"{MAPS}?limit=1")["metadata"]["continue"]
    for _ in range(3):
        go_on(stage, INTERVAL_NS)
    assert status_of_the_rest(stage, token) == 200
