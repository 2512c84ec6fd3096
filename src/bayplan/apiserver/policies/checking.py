"""Policies and bindings as they are written: what they must have, and that their expressions compile.

Adds faults in upstream's words and order. Upstream: pkg/apis/admissionregistration/validation/validation.go (v1.36).
"""

from __future__ import annotations

import re
from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.policies.expressions import Compiler, Declared, Expression
from bayplan.apiserver.policies.mutating import APPLY_CONFIGURATION, PATCHES
from bayplan.apiserver.policies.object_literals import JSON_PATCH, OBJECT
from bayplan.model.dns_names import dns1035_faults, subdomain_faults
from bayplan.model.names import label_key_faults

_NOTHING_TO_DO: Final = "validations or auditAnnotations must contain at least one item"
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
REINVOCATIONS: Final = ("IfNeeded", "Never")
_PATCH_TYPES: Final = (APPLY_CONFIGURATION, JSON_PATCH)
_EITHER: Final = "name and selector are mutually exclusive"
_ANNOTATIONS_MAX: Final = 20
_CONDITIONS_MAX: Final = 64
_ANY = "*"
_SCOPES = ("*", "Cluster", "Namespaced")
FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


def check_validating_policy(policy: Document, faults: Faults) -> None:
    spec = policy["spec"]
    compiler = _common(spec, faults)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        faults.required("spec.validations", _NOTHING_TO_DO)
        faults.required("spec.auditAnnotations", _NOTHING_TO_DO)
    for position, validation in enumerate(validations):
        _check_validation(validation, compiler, faults, f"spec.validations[{position}]")
    _check_annotations(policy, annotations, compiler, faults)


def _check_annotations(policy: Document, annotations: list[Document], compiler: Compiler, faults: Faults) -> None:
    name, keys = policy["metadata"].get("name", ""), [annotation["key"] for annotation in annotations]
    if len(annotations) > _ANNOTATIONS_MAX:
        text = f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations"
        shown = [{"Key": each["key"], "ValueExpression": each.get("valueExpression", "")} for each in annotations]
        faults.invalid("spec.auditAnnotations", shown, text)
    for position, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{position}]", keys[position]
        if name:
            faults.all_invalid(f"{path}.key", f"{name}/{key}", label_key_faults(f"{name}/{key}"))
        else:
            faults.invalid(f"{path}.key", key, "requires metadata.name be non-empty")
        made = compiler.compile(annotation.get("valueExpression", ""), "string", "null_type")
        check_expression(made, faults, f"{path}.valueExpression", "valueExpression is not specified")
        if key in keys[:position]:
            faults.duplicate(f"{path}.key", key)


def _check_validation(validation: Document, compiler: Compiler, faults: Faults, path: Path) -> None:
    expression, message = validation.get("expression", ""), validation.get("message", "")
    made = compiler.compile(expression, "bool")
    check_expression(made, faults, f"{path}.expression", "expression is not specified")
    if validation.get("messageExpression"):
        made = compiler.having(has_authorizer=False).compile(validation["messageExpression"], "string")
        check_expression(made, faults, f"{path}.messageExpression")
    if message and not message.strip():
        faults.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        faults.invalid(f"{path}.message", message, "must not contain line breaks")
    elif "\n" in expression.strip() and not message:
        faults.required(f"{path}.message", "message must be specified if expression contains line breaks")
    if validation.get("reason") and validation["reason"] not in ("Unauthorized", *_REASONS):
        faults.unsupported(f"{path}.reason", validation["reason"], _REASONS)


def check_mutating_policy(policy: Document, faults: Faults) -> None:
    spec = policy["spec"]
    patching = _common(spec, faults, is_mutating=True).having(has_patches=True)
    if not spec.get("mutations"):
        faults.required("spec.mutations", "mutations must contain at least one item")
    for position, mutation in enumerate(spec.get("mutations") or ()):
        _check_mutation(mutation, patching, faults, f"spec.mutations[{position}]")
    faults.one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy"), REINVOCATIONS)


