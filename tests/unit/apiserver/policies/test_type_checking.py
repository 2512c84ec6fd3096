"""Types in the expressions of validating policies."""

from __future__ import annotations

import pytest
from tests.support.api_server import DEFINITIONS, Api, toy_definition
from tests.support.policies import validating

from bayplan.apiserver.policies.type_checking import expression_warnings

DEPLOYMENT_RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}
TOY_RULE = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["toys"]}


def warnings(api: Api, policy: dict[str, object]) -> dict[str, str]:
    """By the field."""
    found = expression_warnings(policy, api.registry.catalogue, api.registry.definitions)
    return {warning["fieldRef"]: warning["warning"] for warning in found}


def test_types_that_do_not_fit_are_told_by_kind_and_field() -> None:
    validation = {
        "expression": "object.spec.replicas > '1'",
        "messageExpression": "'wants replicas > 1, got ' + object.spec.replicas",
    }
    assert warnings(Api(), validating("true", validation, rule=DEPLOYMENT_RULE)) == {
        "spec.validations[1].expression": (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to "
            "'(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n"
        ),
        "spec.validations[1].messageExpression": (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:28: found no matching overload for '_+_' applied to "
            "'(string, int)'\n | 'wants replicas > 1, got ' + object.spec.replicas\n | ...........................^\n"
        ),
    }


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("object.spec.template.spec.containers.all(c, c.image.startsWith('a'))", ""),
        ("object.spec.template.spec.containers.all(c, c.imagge == 'a')", "undefined field 'imagge'"),
        ("object.metadata.labels['a'] == 'b' && object.metadata.namespace == 'c'", ""),
        ("object.metadata.labels == 'b'", "found no matching overload for '_==_'"),
        ("object.spec.template.spec.containers[0].ports[0].containerPort > 1", ""),
        ("object.spec.strategy.rollingUpdate.maxSurge == 1", ""),
        ("object.spec.strategy.rollingUpdate.maxSurge == '1'", ""),
        ("oldObject.spec.nope == 1", "undefined field 'nope'"),
        ("variables.n == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("params.data.a == 'x'", ""),
        ("params.spec == 1", "undefined field 'spec'"),
        ("request.userInfo.groups.exists(g, g == 1)", "found no matching overload for '_==_'"),
    ],
)
def test_what_is_known_of_types(expression: str, fault: str) -> None:
    variables = [{"name": "n", "expression": "object.spec.replicas"}]
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    found = warnings(Api(), validating(expression, rule=DEPLOYMENT_RULE, variables=variables, paramKind=kind))
    assert (fault in found["spec.validations[0].expression"]) if fault else not found


def test_custom_resources_are_known_by_their_schema() -> None:
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "port": {"x-kubernetes-int-or-string": True},
            "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    api = Api()
    api.post(DEFINITIONS, toy_definition({"type": "object", "properties": {"spec": spec}}))
    good = "object.spec.size > 1 && object.spec.port == 1 && object.spec.parts.all(p, p.name == 'a')"
    assert not warnings(api, validating(f"{good} && object.spec.tags['a'] == 'b'", rule=TOY_RULE))
    for bad in ("object.spec.size == 'a'", "object.spec.parts.all(p, p.size == 1)", "object.spec.tags['a'] == 1"):
        assert warnings(api, validating(bad, rule=TOY_RULE))


def test_what_is_matched_by_wildcards_is_not_checked() -> None:
    for field in ("apiGroups", "apiVersions", "resources"):
        assert not warnings(Api(), validating("object.nope", rule={**DEPLOYMENT_RULE, field: ["*"]}))
