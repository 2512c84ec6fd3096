"""ValidatingAdmissionPolicy, as its refusals and warnings show it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    PODS,
    TOYS,
    Api,
    Document,
    config_map,
    deployment,
    pod,
    toy,
    toy_definition,
)
from tests.support.policies import BINDINGS, CONFIG_MAP_RULE, POLICIES, binding, validating, with_policy

DENIED = "ValidatingAdmissionPolicy 'rule' with binding 'bound' denied request"
HAS_A = "has(object.data) && 'a' in object.data"


def refused(api: Api, document: Document | None = None) -> str:
    """Why a config map is refused, without what every refusal says; empty if it is accepted."""
    status, answer = api.call("POST", CONFIG_MAPS, document or config_map())
    if status == 201:
        return ""
    start = 'configmaps "m" is forbidden: '
    assert answer["message"].startswith(start), answer
    text: str = answer["message"].removeprefix(start).removeprefix(f"{DENIED}: ")
    return text


def test_a_refusal_in_the_words_of_the_real_server() -> None:
    api = with_policy(validating(HAS_A))
    status, answer = api.call("POST", CONFIG_MAPS, config_map())
    assert (status, answer["reason"]) == (422, "Invalid")
    message = f"{DENIED}: failed expression: {HAS_A}"
    assert answer["message"] == f'configmaps "m" is forbidden: {message}'
    assert answer["details"] == {"name": "m", "kind": "configmaps", "causes": [{"message": message}]}
    assert not refused(api, config_map(a="1"))


@pytest.mark.parametrize(
    ("reason", "code"), [("Forbidden", 403), ("Unauthorized", 401), ("RequestEntityTooLarge", 413), ("Invalid", 422)]
)
def test_the_reason_decides_the_code(reason: str, code: int) -> None:
    api = with_policy(validating({"expression": "false", "reason": reason}))
    status, answer = api.call("POST", CONFIG_MAPS, config_map())
    assert (status, answer["code"], answer["reason"]) == (code, code, reason)


@pytest.mark.parametrize(
    ("validation", "text"),
    [
        ({"message": " no "}, "no"),
        ({"messageExpression": "'no ' + object.metadata.name"}, "no m"),
        ({"message": "no", "messageExpression": "'a\\nb'"}, "no"),
        ({"message": "no", "messageExpression": "' '"}, "no"),
        ({"message": "no", "messageExpression": "'no ' + object.metadata.generation"}, "no"),
        ({"messageExpression": "string(object.spec.nope)"}, "failed expression: false"),
    ],
)
def test_messages(validation: Document, text: str) -> None:
    assert refused(with_policy(validating({"expression": "false", **validation}))) == text


def test_the_first_refusal_is_told() -> None:
    api = with_policy(validating("true", {"expression": "false", "message": "b"}, {"expression": "false"}))
    assert refused(api) == "b"


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.namespace == 'default'",
        "oldObject == null",
        "request.operation == 'CREATE' && request.resource.resource == 'configmaps'",
        "request.name == 'm' && request.namespace == 'default' && !request.dryRun",
        "request.userInfo.username == 'admin' && 'system:masters' in request.userInfo.groups",
        "namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'",
        "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()",
        "authorizer.requestResource.check('create').allowed()",
        "!has(object.data)",
    ],
)
def test_what_expressions_see(expression: str) -> None:
    assert not refused(with_policy(validating(expression)))
    assert refused(with_policy(validating(f"!({expression})")))


def test_variables_build_upon_each_other_and_are_found_when_needed() -> None:
    variables = [
        {"name": "size", "expression": "has(object.data) ? object.data.size() : 0"},
        {"name": "isOdd", "expression": "variables.size % 2 == 1"},
        {"name": "broken", "expression": "object.nope"},
    ]
    api = with_policy(validating("variables.isOdd", "variables.size < 3 || variables.broken", variables=variables))
    assert refused(api, config_map(a="1", b="2")) == "failed expression: variables.isOdd"
    text = refused(api, config_map(a="1", b="2", c="3"))
    assert 'composited variable "broken" fails to evaluate: no such key: nope' in text
    assert not refused(api, config_map(a="1"))


@pytest.mark.parametrize(("policy", "is_refused"), [("Fail", True), ("Ignore", False)])
def test_an_error_counts_as_the_failure_policy_says(policy: str, is_refused: bool) -> None:
    text = refused(with_policy(validating("object.spec.x == 1", failurePolicy=policy)))
    expected = "expression 'object.spec.x == 1' resulted in error: no such key: spec"
    assert text == (expected if is_refused else "")


def test_an_expression_that_costs_too_much_is_an_error() -> None:
    nested = "range.all(a, range.all(b, range.all(c, range.all(d, a + b + c + d >= 0))))"
    text = refused(with_policy(validating(f"cel.bind(range, lists.range(100), {nested})")))
    assert "operation canceled: actual cost limit exceeded" in text


def test_conditions_decide_whether_a_policy_applies() -> None:
    conditions = [{"name": "by-name", "expression": "object.metadata.name != 'm'"}]
    api = with_policy(validating("false", matchConditions=conditions))
    assert not refused(api)
    assert api.call("POST", CONFIG_MAPS, config_map("other"))[0] == 422
    conditions = [{"name": "broken", "expression": "object.nope == 1"}, {"name": "no", "expression": "false"}]
    assert not refused(with_policy(validating("false", matchConditions=conditions)))
    assert "no such key" in refused(with_policy(validating("true", matchConditions=conditions[:1])))
    assert not refused(with_policy(validating("false", matchConditions=conditions[:1], failurePolicy="Ignore")))


def test_warnings_instead_of_a_refusal() -> None:
    api = with_policy(validating({"expression": "false", "message": 'say "a"'}), binding("Warn", "Audit"))
    answer = api.answer("POST", CONFIG_MAPS, config_map())
    text = "Validation failed for ValidatingAdmissionPolicy 'rule' with binding 'bound': say \\\"a\\\""
    assert (answer.status, answer.headers) == (201, (("warning", f'299 - "{text}"'),))


def test_a_refusal_comes_with_the_warnings_of_others() -> None:
    api = with_policy(validating("false"), binding("Warn"))
    api.post(POLICIES, {**validating("false"), "metadata": {"name": "strict"}})
    api.post(BINDINGS, {"metadata": {"name": "s"}, "spec": {"policyName": "strict", "validationActions": ["Deny"]}})
    answer = api.answer("POST", CONFIG_MAPS, config_map())
    assert (answer.status, [name for name, _ in answer.headers]) == (422, ["warning"])


def test_audit_annotations_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    annotations = [
        {"key": "name", "valueExpression": "'called ' + object.metadata.name"},
        {"key": "none", "valueExpression": "object.metadata.name == 'x' ? 'x' : ''"},
    ]
    api = with_policy(validating("false", auditAnnotations=annotations), binding("Audit"))
    with caplog.at_level("INFO"):
        assert not refused(api)
    failure = (
        '[{"message":"failed expression: false","policy":"rule","binding":"bound","expressionIndex":0,'
        '"validationActions":["Audit"]}]'
    )
    assert caplog.messages == [
        f"audit annotation validation.policy.admission.k8s.io/validation_failure: {failure}",
        "audit annotation rule/name: called m",
    ]


def test_an_audit_annotation_that_fails_refuses() -> None:
    annotations = [{"key": "name", "valueExpression": "string(object.nope)"}]
    text = refused(with_policy(validating(auditAnnotations=annotations), binding("Audit")))
    assert text == "expression 'string(object.nope)' resulted in error: no such key: nope"


def test_updates_and_deletions() -> None:
    rule = {**CONFIG_MAP_RULE, "operations": ["UPDATE", "DELETE"]}
    keeps = "object == null ? oldObject.metadata.name != 'm' : object.data.a == oldObject.data.a"
    api = with_policy(validating(keeps, rule=rule))
    api.post(CONFIG_MAPS, config_map(a="1"))
    api.post(CONFIG_MAPS, config_map("n", a="1"))
    path = f"{CONFIG_MAPS}/m"
    assert api.refusal("PATCH", path, {"data": {"a": "2"}}, "application/merge-patch+json")[0] == 422
    assert api.refusal("PUT", path, config_map(a="2"))[0] == 422
    assert api.refusal("DELETE", path)[1].endswith(f"{DENIED}: failed expression: {keeps}")
    api.patch(path, {"data": {"b": "2"}})
    assert api.refusal("DELETE", CONFIG_MAPS)[0] == 422
    api.delete(f"{CONFIG_MAPS}/n")


def test_a_change_of_the_policy_counts_at_once() -> None:
    api = with_policy(validating("false"))
    assert refused(api)
    api.patch(f"{POLICIES}/rule", {"spec": {"validations": [{"expression": "true"}]}})
    assert not refused(api)
    api.delete(f"{BINDINGS}/bound")
    api.delete(f"{POLICIES}/rule")
    api.post(POLICIES, validating("false"))
    assert not refused(api, config_map("unbound"))


def subresource_rule(name: str, group: str = "") -> Document:
    return {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["*"], "resources": [name]}


def test_subresources_are_asked_about_by_their_own_name() -> None:
    api = with_policy(validating("object.spec.replicas < 3", rule=subresource_rule("deployments/scale", "apps")))
    api.post(DEPLOYMENTS, deployment(replicas=5))
    scale = f"{DEPLOYMENTS}/d/scale"
    assert api.refusal("PATCH", scale, {"spec": {"replicas": 4}}, "application/merge-patch+json")[0] == 422
    assert api.patch(scale, {"spec": {"replicas": 2}})["spec"]["replicas"] == 2


def test_evictions_and_bindings() -> None:
    rule = {**subresource_rule("pods/eviction"), "resources": ["pods/eviction", "pods/binding"]}
    api = with_policy(validating("object.metadata.name != 'p'", rule=rule))
    api.post(PODS, pod())
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert api.refusal("POST", f"{PODS}/p/eviction", eviction)[0] == 422
    bound = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert api.refusal("POST", f"{PODS}/p/binding", bound)[0] == 422


def test_custom_resources() -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["toys"]}
    api = with_policy(validating("object.metadata.name != 't' || request.operation == 'UPDATE'", rule=rule))
    api.post(DEFINITIONS, toy_definition())
    assert api.refusal("POST", TOYS, toy())[0] == 422
    api.post(TOYS, toy("u"))
    assert api.patch(f"{TOYS}/u", {"x": 1})["x"] == 1


def test_policies_are_never_asked_about_themselves() -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    api = with_policy(validating("false", rule=rule))
    assert refused(api)
    api.delete(f"{POLICIES}/rule")


PARAMS: Document = {"apiVersion": "v1", "kind": "ConfigMap"}
NOT_LIMITS = [{"name": "not-limits", "expression": "!object.metadata.name.startsWith('limits')"}]


def with_params(reference: Document, **namespaced: Any) -> Api:
    policy = validating(
        "params == null || object.data.size() <= int(params.data.max)",
        paramKind=PARAMS,
        matchConditions=NOT_LIMITS,
        **namespaced,
    )
    api = Api()
    for name, most in (("limits-a", "1"), ("limits-b", "2")):
        made = config_map(name, max=most)
        made["metadata"]["labels"] = {"limit": "yes"}
        api.post(CONFIG_MAPS, made)
    api.post(POLICIES, policy)
    api.post(BINDINGS, binding(paramRef={"parameterNotFoundAction": "Deny", **reference}))
    return api


def test_parameters_by_name_and_by_selector() -> None:
    one, two = config_map(a="1"), config_map(a="1", b="2")
    assert not refused(with_params({"name": "limits-a"}), one)
    assert refused(with_params({"name": "limits-a"}), two)
    assert not refused(with_params({"name": "limits-b", "namespace": "default"}), two)
    assert refused(with_params({"selector": {"matchLabels": {"limit": "yes"}}}), two)


def test_parameters_that_are_not_found() -> None:
    text = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert refused(with_params({"name": "nope"}), config_map(a="1")) == text
    assert not refused(with_params({"name": "nope", "parameterNotFoundAction": "Allow"}), config_map(a="1"))


def test_a_kind_of_parameters_that_is_not_served() -> None:
    api = with_policy(validating("true", paramKind={"apiVersion": "example.com/v1", "kind": "Nope"}))
    kind = "example.com/v1, Kind=Nope"
    text = f"failed to configure policy: failed to find resource referenced by paramKind: '{kind}'"
    assert refused(api) == f"ValidatingAdmissionPolicy 'rule' denied request: {text}"


def test_parameters_are_null_without_a_reference() -> None:
    api = with_policy(validating("params == null", paramKind=PARAMS))
    assert not refused(api)
