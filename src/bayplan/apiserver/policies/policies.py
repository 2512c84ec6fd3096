"""All policies of a cluster, asked about each write.

Takes a write as `Attributes`; a `Mutation` gives its document as policies change it, `check` raises what they refuse
and warns of the rest. Policies are read from the cluster when they are needed, and compiled once for each generation.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.patching.server_side_apply.shapes import Shape
from bayplan.apiserver.policies.attributes import Attributes
from bayplan.apiserver.policies.conditions import Policy, values_of
from bayplan.apiserver.policies.expressions import EvaluationError
from bayplan.apiserver.policies.matching import matched
from bayplan.apiserver.policies.mutating import MutatingPolicy
from bayplan.apiserver.policies.params import ConfigurationError, ParamKindError, params_of
from bayplan.apiserver.policies.validating import Denial, ValidatingPolicy, Verdict
from bayplan.apiserver.registry.versions import served_form, storage_name, stored_form
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.store.errors import Forbidden, NotFound, StatusCause

GROUP: Final = "admissionregistration.k8s.io"
VALIDATING: Final = built_in(GROUP, "validatingadmissionpolicies")
VALIDATING_BINDINGS: Final = built_in(GROUP, "validatingadmissionpolicybindings")
MUTATING: Final = built_in(GROUP, "mutatingadmissionpolicies")
MUTATING_BINDINGS: Final = built_in(GROUP, "mutatingadmissionpolicybindings")
#: What policies are never asked about: themselves.
_EXEMPT: Final = frozenset({VALIDATING, VALIDATING_BINDINGS, MUTATING, MUTATING_BINDINGS})
_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_FAILED: Final = "validation.policy.admission.k8s.io/validation_failure"
_log = logging.getLogger(__name__)

PolicyT = TypeVar("PolicyT", bound=Policy)


class PolicySources(ClusterView, Protocol):
    """Where policies, parameters and namespaces are, and which resources there are."""

    def resources(self) -> Iterable[Resource]:
        """All that are served."""

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind."""

    def count(self, resource: Resource) -> int:
        """How many objects of it there are."""

    def shape(self, resource: Resource) -> Shape:
        """How its documents are merged."""


class _Invocation(NamedTuple):
    """A policy that is asked about a write, on behalf of a binding and with a parameter."""

    policy: Any
    binding: Document
    matched: Resource
    params: Document | None

    @property
    def key(self) -> tuple[str, str, str]:
        name = self.params["metadata"]["name"] if self.params is not None else ""
        return self.policy.name, self.binding["metadata"]["name"], name


class _Refusal(NamedTuple):
    """A policy or a binding that cannot be used, or a policy that failed."""

    policy: Policy
    binding: Document | None
    text: str
    reason: str = ""


