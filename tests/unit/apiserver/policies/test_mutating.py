"""MutatingAdmissionPolicy, as what is stored shows it."""

from __future__ import annotations

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
from tests.support.policies import CONFIG_MAP_RULE, applying, mutating, patching, with_mutating

DENIED = "policy 'rule' with binding 'rule-bound' denied request: "
DEPLOYMENT_RULE: Document = {**CONFIG_MAP_RULE, "apiGroups": ["apps"], "resources": ["deployments"]}
POD_RULE: Document = {**CONFIG_MAP_RULE, "resources": ["pods"]}


def created(api: Api, **data: str) -> Document:
    return api.post(CONFIG_MAPS, config_map(**data))


def refused(*policies: Document) -> tuple[int, str, str]:
    status, answer = with_mutating(*policies).call("POST", CONFIG_MAPS, config_map())
    return status, answer["reason"], answer["message"]


def test_an_applied_configuration_is_merged() -> None:
    expression = """
        Object{
            metadata: Object.metadata{
                annotations: {"mutated-by": "policy", "had": string(has(object.data))}
            },
            data: {"b": "2"}
        }"""
    api = with_mutating(mutating(applying(expression)))
    made = created(api, a="1")
    assert made["data"] == {"a": "1", "b": "2"}
    assert made["metadata"]["annotations"] == {"mutated-by": "policy", "had": "true"}
    assert api.get(f"{CONFIG_MAPS}/m")["data"] == {"a": "1", "b": "2"}


def test_items_of_lists_are_merged_by_their_keys() -> None:
    path = "Object.spec.template.spec"
    containers = f"{path}.containers{{name: 'c', image: 'j'}}, {path}.containers{{name: 'side', image: 's'}}"
    spec = (
        f"Object{{spec: Object.spec{{template: Object.spec.template{{spec: {path}{{containers: [{containers}]}}}}}}}}"
    )
    api = with_mutating(mutating(applying(spec), rule=DEPLOYMENT_RULE))
    made = api.post(DEPLOYMENTS, deployment())["spec"]["template"]["spec"]["containers"]
    assert [(one["name"], one["image"], one["imagePullPolicy"]) for one in made] == [
        ("c", "j", "Always"),
        ("side", "s", "Always"),
    ]


def test_a_json_patch_is_applied() -> None:
    expression = """[
        JSONPatch{op: "test", path: "/data/a", value: "1"},
        JSONPatch{op: "move", from: "/data/a", path: "/data/z"},
        JSONPatch{op: "add", path: "/metadata/labels", value: {"a/b": "1"}},
        JSONPatch{op: "replace", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "2"}
    ]"""
    api = with_mutating(mutating(patching(expression)))
    made = created(api, a="1")
    assert (made["data"], made["metadata"]["labels"]) == ({"z": "1"}, {"a/b": "2"})
    assert api.post(CONFIG_MAPS, config_map("n", a="0"))["data"] == {"a": "0"}, "the test fails, and so nothing is done"


def test_objects_in_a_json_patch() -> None:
    value = "[Object.spec.tolerations{key: 'k', operator: 'Exists'}]"
    expression = f"[JSONPatch{{op: 'add', path: '/spec/tolerations', value: {value}}}]"
    api = with_mutating(mutating(patching(expression), rule=POD_RULE))
    assert {"key": "k", "operator": "Exists"} in api.post(PODS, pod())["spec"]["tolerations"]


def test_mutations_are_made_in_their_order() -> None:
    first, second = (applying(f"Object{{data: {{'n': {value}}}}}") for value in ("'1'", "object.data.n + '2'"))
    assert created(with_mutating(mutating(first, second)))["data"] == {"n": "12"}


