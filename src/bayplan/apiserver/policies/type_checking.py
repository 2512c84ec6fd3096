"""Expressions of a validating policy checked against the types of what it matches, which says more than compiling does.

Gives warnings as a policy's status has them; they change nothing about what the policy does. Rules with a `*` are left
out. Upstream: apiserver/pkg/admission/plugin/policy/validating/typechecking.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bayplan.apiserver.custom_resources.structural import Schema
from bayplan.apiserver.policies.expressions import ANYTHING, Compiler, Declared
from bayplan.apiserver.policies.object_types import ObjectTypes
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.definitions import Definitions
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document

_TYPES_MAX: Final = 10
_COMPILING: Final = "compilation failed: "


def expression_warnings(policy: Document, catalogue: Catalogue, definitions: Definitions) -> list[Document]:
    """What is wrong with expressions and message expressions, by the field that they stand in."""
    spec = policy["spec"]
    kind = spec.get("paramKind") or {}
    params = catalogue.of_kind(kind.get("apiVersion", ""), kind.get("kind", ""))
    compilers = {}
    for resource in _resources(spec, catalogue):
        types = _types_of(resource, params, definitions)
        declared = Declared(has_params=bool(kind), types=types)
        compilers[_kind_text(resource)] = Compiler(declared, spec.get("variables") or ())
    found = []
    for position, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            text = validation.get(field)
            warning = _warning(text, compilers) if text else ""
            if warning:
                found.append({"fieldRef": f"spec.validations[{position}].{field}", "warning": warning})
    return found


def _warning(text: str, compilers: Mapping[str, Compiler]) -> str:
    faults = {kind: compiler.compile(text, ANYTHING).fault for kind, compiler in compilers.items()}
    texts = (f"{kind}: {fault.removeprefix(_COMPILING)}\n" for kind, fault in faults.items() if fault)
    return "\n".join(texts)


def _kind_text(resource: Resource) -> str:
    return f"{resource.group}/{resource.version}, Kind={resource.kind}"


def _resources(spec: Document, catalogue: Catalogue) -> list[Resource]:
    """What a policy matches by name, of each group, version and kind one."""
    found: dict[tuple[str, str, str], Resource] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in text for text in (*groups, *versions)):
            continue
        names = sorted(name for name in rule.get("resources") or () if "*" not in name and "/" not in name)
        for group in sorted(groups):
            for version in sorted(versions):
                for name in names:
                    resource = catalogue.at(group, version, name)
                    if resource is not None and len(found) < _TYPES_MAX:
                        found[group, version, resource.kind] = resource
    return [found[key] for key in sorted(found)]


def _types_of(
    resource: Resource, params: Resource | None, definitions: Definitions
) -> Callable[[ObjectTypes], Mapping[str, str]]:
    def declare(types: ObjectTypes) -> Mapping[str, str]:
        of_object = _declared(types, resource, definitions)
        named = {} if of_object is None else dict.fromkeys(("object", "oldObject"), of_object)
        of_params = None if params is None else _declared(types, params, definitions)
        return named if of_params is None else {**named, "params": of_params}

    return declare


def _declared(types: ObjectTypes, resource: Resource, definitions: Definitions) -> str | None:
    version = definitions.custom(resource)
    if version is not None:
        if version.openapi is None or version.openapi.get("x-kubernetes-preserve-unknown-fields"):
            return None
        return types.custom(f"{resource.group}_{resource.version}_{resource.kind}", Schema(version.openapi))
    described = message_of(resource.api_version, resource.kind)
    return None if described is None else types.built_in(described)
