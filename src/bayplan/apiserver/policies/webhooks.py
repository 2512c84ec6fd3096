"""Checks of webhook configurations, which are stored and never called.

Upstream: pkg/apis/admissionregistration/validation/validation.go (v1.36).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.names import dns1035_faults, port_number_faults, subdomain_faults
from bayplan.apiserver.policies.checking import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATIONS,
    check_expression,
    check_rule,
)
from bayplan.apiserver.policies.expressions import Compiler, Declared
from bayplan.model.names import label_key_faults

_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_VERSIONS: Final = ("v1", "v1beta1")
_CONDITIONS_MAX: Final = 64
_SECONDS_MAX: Final = 30
_NAME_PARTS: Final = 3


def check_webhooks(configuration: Document, faults: Faults) -> None:
    names: set[str] = set()
    for position, webhook in enumerate(configuration.get("webhooks") or ()):
        path = f"webhooks[{position}]"
        _check_webhook(webhook, faults, path)
        _check_versions(webhook.get("admissionReviewVersions") or [], faults, f"{path}.admissionReviewVersions")
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
    _check_client(webhook["clientConfig"], faults, f"{path}.clientConfig")
    _check_conditions(webhook.get("matchConditions") or [], faults, f"{path}.matchConditions")


def _check_name(name: str, faults: Faults, path: Path) -> None:
    if not name:
        faults.required(path)
    elif subdomain_faults(name):
        faults.invalid(path, name, ",".join(subdomain_faults(name)))
    elif name.count(".") < _NAME_PARTS - 1:
        faults.invalid(path, name, "should be a domain with at least three segments separated by dots")


def _check_client(client: Document, faults: Faults, path: Path) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        faults.required(path, "exactly one of url or service is required")
    elif url is not None:
        _check_url(url, faults, f"{path}.url")
    else:
        _check_service(service or {}, faults, f"{path}.service")


def _check_url(url: str, faults: Faults, path: Path) -> None:
    form = "; desired format: https://host[/path]"
    parts = urlsplit(url)
    if parts.scheme != "https":
        faults.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{form}")
    if not parts.netloc:
        faults.invalid(path, parts.netloc, f"host must be specified{form}")
    if parts.username is not None:
        faults.invalid(path, parts.username, f"user information is not permitted in the URL{form}")
    if parts.fragment:
        faults.invalid(path, parts.fragment, f"fragments are not permitted in the URL{form}")
    if parts.query:
        faults.invalid(path, parts.query, f"query parameters are not permitted in the URL{form}")


def _check_service(service: Document, faults: Faults, path: Path) -> None:
    for field in ("name", "namespace"):
        if not service.get(field):
            faults.required(f"{path}.{field}", f"service {field} is required")
    port = service.get("port")
    if port is not None and port_number_faults(port):
        faults.invalid(f"{path}.port", port, "port is not valid: " + ", ".join(port_number_faults(port)))


def _check_conditions(conditions: list[Document], faults: Faults, path: Path) -> None:
    if len(conditions) > _CONDITIONS_MAX:
        faults.too_many(path, len(conditions), _CONDITIONS_MAX)
    compiler = Compiler(Declared(has_params=False), ())
    names: set[str] = set()
    for position, condition in enumerate(conditions):
        at, name = f"{path}[{position}]", condition["name"]
        check_expression(compiler.compile(condition["expression"], "bool"), faults, f"{at}.expression")
        faults.named(f"{at}.name", name, label_key_faults)
        if name and name in names:
            faults.duplicate(f"{at}.name", name)
        names.add(name)


def _check_versions(versions: list[str], faults: Faults, path: Path) -> None:
    if not versions:
        faults.required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    seen: set[str] = set()
    for position, version in enumerate(versions):
        if version in seen:
            faults.invalid(f"{path}[{position}]", version, "duplicate version")
        else:
            faults.all_invalid(f"{path}[{position}]", version, dns1035_faults(version))
        seen.add(version)
    if not seen & {*_VERSIONS}:
        faults.invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}")
