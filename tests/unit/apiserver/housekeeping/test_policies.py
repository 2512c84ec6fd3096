"""The status of validating policies."""

from __future__ import annotations

from tests.support.policies import POLICIES, validating
from tests.unit.apiserver.housekeeping.stage import Stage

from bayplan.apiserver.housekeeping.policies import PolicyTypes

RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}


def test_each_generation_of_a_policy_is_checked() -> None:
    stage = Stage([PolicyTypes()])
    stage.post(POLICIES, **validating("object.spec.replicas > 1", rule=RULE))
    assert stage.api.get(f"{POLICIES}/rule")["status"] == {"observedGeneration": 1, "typeChecking": {}}
    stage.patch(f"{POLICIES}/rule", spec={"validations": [{"expression": "object.spec.replicas > '1'"}]})
    status = stage.api.get(f"{POLICIES}/rule")["status"]
    assert status["observedGeneration"] == 2
    assert [one["fieldRef"] for one in status["typeChecking"]["expressionWarnings"]] == [
        "spec.validations[0].expression"
    ]
