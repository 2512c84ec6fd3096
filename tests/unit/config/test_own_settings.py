"""bayplan's own settings in a configuration that kube-scheduler reads too."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.config import load_configuration
from bayplan.core.framework.requeue import Wakeups
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
    assert load_configuration(with_profiles(*settings)).wakeups is wakeups


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
    ],
)
def test_refused(settings: list[Any], field: str, message: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        load_configuration(with_profiles(*settings))
    assert [(fault.field, fault.message) for fault in caught.value.faults] == [(field, message)]
