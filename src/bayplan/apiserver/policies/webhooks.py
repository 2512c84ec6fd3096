"""Checks of webhook configurations, which are stored and never called.

Upstream: pkg/apis/admissionregistration/validation/validation.go (v1.36).
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.client_configs import REVIEW_VERSIONS, check_client, check_review_versions
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.policies.checking import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATIONS,
    check_match_conditions,
    check_rule,
)
from bayplan.apiserver.policies.expressions import Compiler, Declared
from bayplan.model.dns_names import subdomain_faults

_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_SECONDS_MAX: Final = 30
_NAME_PARTS: Final = 3


def check_webhooks(configuration: Document, faults: Faults) -> None:
    names: set[str] = set()
    for position, webhook in enumerate(configuration.get("webhooks") or ()):
        path = f"webhooks[{position}]"
        _check_webhook(webhook, faults, path)
        versions, text = (
            webhook.get("admissionReviewVersions") or [],
            f"must specify one of {', '.join(REVIEW_VERSIONS)}",
        )
        check_review_versions(versions, faults, f"{path}.admissionReviewVersions", text)
        if webhook["name"] and webhook["name"] in names:
            faults.duplicate(f"{path}.name", webhook["name"])
        names.add(webhook["name"])


def _check_webhook(webhook: Document, faults: Faults, path: Path) -> None:
    _check_name(webhook["name"], faults, f"{path}.name")
    for position, rule in enumerate(webhook.get("rules") or ()):
        check_rule(rule, faults, f"{path}.rules[{position}]")
    faults.supported(f"{path}.failurePolicy", webhook.get("failurePolicy"), FAILURE_POLICIES)
    faults.supported(f"{path}.matchPolicy", webhook.get("matchPolicy"), MATCH_POLICIES)
    effects = webhook.get("sideEffects")
    if effects is None:
        faults.required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    faults.supported(f"{path}.sideEffects", effects, _SIDE_EFFECTS)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= _SECONDS_MAX:
        text = f"the timeout value must be between 1 and {_SECONDS_MAX} seconds"
        faults.invalid(f"{path}.timeoutSeconds", seconds, text)
    for field in ("namespaceSelector", "objectSelector"):
        check_label_selector(webhook.get(field), faults, f"{path}.{field}")
    faults.supported(f"{path}.reinvocationPolicy", webhook.get("reinvocationPolicy"), REINVOCATIONS)
    check_client(webhook["clientConfig"], faults, f"{path}.clientConfig")
    compiler = Compiler(Declared(has_params=False), ())
    check_match_conditions(webhook.get("matchConditions") or [], compiler, faults, f"{path}.matchConditions")


def _check_name(name: str, faults: Faults, path: Path) -> None:
    if not name:
        faults.required(path)
    elif subdomain_faults(name):
        faults.invalid(path, name, ",".join(subdomain_faults(name)))
    elif name.count(".") < _NAME_PARTS - 1:
        faults.invalid(path, name, "should be a domain with at least three segments separated by dots")
