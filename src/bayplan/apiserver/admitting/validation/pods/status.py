"""Checks of writes to the status of a pod. Upstream: pkg/apis/core/validation/validation.go (v1.36)."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import is_address
from bayplan.apiserver.admitting.validation.pods.spec import check_address
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults
from bayplan.store.pods import BOUND_AND_NOMINATED

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_NOT_NATURAL = "must be a non-negative integer"
_STAYS_TERMINATED = "may not be transitioned to non-terminated state"
_ONE_PER_FAMILY = "may specify no more than one IP for each IP family"
_FAMILIES = 2


def check_pod_status_update(new: Document, old: Document, faults: Faults) -> None:
    """Of a write to the status."""
    status, before, spec = new.get("status", {}), old.get("status", {}), old["spec"]
    _check_conditions(status.get("conditions", ()), faults)
    nominated = status.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName"):
        faults.all_invalid("status.nominatedNodeName", nominated, subdomain_faults(nominated))
        if spec.get("nodeName"):
            faults.forbidden("status.nominatedNodeName", BOUND_AND_NOMINATED)
    generation = status.get("observedGeneration", 0)
    if generation < 0:
        faults.invalid("status.observedGeneration", generation, _NOT_NATURAL)
    faults.immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        _check_transitions(status, before, field, spec.get(containers) or (), spec, faults)
    _check_claims(status.get("resourceClaimStatuses", ()), spec, faults)
    extended = status.get("extendedResourceClaimStatus")
    if extended is not None:
        _check_extended_claim(extended, spec, faults, "status.extendedResourceClaimStatus")
    _check_addresses(status.get("podIPs", []), faults, "status.podIPs")
    addresses = status.get("hostIPs", [])
    if addresses and addresses[0]["ip"] != status.get("hostIP", ""):
        faults.invalid("status.hostIPs[0].ip", addresses[0]["ip"], "must be equal to `hostIP`")
    _check_addresses(addresses, faults, "status.hostIPs")


def _check_conditions(conditions: Iterable[Document], faults: Faults) -> None:
    for position, condition in enumerate(conditions):
        path, kind = f"status.conditions[{position}]", condition["type"]
        if condition.get("observedGeneration", 0) < 0:
            faults.invalid(f"{path}.observedGeneration", condition["observedGeneration"], _NOT_NATURAL)
        if kind not in _SYSTEM_CONDITIONS:
            faults.all_invalid(f"{path}.Type", kind, label_key_faults(kind))


def _check_transitions(
    status: Document, before: Document, field: str, containers: Iterable[Document], spec: Document, faults: Faults
) -> None:
    """A container that ended and is not restarted stays so."""
    now = {each["name"]: each.get("state", {}) for each in status.get(field, ())}
    by_name = {container["name"]: container for container in containers}
    for position, old in enumerate(before.get(field, ())):
        ended, name = old.get("state", {}).get("terminated"), old["name"]
        if ended is None or name not in now or now[name].get("terminated") is not None:
            continue
        container = by_name.get(name)
        if container is None or not _restarts(container, spec, ended.get("exitCode", 0)):
            faults.forbidden(f"status.{field}[{position}].state", _STAYS_TERMINATED)


def _restarts(container: Document, spec: Document, exit_code: int) -> bool:
    """Whether a container is started again after it ended with this code."""
    for rule in container.get("restartPolicyRules", ()):
        codes = rule.get("exitCodes", {})
        if (exit_code in codes.get("values", ())) == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _check_claims(statuses: Iterable[Document], spec: Document, faults: Faults) -> None:
    known = {claim["name"] for claim in spec.get("resourceClaims", ())}
    seen: set[str] = set()
    for position, status in enumerate(statuses):
        path, name = f"status.resourceClaimStatuses[{position}]", status["name"]
        if name not in known:
            faults.invalid(f"{path}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            faults.duplicate(f"{path}.name", name)
        seen.add(name)
        claim = status.get("resourceClaimName")
        if claim is not None:
            faults.all_invalid(f"{path}.resourceClaimName", claim, subdomain_faults(claim))


def _check_extended_claim(status: Document, spec: Document, faults: Faults, path: Path) -> None:
    containers = {each["name"]: each for field in ("initContainers", "containers") for each in spec.get(field) or ()}
    mappings = status.get("requestMappings") or ()
    if not mappings:
        faults.required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, ...]] = set()
    fields = ("containerName", "resourceName", "requestName")
    for position, mapping in enumerate(mappings):
        at, key = f"{path}.requestMappings[{position}]", tuple(mapping.get(field, "") for field in fields)
        container, resource, request = key
        if container not in containers:
            text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            faults.invalid(f"{at}.containerName", container, text)
        elif resource not in containers[container]["resources"].get("requests", {}):
            text = "must match the extended resource name of an entry in "
            text += "spec.initContainers.resources.requests or spec.containers.resources.requests"
            faults.invalid(f"{at}.resourceName", resource, text)
        faults.all_invalid(f"{path}.requestName", request, label_faults(request))
        if key in seen:
            for field in fields:
                faults.duplicate(f"{at}.{field}", mapping.get(field, ""))
        seen.add(key)
    faults.named(f"{path}.resourceClaimName", status.get("resourceClaimName"), subdomain_faults)


def _check_addresses(addresses: list[Document], faults: Faults, path: Path) -> None:
    texts = [each.get("ip", "") for each in addresses]
    for position, text in enumerate(texts):
        check_address(text, faults, f"{path}[{position}]")
    families = {":" in text for text in texts}
    if len(texts) > 1 and all(map(is_address, texts)) and (len(texts) > _FAMILIES or len(families) < _FAMILIES):
        faults.invalid(path, [{"IP": text} for text in texts], _ONE_PER_FAMILY)
