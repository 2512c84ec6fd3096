"""Definitions and policies that somebody writes to keep a server busy, and objects for them.

Gives plain data: patterns that make other engines go back for ever, rules about all pairs of a list, schemas that are
deep or wide or refer to nothing. Nothing here knows which of it is refused.
"""

from __future__ import annotations

from random import Random
from typing import Any

Plain = dict[str, Any]
GROUP = "hostile.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = f"{POLICIES.removesuffix('ies')}ybindings"
NAMES = ("alphas", "betas", "gammas", "deltas")
PATTERNS = (
    *("(a+)+$", "(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*x", "a{1000}{1000}", "(?=a)", "\\1", "[", "(?P<a>x"),
    *("^(a?){50}a{50}$", "[[:alpha:]]+", "\\pL*", "(?i)ſ+", ".{0,1000}.{0,1000}.{0,1000}x", "x*" * 300),
)
RULES = (
    "self.list.all(x, self.list.all(y, x == y || x != y))",
    "self.list.all(x, self.list.all(y, self.list.all(z, x + y + z != 'q')))",
    "self.list.map(x, self.list.map(y, x + y)).size() >= 0",
    "self.text.matches('(a+)+$')",
    "self.text.matches(self.text)",
    "(self.text + self.text + self.text + self.text).contains(self.text + 'b')",
    "self.text.replace('', self.text).size() > 0",
    "self.text.split('').all(x, self.text.split('').all(y, x <= y || x > y))",
    "self.number / 0 == 1",
    "self.number * self.number > 0",
    "self.list.exists_one(x, x.startsWith(self.text))",
    "self.map.all(k, self.map[k].size() < 100)",
    "oldSelf.text == self.text",
    "self.list.sum() == 3",
    "self.nothing.here",
    "((((((((((((((((((((self.number > 0))))))))))))))))))))",
    "!" * 300 + "true",
    "[" * 200 + "]" * 200 + " == []",
    " || ".join(["self.number == 1"] * 400),
    "'" + "x" * 3_000 + "' == self.text",
    "self.text == ",
    "",
)
VARIABLES = (
    *("object.metadata.name.size() > 0", "object.data.all(k, object.data.all(l, object.data[k] != object.data[l]))"),
    *("object.data.all(k, object.data[k].matches('(a+)+$'))", "variables.big.all(x, variables.big.all(y, x != y))"),
    *("[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, [1,2,3,4,5,6,7,8].all(c, a + b + c > 0)))", "params.x == 1"),
    *(
        "object == oldObject",
        "request.userInfo.username.matches('(x+x+)+y')",
        "authorizer.group('').check('x')",
        "1/0==1",
    ),
)


def definition(rng: Random) -> Plain:
    """A definition of one of a few custom resources, with something nasty in its schema."""
    plural = rng.choice(NAMES)
    kind = plural.removesuffix("s").capitalize()
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _schema(rng)}}
    if rng.random() < 0.2:
        version["subresources"] = {"status": {}, "scale": _scale(rng)}
    if rng.random() < 0.2:
        path = rng.choice(
            (".spec.number", ".spec.list[*]", ".spec['text']", "..", ".a" * 500, "{}", ".spec.list[9999]")
        )
        version["additionalPrinterColumns"] = [{"name": "x", "type": rng.choice(("string", "date")), "jsonPath": path}]
    scope = rng.choice(("Namespaced", "Namespaced", "Cluster"))
    spec = {"group": GROUP, "scope": scope, "names": names, "versions": [version]}
    metadata = {"name": f"{plural}.{GROUP}"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"} | {
        "metadata": metadata,
        "spec": spec,
    }


def _scale(rng: Random) -> Plain:
    path = rng.choice((".spec.number", ".spec.list", "spec", ".spec" * 100))
    return {"specReplicasPath": path, "statusReplicasPath": ".status.replicas"}


def _schema(rng: Random) -> Plain:
    few = {"maxItems": 50} if rng.random() < 0.5 else {}
    short = {"maxLength": 100} if rng.random() < 0.5 else {}
    text = {"type": "string", **short}
    if rng.random() < 0.3:
        text["pattern"] = rng.choice(PATTERNS)
    if rng.random() < 0.1:
        text["format"] = rng.choice(("date-time", "byte", "uuid", "ipv6", "email", "nonsense", "int32"))
    properties: Plain = {
        "list": {"type": "array", "items": {"type": "string", **short}, **few},
        "map": {"type": "object", "additionalProperties": {"type": "string"}, **({"maxProperties": 20} if few else {})},
        "text": text,
        "number": {"type": "integer", "minimum": -(2**63), "multipleOf": rng.choice((1, 0.1, 0, 3))},
    }
    if rng.random() < 0.2:
        properties["deep"] = _deep(rng.choice((5, 50, 200)))
    if rng.random() < 0.1:
        properties |= {f"wide{number}": {"type": "string"} for number in range(1_000)}
    if rng.random() < 0.1:
        properties["odd"] = rng.choice(
            ({"$ref": "#/x"}, {"type": "array"}, {"not": {}}, {"x-kubernetes-list-type": "map"})
        )
    spec: Plain = {"type": "object", "properties": properties}
    if rng.random() < 0.6:
        rules = [{"rule": rng.choice(RULES)} for _ in range(rng.choice((1, 1, 3, 30)))]
        if rng.random() < 0.2:
            rules[0]["messageExpression"] = rng.choice(
                ("self.text + self.text", "string(self.number)", "self.list", "(")
            )
        spec["x-kubernetes-validations"] = rules
    if rng.random() < 0.3:
        spec["default"] = {"text": "a" * 30 + "b", "number": 1}
    return {"type": "object", "properties": {"spec": spec}}


def _deep(levels: int) -> Plain:
    inner: Plain = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": inner}}
    return inner


def custom_object(rng: Random) -> tuple[str, Plain]:
    """A collection of one of these resources, and an object for it."""
    plural = rng.choice(NAMES)
    kind = plural.removesuffix("s").capitalize()
    many, long = rng.choice((0, 3, 50, 50, 2_000)), rng.choice((1, 30, 30, 100, 20_000))
    spec = {
        "list": [f"item {number}" for number in range(many)],
        "map": {f"key{number}": "a" * 20 for number in range(min(many, 100))},
        "text": "a" * long + rng.choice(("", "!", "b")),
        "number": rng.choice((0, 1, -(2**63), 2**63 - 1, 1.5)),
    }
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": f"web{rng.randrange(5)}"}, "spec": spec}
    return f"/apis/{GROUP}/v1/namespaces/default/{plural}", body


def policy(rng: Random) -> Plain:
    """A policy about ConfigMaps with an expression that takes long."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    spec = {
        "failurePolicy": rng.choice(("Fail", "Ignore")),
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "big", "expression": rng.choice(("object.data", "[1, 2, 3]", "object.data.map(k, k)"))}],
        "validations": [{"expression": rng.choice(VARIABLES)} for _ in range(rng.choice((1, 2, 20)))],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    return {**head, "metadata": {"name": f"hostile{rng.randrange(3)}"}, "spec": spec}


def binding(rng: Random) -> Plain:
    """A binding for one of these policies, which warns, so that other requests are still answered."""
    name = f"hostile{rng.randrange(3)}"
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding"}
    return {**head, "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Warn"]}}


def config_map(rng: Random) -> Plain:
    """A ConfigMap with much in it."""
    count, length = rng.choice(((1, 30), (100, 30), (2_000, 10), (10, 20_000), (1, 900_000)))
    data = {f"key{number}": "a" * length for number in range(count)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"big{rng.randrange(5)}"}, "data": data}