class Policies:
    """The policies of a cluster."""

    def __init__(self, cluster: PolicySources) -> None:
        self._cluster = cluster
        self._compiled: dict[tuple[str, str], tuple[str, Policy]] = {}

    def has_validating(self, resource: Resource) -> bool:
        return resource not in _EXEMPT and self._cluster.count(VALIDATING_BINDINGS) > 0

    def has_mutating(self, resource: Resource) -> bool:
        return resource not in _EXEMPT and self._cluster.count(MUTATING_BINDINGS) > 0

    # Which are asked.

    def _policies(
        self, resource: Resource, bindings: Resource, make: Callable[[Document], PolicyT]
    ) -> Iterator[tuple[PolicyT, list[Document]]]:
        """Policies that are bound, each with its bindings, by name."""
        by_policy: dict[str, list[Document]] = {}
        for binding in sorted(self._cluster.list(bindings, ""), key=_name):
            by_policy.setdefault(binding["spec"].get("policyName", ""), []).append(binding)
        for name in sorted(by_policy):
            document = self._cluster.find(resource, "", name)
            if document is not None:
                yield self._compiled_policy(resource, document, make), by_policy[name]

    def _compiled_policy(self, resource: Resource, document: Document, make: Callable[[Document], PolicyT]) -> PolicyT:
        key, metadata = (resource.plural, document["metadata"]["name"]), document["metadata"]
        version = f"{metadata['uid']} {metadata.get('generation')}"
        known = self._compiled.get(key)
        if known is None or known[0] != version:
            known = self._compiled[key] = version, make(document)
        return known[1]  # type: ignore[return-value]

    def _invocations(
        self,
        policies: Iterable[tuple[Policy, list[Document]]],
        attributes: Attributes,
        refusals: list[_Refusal],
    ) -> Iterator[_Invocation]:
        """What is to be asked about a write; what is wrong with policies and bindings goes to the refusals."""
        equivalents = self._equivalents(attributes.resource)
        for policy, bindings in policies:
            try:
                resource = self._matched(policy.spec.get("matchConstraints") or {}, attributes, equivalents)
            except ConfigurationError as error:
                refusals.append(_Refusal(policy, None, f"failed to configure policy: {error}"))
                continue
            if resource is None:
                continue
            for binding in bindings:
                try:
                    yield from self._of_binding(policy, binding, resource, attributes, equivalents)
                except ConfigurationError as error:
                    is_policys = isinstance(error, ParamKindError)
                    what, named = ("policy", None) if is_policys else ("binding", binding)
                    refusals.append(_Refusal(policy, named, f"failed to configure {what}: {error}"))
                    if is_policys:
                        break

    def _of_binding(
        self,
        policy: Policy,
        binding: Document,
        resource: Resource,
        attributes: Attributes,
        equivalents: list[Resource],
    ) -> Iterator[_Invocation]:
        spec, kind = binding["spec"], policy.spec.get("paramKind")
        constraints = spec.get("matchResources")
        if constraints is not None and self._matched(constraints, attributes, equivalents) is None:
            return
        found = params_of(kind, spec.get("paramRef"), attributes.namespace, self._cluster.resource_of, self._cluster)
        for params in found:
            yield _Invocation(policy, binding, resource, params)

    def _matched(self, constraints: Document, attributes: Attributes, others: list[Resource]) -> Resource | None:
        try:
            return matched(constraints, attributes, others, self._cluster)
        except NotFound as error:
            raise ConfigurationError(str(error)) from None

    def _equivalents(self, resource: Resource) -> list[Resource]:
        """Other resources that show these objects, in other versions or groups."""
        stored = storage_name(resource)
        return [other for other in self._cluster.resources() if storage_name(other) == stored and other != resource]

    # Mutating.

    def mutation(self, attributes: Attributes) -> Mutation:
        """What policies do to a write that is about to be made."""
        return Mutation(self._mutating_invocations, self._cluster, attributes)

    def _mutating_invocations(self, attributes: Attributes, refusals: list[_Refusal]) -> list[_Invocation]:
        policies = self._policies(MUTATING, MUTATING_BINDINGS, MutatingPolicy)
        return [*self._invocations(policies, attributes, refusals)]

    # Validating.

    def check(self, attributes: Attributes, warn: Callable[[str], None]) -> None:
        """Raises the first refusal; warns of what policies only warn of."""
        if not self.has_validating(attributes.resource):
            return
        refusals: list[_Refusal] = []
        denials: list[tuple[Policy, Document | None, Denial]] = []
        policies = self._policies(VALIDATING, VALIDATING_BINDINGS, ValidatingPolicy)
        for invocation in self._invocations(policies, attributes, refusals):
            denials += _unusable(refusals)
            values = _converted_values(invocation, attributes, self._cluster)
            verdict: Verdict = invocation.policy.judge(values)
            denials += _acted_upon(invocation, verdict, warn)
        denials += _unusable(refusals)
        if denials:
            raise _denied(attributes, *denials[0])


def _name(document: Document) -> str:
    name: str = document["metadata"]["name"]
    return name


def _unusable(refusals: list[_Refusal]) -> list[tuple[Policy, Document | None, Denial]]:
    """Takes the refusals as denials, unless their policy ignores failures."""
    taken = [one for one in refusals if not one.policy.ignores_failures]
    refusals.clear()
    return [(one.policy, one.binding, Denial(one.text)) for one in taken]


def _acted_upon(
    invocation: _Invocation, verdict: Verdict, warn: Callable[[str], None]
) -> list[tuple[Policy, Document | None, Denial]]:
    """What the binding makes of a verdict: those denials that refuse the write."""
    policy, binding = invocation.policy, invocation.binding
    actions, name = binding["spec"].get("validationActions") or (), _name(binding)
    refused: list[tuple[Policy, Document | None, Denial]] = []
    for denial in verdict.denials:
        if "Deny" in actions:
            refused.append((policy, binding, denial))
        if "Warn" in actions:
            text = f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding '{name}'"
            warn(f"{text}: {denial.message}")
        if "Audit" in actions:
            _audit(_FAILED, _audited(invocation, denial, actions))
    for key, value in verdict.annotations:
        _audit(f"{policy.name}/{key}", value)
    return [*refused, *((policy, binding, Denial(failure)) for failure in verdict.failures)]


