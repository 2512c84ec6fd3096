"""ValidatingAdmissionPolicy: expressions that must hold for a write to be accepted.

Takes a policy and the values for a write; gives what it decided. What becomes of a decision is the binding's to say.
Upstream: apiserver/pkg/admission/plugin/policy/validating/validator.go (v1.36).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from bayplan.apiserver.policies.conditions import Policy
from bayplan.apiserver.policies.expressions import BUDGET, Activation, EvaluationError, Expression, OutOfBudget
from bayplan.apiserver.storage.entries import Document

_MESSAGE_BYTES_MAX: Final = 5 * 1024
_ANNOTATION_LENGTH_MAX: Final = 10 * 1024


class Denial(NamedTuple):
    """Why a policy does not accept a write."""

    message: str
    reason: str = "Invalid"
    position: int = 0
    """Of the expression, among the validations."""


class Verdict(NamedTuple):
    """What a policy decided about one write."""

    denials: tuple[Denial, ...] = ()
    failures: tuple[str, ...] = ()
    """Of audit annotations, which deny whatever the binding says."""
    annotations: tuple[tuple[str, str], ...] = ()


class ValidatingPolicy(Policy):
    """A policy that refuses."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        without_authorizer = self.compiler.having(has_authorizer=False)
        self._validations = [
            (
                validation,
                self.compiler.compile(validation["expression"], "bool"),
                without_authorizer.compile(validation["messageExpression"], "string")
                if validation.get("messageExpression")
                else None,
            )
            for validation in self.spec.get("validations") or ()
        ]
        self._annotations = [
            (annotation["key"], self.compiler.compile(annotation["valueExpression"], "string", "null_type"))
            for annotation in self.spec.get("auditAnnotations") or ()
        ]

    def judge(self, values: dict[str, Any]) -> Verdict:
        """What the policy says to a write that it matches."""
        try:
            if not self.applies(values):
                return Verdict()
            denials = self._denials(self.scene(values, BUDGET))
        except EvaluationError as error:
            return Verdict(self._denied_by(error, 0))
        annotations, failures = self._audited(self.scene(values, BUDGET))
        return Verdict(denials, failures, annotations)

    def _denied_by(self, error: EvaluationError, position: int) -> tuple[Denial, ...]:
        return () if self.ignores_failures else (Denial(str(error), "", position),)

    def _denials(self, scene: Activation) -> tuple[Denial, ...]:
        denials: list[Denial] = []
        for position, (validation, expression, message) in enumerate(self._validations):
            try:
                if scene.evaluate(expression) is not True:
                    reason = validation.get("reason") or "Invalid"
                    denials.append(Denial(self._message(validation, message, scene), reason, position))
            except OutOfBudget:
                raise
            except EvaluationError as error:
                denials += self._denied_by(error, position)
        return tuple(denials)

    @staticmethod
    def _message(validation: Document, expression: Expression | None, scene: Activation) -> str:
        made: Any = ""
        if expression is not None:
            try:
                made = scene.evaluate(expression)
            except OutOfBudget as error:
                raise OutOfBudget(f"failed messageExpression: {error}") from None
            except EvaluationError:
                made = ""
        text = made.strip() if isinstance(made, str) else ""
        if text and "\n" not in text and len(text.encode()) <= _MESSAGE_BYTES_MAX:
            return text
        return (validation.get("message") or "").strip() or f"failed expression: {validation['expression'].strip()}"

    def _audited(self, scene: Activation) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
        """Annotations with their values, and what went wrong."""
        made: list[tuple[str, str]] = []
        failures: list[str] = []
        for key, expression in self._annotations:
            try:
                value = scene.evaluate(expression)
            except EvaluationError as error:
                if not self.ignores_failures:
                    failures.append(str(error))
                continue
            if isinstance(value, str) and value.strip():
                made.append((key, value.strip()[:_ANNOTATION_LENGTH_MAX]))
        return tuple(made), tuple(failures)
