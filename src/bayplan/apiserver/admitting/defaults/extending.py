"""Defaults of what extends or guards a server: custom resources, webhooks, admission policies, flow control.

Takes documents in wire form, completes them in place.
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document

_HTTPS_PORT = 443
_WEBHOOK_SECONDS = 10
_PRECEDENCE = 1000


def default_definition(definition: Document) -> None:
    spec = definition["spec"]
    names = spec["names"]
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    if kind:
        names.setdefault("listKind", f"{kind}List")
    _default_service(spec.setdefault("conversion", {"strategy": "None"}).get("webhook", {}))
    status = definition.get("status")
    if status is not None and not status.get("storedVersions"):
        status["storedVersions"] = [version["name"] for version in spec["versions"] or () if version["storage"]][:1]


def _default_service(caller: Document) -> None:
    service = caller.get("clientConfig", {}).get("service")
    if service is not None:
        service.setdefault("port", _HTTPS_PORT)


def default_api_service(api_service: Document) -> None:
    service = api_service["spec"].get("service")
    if service is not None:
        service.setdefault("port", _HTTPS_PORT)


def default_validating_webhooks(configuration: Document) -> None:
    for webhook in configuration.get("webhooks", ()):
        _default_webhook(webhook)


def default_mutating_webhooks(configuration: Document) -> None:
    for webhook in configuration.get("webhooks", ()):
        _default_webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def _default_webhook(webhook: Document) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    _default_matching(webhook)
    webhook.setdefault("timeoutSeconds", _WEBHOOK_SECONDS)
    _default_service(webhook)
    for rule in webhook.get("rules", ()):
        rule.setdefault("scope", "*")


def _default_matching(rules: Document) -> None:
    rules.setdefault("matchPolicy", "Equivalent")
    rules.setdefault("namespaceSelector", {})
    rules.setdefault("objectSelector", {})
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in rules.get(name, ()):
            rule.setdefault("scope", "*")


def default_admission_policy(policy: Document) -> None:
    policy["spec"].setdefault("failurePolicy", "Fail")
    _default_matching_of(policy["spec"], "matchConstraints")


def default_policy_binding(binding: Document) -> None:
    _default_matching_of(binding["spec"], "matchResources")


def _default_matching_of(spec: Document, name: str) -> None:
    if name in spec:
        _default_matching(spec[name])


def default_flow_schema(schema: Document) -> None:
    if not schema["spec"].get("matchingPrecedence"):
        schema["spec"]["matchingPrecedence"] = _PRECEDENCE


def default_priority_level(level: Document) -> None:
    spec = level["spec"]
    if "exempt" in spec:
        _default_shares(spec["exempt"], 0)
    if "limited" in spec:
        _default_shares(spec["limited"], 30)
        queuing = spec["limited"].get("limitResponse", {}).get("queuing")
        if queuing is not None:
            for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                queuing[name] = queuing.get(name) or value


def _default_shares(limits: Document, shares: int) -> None:
    if limits.get("nominalConcurrencyShares") is None:
        limits["nominalConcurrencyShares"] = shares
    limits.setdefault("lendablePercent", 0)