def _audited(invocation: _Invocation, denial: Denial, actions: Iterable[str]) -> str:
    failure = {
        "message": denial.message,
        "policy": invocation.policy.name,
        "binding": _name(invocation.binding),
        "expressionIndex": denial.position,
        "validationActions": [*actions],
    }
    return json.dumps([failure], separators=(",", ":"))


def _audit(key: str, value: str) -> None:
    """There is no audit log but the server's own."""
    _log.info("audit annotation %s: %s", key, value)


def _denied(attributes: Attributes, policy: Policy, binding: Document | None, denial: Denial) -> Forbidden:
    by = f"ValidatingAdmissionPolicy '{policy.name}'"
    if binding is not None:
        by += f" with binding '{_name(binding)}'"
    message, reason = f"{by} denied request: {denial.message}", denial.reason or "Invalid"
    error = Forbidden.because(attributes.resource, attributes.shown_name, message, [StatusCause("", message, "")])
    error.reason, error.code = reason, _CODES.get(reason, 422)
    return error


def _converted_values(invocation: _Invocation, attributes: Attributes, cluster: ClusterView) -> dict[str, Any]:
    """What expressions see, with the documents in the version that the policy matched."""
    source, target = attributes.resource, invocation.matched
    if target != source and not attributes.subresource:
        attributes = attributes._replace(
            object=_converted(attributes.object, source, target), old=_converted(attributes.old, source, target)
        )
    return values_of(attributes, target, invocation.params, cluster)


def _converted(document: Document | None, source: Resource, target: Resource) -> Document | None:
    if document is None or source == target:
        return document
    return served_form(target, stored_form(source, document))


class Mutation:
    """What policies do to one write: once, and again where others have changed what they saw."""

    def __init__(
        self,
        invocations: Callable[[Attributes, list[_Refusal]], list[_Invocation]],
        cluster: PolicySources,
        attributes: Attributes,
    ) -> None:
        self._invocations = invocations
        self._cluster = cluster
        self._attributes = attributes
        self._asked: set[tuple[str, str, str]] = set()
        self._asked_again: set[tuple[str, str, str]] = set()
        self._output: Document | None = None

    def first(self, document: Document) -> Document:
        """The document after all policies; itself if none applies."""
        return self._pass(document, is_again=False)

    def again(self, document: Document) -> Document:
        """The document after the policies that want to see what others did, in-tree admission included."""
        if document != self._output:
            self._require_all()
        return self._pass(document, is_again=True)

    def _require_all(self) -> None:
        self._asked_again |= self._asked
        self._asked = set()

    def _pass(self, document: Document, *, is_again: bool) -> Document:
        refusals: list[_Refusal] = []
        before = document
        for invocation in self._invocations(self._attributes._replace(object=document), refusals):
            if is_again and invocation.key not in self._asked_again:
                continue
            made = self._after(invocation, document, refusals)
            if made is None:
                continue
            if made != document:
                self._require_all()
            if invocation.policy.is_asked_again:
                self._asked.add(invocation.key)
            document = made
        self._refuse([one for one in refusals if not one.policy.ignores_failures])
        if document is not before:
            self._require_all()
        self._output = document
        return document

    def _after(self, invocation: _Invocation, document: Document, refusals: list[_Refusal]) -> Document | None:
        """The document after one policy; None if its conditions do not hold."""
        policy: MutatingPolicy = invocation.policy
        source, target = self._attributes.resource, invocation.matched
        values = _converted_values(invocation, self._attributes._replace(object=document), self._cluster)
        try:
            if not policy.applies(values):
                return None
        except EvaluationError as error:
            refusals.append(_Refusal(policy, invocation.binding, str(error), "Invalid"))
            return None
        for kind, expression in policy.mutations:
            try:
                made = policy.mutate(kind, expression, values, self._cluster.shape(target))
            except EvaluationError as error:
                refusals.append(_Refusal(policy, invocation.binding, str(error), "Invalid"))
                continue
            values = {**values, "object": made}
        changed = _converted(values["object"], target, source)
        assert changed is not None
        return changed

    def _refuse(self, refusals: list[_Refusal]) -> None:
        if not refusals:
            return
        messages = [_refusal_text(one) for one in refusals]
        causes = [StatusCause("", message, "") for message in messages]
        attributes = self._attributes
        error = Forbidden.because(attributes.resource, attributes.shown_name, "", causes)
        error.message, error.args = messages[0], (messages[0],)
        error.reason = refusals[0].reason or error.reason
        raise error


def _refusal_text(refusal: _Refusal) -> str:
    if refusal.binding is None:
        return f'policy "{refusal.policy.name}" denied request: {refusal.text}'
    return f"policy '{refusal.policy.name}' with binding '{_name(refusal.binding)}' denied request: {refusal.text}"
