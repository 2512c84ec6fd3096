"""What applying a strategic merge patch leaves of it, as refusals of a real server (v1.36) quote it."""

from typing import Any

import pytest

from bayplan.apiserver.patching.spent_patches import spent_patch
from bayplan.apiserver.schema.messages import message_of

POD = {"spec": {"containers": [{"name": "a", "image": "i", "env": [{"name": "x"}]}], "nodeSelector": {"a": "b"}}}


@pytest.mark.parametrize(
    ("patch", "left"),
    [
        ({"spec": {"hostname": None}}, {"spec": {"hostname": None}}),
        ({"spec": {"affinity": {"podAffinity": None}}}, {"spec": {"affinity": {}}}),
        ({"spec": {"nodeSelector": {"$patch": "replace", "c": None}}}, {"spec": {"nodeSelector": {"c": None}}}),
        ({"spec": {"nodeSelector": {"$patch": "delete"}}}, {"spec": {"nodeSelector": {"$patch": "delete"}}}),
        ({"spec": {"$retainKeys": ["hostname"], "hostname": "h"}}, {"spec": {"hostname": "h"}}),
        (
            {"spec": {"containers": [{"name": "b", "env": None}]}},
            {"spec": {"containers": [{"name": "b", "env": None}]}},
        ),
        (
            {"spec": {"containers": [{"name": "a", "resources": {"limits": None}}]}},
            {"spec": {"containers": [{"name": "a", "resources": {}}]}},
        ),
        (
            {"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "a"}], "nodeName": 1}},
            {"spec": {"nodeName": 1}},
        ),
        (
            {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
            {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
        ),
    ],
)
def test_directives_and_nulls_that_were_carried_out_are_gone(patch: dict[str, Any], left: dict[str, Any]) -> None:
    assert spent_patch(POD, patch, message_of("v1", "Pod")) == left