def _check_mutation(mutation: Document, compiler: Compiler, faults: Faults, path: Path) -> None:
    kind = mutation.get("patchType")
    if kind not in _PATCH_TYPES:
        faults.one_of(f"{path}.patchType", kind, _PATCH_TYPES)
        return
    fields = ("applyConfiguration", "jsonPatch")
    field, other = fields if kind == APPLY_CONFIGURATION else fields[::-1]
    if mutation.get(field) is None:
        faults.required(f"{path}.{field}", f"must be specified when patchType is {kind}")
    else:
        wanted = OBJECT if kind == APPLY_CONFIGURATION else PATCHES
        made = compiler.compile(mutation[field].get("expression", ""), wanted)
        check_expression(made, faults, f"{path}.{field}.expression")
    if mutation.get(other) is not None:
        faults.invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {kind}")


def _common(spec: Document, faults: Faults, *, is_mutating: bool = False) -> Compiler:
    """What both kinds have; gives what compiles the rest."""
    faults.one_of("spec.failurePolicy", spec.get("failurePolicy"), FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        _check_param_kind(spec["paramKind"], faults, "spec.paramKind")
    if spec.get("matchConstraints") is None:
        faults.required("spec.matchConstraints")
    else:
        _check_matching(spec["matchConstraints"], faults, "spec.matchConstraints", is_mutating=is_mutating)
        if not spec["matchConstraints"].get("resourceRules"):
            faults.required("spec.matchConstraints.resourceRules")
    compiler = Compiler(Declared(has_params=spec.get("paramKind") is not None), spec.get("variables") or ())
    check_match_conditions(spec.get("matchConditions") or [], compiler, faults, "spec.matchConditions")
    for position, variable in enumerate(spec.get("variables") or ()):
        _check_variable(variable, compiler, faults, f"spec.variables[{position}]")
    return compiler


def _check_variable(variable: Document, compiler: Compiler, faults: Faults, path: Path) -> None:
    name = variable["name"]
    if not name.strip():
        faults.required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name):
        faults.invalid(f"{path}.name", name, "must be a valid CEL identifier")
    check_expression(compiler.variables[name], faults, f"{path}.expression", "expression is not specified")


def check_match_conditions(conditions: list[Document], compiler: Compiler, faults: Faults, path: Path) -> None:
    """What must hold before a policy or a webhook is asked."""
    if len(conditions) > _CONDITIONS_MAX:
        faults.too_many(path, len(conditions), _CONDITIONS_MAX)
    names: set[str] = set()
    for position, condition in enumerate(conditions):
        at, name = f"{path}[{position}]", condition["name"]
        check_expression(compiler.compile(condition.get("expression", ""), "bool"), faults, f"{at}.expression")
        faults.named(f"{at}.name", name, label_key_faults)
        if name and name in names:
            faults.duplicate(f"{at}.name", name)
        names.add(name)


def check_expression(expression: Expression, faults: Faults, path: Path, missing: str = "") -> None:
    """Of an expression that is there and can be asked."""
    if not expression.text.strip():
        faults.required(path, missing)
    elif expression.program is None:
        faults.invalid(path, expression.text.strip(), expression.fault)


def _check_param_kind(kind: Document, faults: Faults, path: Path) -> None:
    if not kind.get("apiVersion"):
        faults.required(f"{path}.apiVersion")
    else:
        _check_version(kind["apiVersion"], faults, f"{path}.apiVersion")
    if not kind.get("kind"):
        faults.required(f"{path}.kind")
    else:
        wrong = dns1035_faults(kind["kind"].lower())
        if wrong:
            text = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            faults.invalid(f"{path}.kind", kind["kind"], text)


def _check_version(text: str, faults: Faults, path: Path) -> None:
    """Of an API version, with its group or without."""
    if text.count("/") > 1:
        faults.invalid(path, text, f"unexpected GroupVersion string: {text}")
        return
    group, _, version = text.rpartition("/")
    if group and subdomain_faults(group):
        faults.invalid(path, group, ",".join(subdomain_faults(group)))
    if not version:
        faults.invalid(path, text, "version must be specified")
    elif dns1035_faults(version):
        faults.invalid(path, version, ",".join(dns1035_faults(version)))


