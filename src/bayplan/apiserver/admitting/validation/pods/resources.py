"""Checks of requests and limits: which resources there are, and how their amounts relate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from bayplan.admission.resources import HUGEPAGES_PREFIX
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.pod_resources import container_totals
from bayplan.apiserver.admitting.validation.faults import NEGATIVE, Faults
from bayplan.model.dns_names import label_faults
from bayplan.model.names import extended_resource_faults, label_key_faults
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity

_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)
_STANDARD = frozenset(
    {
        *_CONTAINER_RESOURCES,
        *_COUNTED,
        *(f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _CONTAINER_RESOURCES),
        *("requests.storage", "storage"),
    }
)
_NOT_INTEGER = "must be an integer"


_CheckName = Callable[[str, Faults, Path], None]


def check_requirements(resources: Document, claim_names: Set[str], faults: Faults, path: Path) -> None:
    """Of a container: its requests, limits and claims."""
    check_amounts(resources, faults, path)
    _check_claims(resources.get("claims", ()), claim_names, faults, f"{path}.claims")


def check_amounts(resources: Document, faults: Faults, path: Path, check_name: _CheckName | None = None) -> None:
    """Requests and limits, each for itself and beside each other."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, raw in limits.items():
        _check_amount(name, raw, faults, f"{path}.limits[{name}]", check_name)
        _check_pages(name, raw, faults, f"{path}.limits[{name}]")
    for name, raw in requests.items():
        _check_amount(name, raw, faults, f"{path}.requests[{name}]", check_name)
        _check_against_limit(name, raw, limits, faults, path)
        _check_pages(name, raw, faults, f"{path}.requests[{name}]")
    names = {*limits, *requests}
    if any(name.startswith(HUGEPAGES_PREFIX) for name in names) and not names & {"cpu", "memory"}:
        faults.forbidden(path, "HugePages require cpu or memory")


def _check_amount(name: str, raw: str, faults: Faults, path: Path, check_name: _CheckName | None) -> None:
    if name not in _CONTAINER_RESOURCES or check_name is not None:
        (check_name or check_container_resource)(name, faults, path)
    check_amount_value(name, raw, faults, path)


def _check_pages(name: str, raw: str, faults: Faults, path: Path) -> None:
    if name.startswith(HUGEPAGES_PREFIX) and not _is_multiple(name, raw):
        faults.invalid(path, raw, f"{raw} is not positive integer multiple of {name}")


def check_amount_value(name: str, raw: str, faults: Faults, path: Path) -> None:
    """Not negative, and whole where only whole ones make sense."""
    nano = parse_quantity(raw)
    if nano < 0:
        faults.invalid(path, raw, NEGATIVE)
    if nano % NANO_PER_UNIT and (name in _COUNTED or _is_extended(name)):
        faults.invalid(path, raw, _NOT_INTEGER)


def _is_multiple(name: str, raw: str) -> bool:
    try:
        size = parse_quantity(name.removeprefix(HUGEPAGES_PREFIX))
    except ValueError:
        return False
    return size > 0 and parse_quantity(raw) % size == 0


def _is_extended(name: str) -> bool:
    return "/" in name and not extended_resource_faults(name)


def check_qualified_resource(name: str, faults: Faults, path: Path) -> None:
    """Whether the name is one that any resource can have."""
    if label_key_faults(name):
        faults.all_invalid(path, name, label_key_faults(name))
    elif "/" not in name and name not in _STANDARD and not name.startswith((HUGEPAGES_PREFIX, "requests.hugepages-")):
        faults.invalid(path, name, "must be a standard resource type or fully qualified")


def check_container_resource(name: str, faults: Faults, path: Path) -> None:
    """Whether the name is one that containers can ask for."""
    check_qualified_resource(name, faults, path)
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not name.startswith(HUGEPAGES_PREFIX):
            faults.invalid(path, name, "must be a standard resource for containers")
    elif "kubernetes.io/" not in name and extended_resource_faults(name):
        faults.invalid(path, name, "doesn't follow extended resource name standard")


def allows_overcommit(name: str) -> bool:
    is_native = "/" not in name or "kubernetes.io/" in name
    return is_native and not name.startswith(HUGEPAGES_PREFIX)


def _check_against_limit(name: str, raw: str, limits: dict[str, str], faults: Faults, path: Path) -> None:
    limit = limits.get(name)
    if limit is None:
        if not allows_overcommit(name):
            faults.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    nano, most = parse_quantity(raw), parse_quantity(limit)
    if nano != most and not allows_overcommit(name):
        faults.invalid(f"{path}.requests", raw, f"must be equal to {name} limit of {limit}")
    elif nano > most:
        faults.invalid(f"{path}.requests", raw, f"must be less than or equal to {name} limit of {limit}")


def _check_claims(claims: Iterable[Document], claim_names: Set[str], faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        at, name = f"{path}[{position}]", claim["name"]
        if not name:
            faults.required(at)
            continue
        _check_repeated_claim(claim, seen, faults, at)
        if name not in claim_names:
            known = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
            faults.not_found(at, name, f"must be one of the names in pod.spec.resourceClaims{known}")


def _check_repeated_claim(claim: Document, seen: set[str], faults: Faults, path: Path) -> None:
    """No claim, and no request of one, may be named twice; whoever names a claim names all of its requests."""
    name, request = claim["name"], claim.get("request", "")
    if name in seen:
        faults.duplicate(path, name)
        return
    if request:
        faults.all_invalid(f"{path}.request", request, label_faults(request))
    key = f"{name}/{request}" if request else name
    if key in seen:
        faults.duplicate(path, key)
    elif not request:
        for _ in (one for one in seen if one.startswith(f"{name}/")):
            faults.duplicate(path, name)
    seen.add(key)


def check_pod_resource(name: str, faults: Faults, path: Path) -> None:
    """Whether the name is one that a pod can ask for as a whole."""
    before = len(faults)
    check_qualified_resource(name, faults, path)
    if len(faults) == before and name not in ("cpu", "memory") and not name.startswith(HUGEPAGES_PREFIX):
        faults.unsupported(path, name, ("cpu", HUGEPAGES_PREFIX, "memory"))


def check_pod_resources(spec: Document, claim_names: Set[str], faults: Faults, path: Path) -> None:
    """What a pod asks for as a whole, beside what its containers ask for."""
    resources = spec["resources"]
    if "claims" in resources:
        faults.forbidden(f"{path}.resources.claims", "claims may not be set for Resources at pod-level")
    check_amounts(resources, faults, f"{path}.resources", check_pod_resource)
    _check_claims(resources.get("claims", ()), claim_names, faults, f"{path}.resources.claims")
    for name, total in container_totals(spec, "requests").items():
        asked = resources.get("requests", {}).get(name)
        if asked is not None and parse_quantity(total) > parse_quantity(asked):
            text = f"must be greater than or equal to aggregate container requests of {total}"
            faults.invalid(f"{path}.resources.requests[{name}]", asked, text)
    for position, container in enumerate(spec.get("containers") or ()):
        for name, limit in container["resources"].get("limits", {}).items():
            most = resources.get("limits", {}).get(name)
            if most is not None and parse_quantity(limit) > parse_quantity(most):
                at = f"{path}.resources.containers[{position}][{name}].limits"
                faults.invalid(at, limit, f"must be less than or equal to pod limits of {most}")