def test_nobody_owns_what_a_policy_sets() -> None:
    api = with_mutating(mutating(applying("Object{data: {'b': '2'}}")))
    assert created(api, a="1")["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


def test_changes_and_conditions() -> None:
    rule = {**CONFIG_MAP_RULE, "operations": ["UPDATE"]}
    conditions = [{"name": "grown", "expression": "object.data.size() > oldObject.data.size()"}]
    policy = mutating(applying("Object{data: {'grown': 'yes'}}"), rule=rule, matchConditions=conditions)
    api = with_mutating(policy)
    assert created(api, a="1")["data"] == {"a": "1"}
    assert api.patch(f"{CONFIG_MAPS}/m", {"data": {"a": "2"}})["data"] == {"a": "2"}
    assert api.patch(f"{CONFIG_MAPS}/m", {"data": {"b": "2"}})["data"] == {"a": "2", "b": "2", "grown": "yes"}


def test_custom_resources() -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["toys"]}
    api = with_mutating(mutating(applying("Object{spec: Object.spec{size: 3}}"), rule=rule))
    api.post(DEFINITIONS, toy_definition())
    assert api.post(TOYS, toy(spec={"color": "red"}))["spec"] == {"color": "red", "size": 3}


SEEN = "Object{metadata: Object.metadata{annotations: {'seen': object.data.size() == 0 ? '0' : 'more'}}}"


@pytest.mark.parametrize(("policy", "seen"), [("Never", "0"), ("IfNeeded", "more")])
def test_a_policy_is_asked_again_after_others(policy: str, seen: str) -> None:
    first = mutating(applying(SEEN.replace("object.data", "object.?data.orValue({})")), reinvocationPolicy=policy)
    second = mutating(applying("Object{data: {'a': '1'}}"), name="second")
    made = created(with_mutating(first, second))
    assert made["metadata"]["annotations"] == {"seen": seen}


def test_validation_and_defaults_come_after() -> None:
    api = with_mutating(mutating(applying("Object{spec: Object.spec{replicas: -1}}"), rule=DEPLOYMENT_RULE))
    status, message = api.refusal("POST", DEPLOYMENTS, deployment())
    assert (status, "spec.replicas: Invalid value: -1" in message) == (422, True)


@pytest.mark.parametrize(
    ("mutation", "text"),
    [
        (
            applying("Object{data: Object.date{a: 'x'}}"),
            'type mismatch: unexpected type name "Object.date", expected "Object.data", which matches field name path '
            "from root Object type",
        ),
        (
            applying("Object{data: {'a': object.nope}}"),
            "expression 'Object{data: {'a': object.nope}}' resulted in error: no such key: nope",
        ),
        (
            applying("Object{nope: 1}"),
            "error applying patch: failed to convert patch object to typed object: .nope: field not declared in schema",
        ),
        (
            applying("Object{metadata: Object.metadata{ownerReferences: [], finalizers: []}}"),
            "",
        ),
    ],
)
def test_refusals(mutation: Document, text: str) -> None:
    if text:
        assert refused(mutating(mutation)) == (403, "Invalid", DENIED + text)
    else:
        assert created(with_mutating(mutating(mutation)))
    assert created(with_mutating(mutating(mutation, failurePolicy="Ignore")))


def test_what_is_replaced_as_a_whole_may_not_be_applied() -> None:
    selector = "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}"
    api = with_mutating(mutating(applying(selector), rule=DEPLOYMENT_RULE))
    status, message = api.refusal("POST", DEPLOYMENTS, deployment())
    text = "may not mutate atomic arrays, maps or structs: .spec.selector"
    assert (status, message) == (403, f"{DENIED}error applying patch: invalid ApplyConfiguration: {text}")


def test_a_patch_that_does_not_fit_the_kind_is_an_error_of_the_server() -> None:
    replicas = "[JSONPatch{op: 'add', path: '/spec/replicas', value: 'many'}]"
    api = with_mutating(mutating(patching(replicas), rule=DEPLOYMENT_RULE))
    assert api.refusal("POST", DEPLOYMENTS, deployment())[0] == 500
