"""New nodes are tainted as not ready, whatever they say of themselves."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api

from bayplan.apiserver.admitting.plugins.switchable import NODE_TAINTS

NODES = "/api/v1/nodes"
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OTHER = {"key": "a", "value": "b", "effect": "NoSchedule"}
OTHER_EFFECT = {**NOT_READY, "effect": "NoExecute"}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, [NOT_READY]),
        ([], [NOT_READY]),
        ([OTHER], [OTHER, NOT_READY]),
        ([OTHER_EFFECT], [OTHER_EFFECT, NOT_READY]),
        ([NOT_READY, OTHER], [NOT_READY, OTHER]),
        ([{**NOT_READY, "value": "v"}], [{**NOT_READY, "value": "v"}]),
    ],
)
def test_the_taint_comes_last_unless_it_is_there(given: list[Any] | None, expected: list[Any]) -> None:
    api = Api()
    api.registry.plugins = frozenset({NODE_TAINTS})
    spec = {} if given is None else {"taints": given}
    made = api.post(NODES, {"metadata": {"name": "n"}, "spec": spec, "status": READY})
    assert made["spec"]["taints"] == expected


def test_only_when_it_is_created() -> None:
    api = Api()
    api.registry.plugins = frozenset({NODE_TAINTS})
    made = api.post(NODES, {"metadata": {"name": "n"}})
    assert "taints" not in api.put(f"{NODES}/n", {**made, "spec": {}})["spec"]


def test_not_where_the_plugin_is_off() -> None:
    assert "taints" not in Api().post(NODES, {"metadata": {"name": "n"}})["spec"]
