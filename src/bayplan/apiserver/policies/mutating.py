"""MutatingAdmissionPolicy: expressions that make changes to what is written.

Takes a policy, the values for a write and the shape of its documents; gives the changed document. When a policy is
asked again is decided by `policies`. Upstream: apiserver/pkg/admission/plugin/policy/mutating (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.apiserver.patching.json_patch import apply_json_patch
from bayplan.apiserver.patching.server_side_apply.extracting import faults_of
from bayplan.apiserver.patching.server_side_apply.merging import merged
from bayplan.apiserver.patching.server_side_apply.shapes import Shape, Split
from bayplan.apiserver.policies.conditions import Policy
from bayplan.apiserver.policies.expressions import BUDGET, EvaluationError, Expression
from bayplan.apiserver.policies.object_literals import JSON_PATCH, OBJECT, Literals
from bayplan.apiserver.storage.entries import Document
from bayplan.model.cel.values import CelError
from bayplan.store.errors import ApiError

APPLY_CONFIGURATION: Final = "ApplyConfiguration"
PATCHES: Final = f"list({JSON_PATCH})"


class MutatingPolicy(Policy):
    """A policy that changes."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.is_asked_again = self.spec.get("reinvocationPolicy") == "IfNeeded"
        patching = self.compiler.having(has_patches=True)
        self.mutations: list[tuple[str, Expression]] = []
        for mutation in self.spec.get("mutations") or ():
            is_applied = mutation.get("patchType") == APPLY_CONFIGURATION
            part = mutation.get("applyConfiguration" if is_applied else "jsonPatch") or {}
            wanted = OBJECT if is_applied else PATCHES
            self.mutations.append((mutation["patchType"], patching.compile(part.get("expression", ""), wanted)))

    def mutate(self, kind: str, expression: Expression, values: dict[str, Any], shape: Shape) -> Document:
        """The document after one mutation; raises EvaluationError."""
        if expression.program is None or expression.literals is None:
            raise EvaluationError(expression.fault)
        document: Document = values["object"]
        made = self.scene(values, BUDGET).evaluate(expression)
        try:
            if kind == APPLY_CONFIGURATION:
                return _applied(document, expression.literals.plain(made), shape)
            return _patched(document, made, expression.literals)
        except CelError as error:
            raise EvaluationError(str(error)) from None


def _applied(document: Document, configuration: Document, shape: Shape) -> Document:
    configuration = {**configuration, "apiVersion": document["apiVersion"], "kind": document["kind"]}
    faults = list(faults_of(configuration, shape))
    if faults:
        text = faults[0] if len(faults) == 1 else "errors:\n" + "\n".join(f"  {fault}" for fault in faults)
        raise EvaluationError(f"error applying patch: failed to convert patch object to typed object: {text}")
    atomics = [*_atomics(configuration, shape, "")]
    if atomics:
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
        raise EvaluationError(f"error applying patch: invalid ApplyConfiguration: {text}")
    return merged(document, configuration, shape)


def _atomics(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Paths of lists and maps in the value that are replaced as a whole."""
    if not isinstance(value, dict | list):
        return
    if shape.split is Split.WHOLE:
        yield path
    elif isinstance(value, dict):
        for name, item in value.items():
            member = shape.member(name)
            if member is not None:
                yield from _atomics(item, member, f"{path}.{name}")
    elif shape.element is not None:
        for position, item in enumerate(value):
            yield from _atomics(item, shape.element, f"{path}[{position}]")


def _patched(document: Document, operations: list[Any], literals: Literals) -> Document:
    patch = []
    for operation in operations:
        made = {field: literals.plain(value) for field, value in operation.items()}
        if made.get("from") == "":
            made.pop("from")
        patch.append(made)
    for position, operation in enumerate(patch):
        if operation.get("op") == "test" and not _holds(document, patch[:position], operation):
            return document
    try:
        return apply_json_patch(document, patch)
    except ApiError as error:
        raise EvaluationError(f"JSON Patch: {error}") from None


def _holds(document: Document, before: list[Document], test: Document) -> bool:
    """Whether a test holds where it stands in a patch; what comes before it may fail as well, which is said later."""
    try:
        changed = apply_json_patch(document, before)
    except ApiError:
        return True
    try:
        apply_json_patch(changed, [test])
    except ApiError:
        return False
    return True
