"""Rows of what governs requests to the API itself: webhooks, admission policies, flow control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.tables.ages import age
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, integer
from bayplan.apiserver.tables.wording import NONE, UNSET, condition


def _webhook_cells(configuration: Document, now: int) -> Cells:
    return [
        configuration["metadata"].get("name", ""),
        len(configuration.get("webhooks") or ()),
        age(configuration, now),
    ]


def _validating_policy_cells(policy: Document, now: int) -> Cells:
    return _policy_cells(policy, "validations", now)


def _mutating_policy_cells(policy: Document, now: int) -> Cells:
    return _policy_cells(policy, "mutations", now)


def _policy_cells(policy: Document, rules: str, now: int) -> Cells:
    spec = policy.get("spec") or {}
    kind = spec.get("paramKind")
    parameters = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    return [policy["metadata"].get("name", ""), len(spec.get(rules) or ()), parameters, age(policy, now)]


def _policy_binding_cells(binding: Document, now: int) -> Cells:
    spec = binding.get("spec") or {}
    return [
        binding["metadata"].get("name", ""),
        spec.get("policyName", ""),
        _parameters(spec.get("paramRef") or {}),
        age(binding, now),
    ]


def _parameters(reference: Mapping[str, Any]) -> str:
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return UNSET if selector is None else _go_text(selector)


def _go_text(selector: Mapping[str, Any]) -> str:
    """A label selector as Go's generated String method writes it."""
    labels, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or ()
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{item['key']},Operator:{item['operator']},"
        f"Values:[{' '.join(item.get('values') or ())}],}},"
        for item in expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def _flow_schema_cells(flow_schema: Document, now: int) -> Cells:
    spec = flow_schema.get("spec") or {}
    method = spec.get("distinguisherMethod")
    dangling = condition((flow_schema.get("status") or {}).get("conditions"), "Dangling")
    return [
        flow_schema["metadata"].get("name", ""),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        spec.get("matchingPrecedence", 0),
        NONE if method is None else method.get("type", ""),
        age(flow_schema, now),
        "?" if dangling is None else dangling.get("status", ""),
    ]


def _priority_level_cells(level: Document, now: int) -> Cells:
    spec = level.get("spec") or {}
    limited = spec.get("limited")
    queuing = ((limited or {}).get("limitResponse") or {}).get("queuing")
    queues = [queuing.get(field, 0) if queuing else NONE for field in ("queues", "handSize", "queueLengthLimit")]
    return [
        level["metadata"].get("name", ""),
        spec.get("type", ""),
        NONE if limited is None else limited.get("nominalConcurrencyShares", 0),
        *queues,
        age(level, now),
    ]


WEBHOOK_CONFIGURATIONS = Printer((NAME, integer("Webhooks", "How many webhooks there are."), AGE), _webhook_cells)
_PARAM_KIND = Column("ParamKind", "Kind of the objects that hold the policy's parameters.")
VALIDATING_POLICIES = Printer(
    (NAME, integer("Validations", "How many rules there are."), _PARAM_KIND, AGE), _validating_policy_cells
)
MUTATING_POLICIES = Printer(
    (NAME, integer("Mutations", "How many changes there are."), _PARAM_KIND, AGE), _mutating_policy_cells
)
POLICY_BINDINGS = Printer(
    (
        NAME,
        Column("PolicyName", "Policy that is put to work."),
        Column("ParamRef", "Object that holds the parameters."),
        AGE,
    ),
    _policy_binding_cells,
)
FLOW_SCHEMAS = Printer(
    (
        NAME,
        Column("PriorityLevel", "Priority level that requests get."),
        Column("MatchingPrecedence", "Order in which schemas are tried; the lowest comes first."),
        Column("DistinguisherMethod", "What tells the flows of a schema apart."),
        AGE,
        Column("MissingPL", "Whether the priority level does not exist."),
    ),
    _flow_schema_cells,
)
PRIORITY_LEVELS = Printer(
    (
        NAME,
        Column("Type", "Whether the level limits requests."),
        Column("NominalConcurrencyShares", "Share of the server's concurrency."),
        Column("Queues", "How many queues there are."),
        Column("HandSize", "How many queues a flow may use."),
        Column("QueueLengthLimit", "How many requests may wait in a queue."),
        AGE,
    ),
    _priority_level_cells,
)