def _check_matching(matching: Document, faults: Faults, path: Path, *, is_mutating: bool) -> None:
    if matching.get("matchPolicy") is None:
        faults.required(f"{path}.matchPolicy")
    faults.supported(f"{path}.matchPolicy", matching.get("matchPolicy"), MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        if matching.get(field) is None:
            faults.required(f"{path}.{field}")
        check_label_selector(matching.get(field), faults, f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for position, rule in enumerate(matching.get(field) or ()):
            check_rule(rule, faults, f"{path}.{field}[{position}]")
    if is_mutating:
        for rule in matching.get("resourceRules") or ():
            for operation in rule.get("operations") or ():
                if operation not in _MUTATING_OPERATIONS:
                    faults.unsupported(f"{path}.resourceRules.operations", operation, _MUTATING_OPERATIONS)


def check_rule(rule: Document, faults: Faults, path: Path) -> None:
    """Of what a policy or a webhook is asked about."""
    names = rule.get("resourceNames") or []
    for position, name in enumerate(names):
        faults.all_invalid(f"{path}.resourceNames[{position}]", name, path_segment_faults(name))
        if name in names[:position]:
            faults.duplicate(f"{path}.resourceNames[{position}]", name)
    operations = rule.get("operations") or []
    if not operations:
        faults.required(f"{path}.operations")
    if len(operations) > 1 and _ANY in operations:
        text = "if '*' is present, must not specify other operations"
        faults.invalid(f"{path}.operations", operations, text)
    for position, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            faults.unsupported(f"{path}.operations[{position}]", operation, _OPERATIONS)
    for field, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(field) or []
        if not values:
            faults.required(f"{path}.{field}")
        if len(values) > 1 and _ANY in values:
            faults.invalid(f"{path}.{field}", values, f"if '*' is present, must not specify other {what}")
    for position, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            faults.required(f"{path}.apiVersions[{position}]")
    _check_resources(rule.get("resources") or [], faults, f"{path}.resources")
    faults.supported(f"{path}.scope", rule.get("scope"), _SCOPES)


def _check_resources(resources: list[str], faults: Faults, path: Path) -> None:
    if not resources:
        faults.required(path)
    with_any_part, any_with_part = set(), set()
    is_plain = False
    for position, given in enumerate(resources):
        at = f"{path}[{position}]"
        name, slash, part = given.partition("/")
        if not given:
            faults.required(at)
        elif not slash:
            is_plain = given != _ANY
        else:
            if name in with_any_part:
                faults.invalid(at, given, f"if '{name}/*' is present, must not specify {given}")
            if part in any_with_part:
                faults.invalid(at, given, f"if '*/{part}' is present, must not specify {given}")
            with_any_part |= {name} if part == _ANY else set()
            any_with_part |= {part} if name == _ANY else set()
    if len(resources) > 1 and "*/*" in resources:
        faults.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if _ANY in resources and is_plain:
        text = "if '*' is present, must not specify other resources without subresources"
        faults.invalid(path, resources, text)


def check_validating_binding(binding: Document, faults: Faults) -> None:
    _check_binding(binding["spec"], faults, is_mutating=False)
    path, actions = "spec.validationActions", binding["spec"].get("validationActions") or ()
    for position, action in enumerate(actions):
        if action not in _ACTIONS:
            faults.unsupported(f"{path}[{position}]", action, _ACTIONS)
        if action in actions[:position]:
            faults.duplicate(f"{path}[{position}]", action)
    if "Deny" in actions and "Warn" in actions:
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        faults.invalid(path, [*actions], text)
    if not actions:
        faults.declared.required(path, "at least one validation action is required")


def check_mutating_binding(binding: Document, faults: Faults) -> None:
    _check_binding(binding["spec"], faults, is_mutating=True)


def _check_binding(spec: Document, faults: Faults, *, is_mutating: bool) -> None:
    name = spec.get("policyName", "")
    if not name:
        faults.declared.required("spec.policyName")
    else:
        faults.all_invalid("spec.policyName", name, subdomain_faults(name))
    if spec.get("paramRef") is not None:
        _check_reference(spec["paramRef"], faults, "spec.paramRef")
    if spec.get("matchResources") is not None:
        _check_matching(spec["matchResources"], faults, "spec.matchResources", is_mutating=is_mutating)


def _check_reference(reference: Document, faults: Faults, path: Path) -> None:
    name, selector = reference.get("name"), reference.get("selector")
    if name:
        faults.all_invalid(f"{path}.name", name, path_segment_faults(name))
    if name and selector is not None:
        faults.forbidden(f"{path}.name", _EITHER)
    check_label_selector(selector, faults, f"{path}.selector")
    if name and selector is not None:
        faults.forbidden(f"{path}.selector", _EITHER)
    if not name and selector is None:
        faults.required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        faults.required(f"{path}.parameterNotFoundAction")
    elif action not in ("Deny", "Allow"):
        faults.unsupported(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"))
