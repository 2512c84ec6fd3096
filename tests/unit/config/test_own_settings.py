"""bayplan's own settings in a configuration that kube-scheduler reads too."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bayplan.config import load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.preemption.safety import LIVE, UPSTREAM, ForeignVictims, PreemptionSafety
from bayplan.model.errors import InvalidObject


def with_profiles(*settings: Any) -> dict[str, Any]:
    """A configuration with a profile for each of these args, None for a profile without an entry."""
    entries = [[] if args is None else [{"name": "bayplan", "args": args}] for args in settings]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": f"scheduler-{number}", "pluginConfig": entry} for number, entry in enumerate(entries)
        ],
    }


@pytest.mark.parametrize(
    ("settings", "wakeups"),
    [
        ([None], Wakeups.UPSTREAM),
        ([{}], Wakeups.UPSTREAM),
        ([{"wakeups": "upstream"}], Wakeups.UPSTREAM),
        ([{"wakeups": "complete"}], Wakeups.COMPLETE),
        ([None, {"wakeups": "complete"}], Wakeups.COMPLETE),
        ([{"wakeups": "complete"}, {"wakeups": "complete"}], Wakeups.COMPLETE),
    ],
)
def test_which_wakeups(settings: list[Any], wakeups: Wakeups) -> None:
    assert load_configuration(with_profiles(*settings), release=DEFAULT_RELEASE).wakeups is wakeups


@pytest.mark.parametrize(
    ("settings", "field", "message"),
    [
        (
            [{"wakeups": "all"}],
            "profiles[0].pluginConfig[0].args.wakeups",
            'Unsupported value: "all": supported values: "upstream", "complete"',
        ),
        ([{"wakeUps": "complete"}], "profiles[0].pluginConfig[0].args.wakeUps", "unknown field"),
        (
            [{"wakeups": "complete"}, {"wakeups": "upstream"}],
            "profiles[1].pluginConfig[0].args.wakeups",
            "must be the same for all profiles",
        ),
        (
            [{"foreignVictims": "sometimes"}],
            "profiles[0].pluginConfig[0].args.foreignVictims",
            'Unsupported value: "sometimes": supported values: "allow", "never"',
        ),
        (
            [{"evictionsPerMinute": -1}],
            "profiles[0].pluginConfig[0].args.evictionsPerMinute",
            "Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            [{"evictionsPerMinute": 1}, {"evictionsPerMinute": 2}],
            "profiles[1].pluginConfig[0].args.evictionsPerMinute",
            "must be the same for all profiles",
        ),
    ],
)
def test_refused(settings: list[Any], field: str, message: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        load_configuration(with_profiles(*settings), release=DEFAULT_RELEASE)
    assert [(fault.field, fault.message) for fault in caught.value.faults] == [(field, message)]


@pytest.mark.parametrize(
    ("settings", "safety"),
    [
        ([None], UPSTREAM),
        ([{"foreignVictims": "never"}], PreemptionSafety(ForeignVictims.NEVER)),
        (
            [{"evictionsPerMinute": 5, "evictionsPerMinutePerNamespace": 2}, {"preemptionLoopRounds": 3}],
            PreemptionSafety(ForeignVictims.ALLOW, 5, 2, 3),
        ),
        ([{"evictionsPerMinute": 5}, {"evictionsPerMinute": 5}], PreemptionSafety(evictions_per_minute=5)),
    ],
)
def test_limits_of_preemption(settings: list[Any], safety: PreemptionSafety) -> None:
    assert load_configuration(with_profiles(*settings), release=DEFAULT_RELEASE).safety == safety


def test_what_holds_where_the_file_is_silent() -> None:
    """A live scheduler starts from other limits; what the file says replaces each of them."""
    assert load_configuration(None, safety=LIVE, release=DEFAULT_RELEASE).safety == LIVE
    given = load_configuration(
        with_profiles({"foreignVictims": "allow", "preemptionLoopRounds": 0}), safety=LIVE, release=DEFAULT_RELEASE
    )
    assert given.safety == UPSTREAM


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"foreign_victims": "sometimes"}, "'sometimes' is not a valid ForeignVictims"),
        ({"evictions_per_minute": -1}, "preemption limits must be greater than or equal to 0"),
        ({"evictions": 1}, "unexpected keyword argument 'evictions'"),
    ],
)
def test_limits_that_do_not_exist(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        with_settings(UPSTREAM, given)
