"""Checks of changes to pods: to a pod itself, to its status, to its size, to its ephemeral containers."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.internal_form import difference
from bayplan.apiserver.admitting.pod_resources import qos_class
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import range_faults, subdomain_faults
from bayplan.apiserver.admitting.validation.pods.containers import RESIZABLE
from bayplan.apiserver.admitting.validation.pods.spec import check_pod
from bayplan.model.meta import INT32_MAX
from bayplan.model.pod import REQUIRED
from bayplan.store.pods import (
    BOUND_AND_NOMINATED,
    SPEC_IMMUTABLE,
    TOLERATIONS_IMMUTABLE,
    added_gate,
)

_RESIZE_ONLY = "only cpu and memory resources are mutable"


def check_pod_update(new: Document, old: Document, faults: Faults) -> None:
    """Of a write to the pod itself."""
    check_pod(new, faults)
    spec, before = new["spec"], old["spec"]
    if spec == before:
        return
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(before.get(field) or ()):
            faults.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
    if not _check_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"), faults):
        return
    _check_tolerations(spec.get("tolerations", []), before.get("tolerations", []), faults)
    _check_gates(spec.get("schedulingGates", []), before.get("schedulingGates", []), faults)
    kept = _with_what_may_change(spec, before)
    if before.get("schedulingGates"):
        kept = _with_narrower_choice(kept, before, faults)
    if kept != before:
        faults.forbidden("spec", f"{SPEC_IMMUTABLE}\n{difference(before, kept, 'PodSpec')}")


def _check_deadline(deadline: int | None, before: int | None, faults: Faults) -> bool:
    """Whether the rest is looked at as well."""
    path = "spec.activeDeadlineSeconds"
    if deadline is None:
        if before is not None:
            faults.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if range_faults(deadline, 0, INT32_MAX):
        faults.all_invalid(path, deadline, range_faults(deadline, 0, INT32_MAX))
        return False
    if before is not None and before < deadline:
        faults.invalid(path, deadline, "must be less than or equal to previous value")
        return False
    return True


def _check_tolerations(new: list[Document], old: list[Document], faults: Faults) -> None:
    after = [_without_seconds(toleration) for toleration in new]
    if not all(_without_seconds(toleration) in after for toleration in old):
        faults.forbidden("spec.tolerations", TOLERATIONS_IMMUTABLE)


def _without_seconds(toleration: Document) -> Document:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _check_gates(new: list[Document], old: list[Document], faults: Faults) -> None:
    before = {gate["name"] for gate in old}
    for position, gate in enumerate(new):
        if gate["name"] not in before:
            faults.forbidden(f"spec.schedulingGates[{position}].name", added_gate(gate["name"]))


def _with_what_may_change(spec: Document, before: Document) -> Document:
    """The new spec, as if everything that may change had not."""
    kept = dict(spec)
    for field in ("containers", "initContainers"):
        if kept.get(field):
            kept[field] = [
                _replaced(container, other, "image")
                for container, other in zip(kept[field], before[field], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        kept = _replaced(kept, before, field)
    grace = "terminationGracePeriodSeconds"
    if before.get(grace, 0) < 0 and kept.get(grace) == 1:
        kept = _replaced(kept, before, grace)
    return kept


def _replaced(document: Document, other: Document, field: str) -> Document:
    """The document with the other one's field, or its lack of it."""
    made = {name: value for name, value in document.items() if name != field}
    if field in other:
        made[field] = other[field]
    return made


def _with_narrower_choice(kept: Document, before: Document, faults: Faults) -> Document:
    """Whoever holds a gate may still say more about which nodes will do."""
    wanted, standing = kept.get("nodeSelector", {}), before.get("nodeSelector", {})
    if wanted != standing:
        if not standing.items() <= wanted.items():
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            faults.invalid("spec.nodeSelector", wanted, text)
        kept = _replaced(kept, before, "nodeSelector")
    affinity, other = kept.get("affinity", {}), before.get("affinity", {})
    if affinity.get("nodeAffinity") != other.get("nodeAffinity"):
        _check_narrowed(affinity.get("nodeAffinity", {}), other.get("nodeAffinity", {}), faults)
        merged = _replaced(affinity, other, "nodeAffinity")
        kept = _replaced(kept, {"affinity": merged} if merged else {}, "affinity")
    return kept


def _check_narrowed(new: Document, old: Document, faults: Faults) -> None:
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    terms, before = ((affinity.get(REQUIRED) or {}).get("nodeSelectorTerms", []) for affinity in (new, old))
    if not before:
        return
    if len(terms) != len(before):
        faults.invalid(path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for position, (term, other) in enumerate(zip(terms, before, strict=True)):
        for field in ("matchExpressions", "matchFields"):
            if any(requirement not in term.get(field, ()) for requirement in other.get(field, ())):
                faults.invalid(f"{path}[{position}]", term, "only additions are allowed (no mutations or deletions)")
                break


def check_pod_status_update(new: Document, old: Document, faults: Faults) -> None:
    """Of a write to the status."""
    status, before = new.get("status", {}), old.get("status", {})
    nominated = status.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName"):
        faults.all_invalid("status.nominatedNodeName", nominated, subdomain_faults(nominated))
        if old["spec"].get("nodeName"):
            faults.forbidden("status.nominatedNodeName", BOUND_AND_NOMINATED)
    if before.get("qosClass"):
        faults.immutable("status.qosClass", status.get("qosClass"), before.get("qosClass"))


def check_pod_resize(new: Document, old: Document, faults: Faults) -> None:
    """Of a write that may change how much cpu and memory containers get, and nothing else."""
    check_pod(new, faults)
    spec, before = new["spec"], old["spec"]
    if qos_class(spec) != qos_class(before):
        shown = new.get("status", {}).get("qosClass", "")
        faults.invalid("spec", shown, "Pod QOS Class may not change as a result of resizing")
    kept = dict(spec)
    for field in ("containers", "initContainers"):
        if kept.get(field) and len(kept[field]) == len(before.get(field) or ()):
            pairs = zip(kept[field], before[field], strict=True)
            kept[field] = [_with_amounts_of(container, other) for container, other in pairs]
    if kept != before:
        faults.forbidden("spec", _RESIZE_ONLY)


def _with_amounts_of(container: Document, other: Document) -> Document:
    resources = dict(container["resources"])
    for which in ("limits", "requests"):
        amounts = {k: v for k, v in resources.get(which, {}).items() if k not in RESIZABLE}
        amounts |= {k: v for k, v in other["resources"].get(which, {}).items() if k in RESIZABLE}
        resources.pop(which, None)
        if amounts:
            resources[which] = amounts
    return {**container, "resources": resources}


def check_ephemeral_update(new: Document, old: Document, faults: Faults) -> None:
    """Ephemeral containers may be added, never changed or taken away."""
    check_pod(new, faults)
    containers = {container["name"]: container for container in new["spec"].get("ephemeralContainers", ())}
    for container in old["spec"].get("ephemeralContainers", ()):
        found = containers.get(container["name"])
        name = container["name"]
        if found is None:
            faults.forbidden("spec.ephemeralContainers", f'existing ephemeral containers "{name}" may not be removed\n')
        elif found != container:
            faults.forbidden("spec.ephemeralContainers", f'existing ephemeral containers "{name}" may not be changed\n')
