"""Checks of changes to pods: to a pod itself and to its ephemeral containers."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import difference, internal
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_metadata
from bayplan.apiserver.admitting.validation.names import range_faults
from bayplan.apiserver.admitting.validation.pods.annotations import check_kept_annotations, check_pod_annotations
from bayplan.apiserver.admitting.validation.pods.spec import check_pod
from bayplan.model.meta import INT32_MAX
from bayplan.model.pod import REQUIRED
from bayplan.store.pods import (
    SPEC_IMMUTABLE,
    TOLERATIONS_IMMUTABLE,
    added_gate,
)


def check_pod_update(new: Document, old: Document, faults: Faults) -> None:
    """Of a write to the pod itself."""
    check_metadata(new["metadata"], faults)
    check_pod(new, faults, old["spec"])
    annotations, known = (each["metadata"].get("annotations", {}) for each in (new, old))
    check_kept_annotations(annotations, known, faults, "metadata.annotations")
    check_pod_annotations(annotations, new["spec"], faults, "metadata.annotations")
    spec, before = new["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(before.get(field) or ()):
            faults.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        for position, container in enumerate(spec.get(field) or ()):
            _check_image(container.get("image", ""), faults, f"spec.{field}[{position}].image")
    if spec == before:
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


def _check_image(image: str, faults: Faults, path: Path) -> None:
    if not image:
        faults.required(path)
    elif image != image.strip():
        faults.invalid(path, image, "must not have leading or trailing whitespace")


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
        shown = [internal(term, "NodeSelectorTerm") for term in terms] or None
        faults.invalid(path, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for position, (term, other) in enumerate(zip(terms, before, strict=True)):
        for field in ("matchExpressions", "matchFields"):
            if any(requirement not in term.get(field, ()) for requirement in other.get(field, ())):
                shown_term = internal(term, "NodeSelectorTerm")
                text = "only additions are allowed (no mutations or deletions)"
                faults.invalid(f"{path}[{position}]", shown_term, text)
                break


def check_ephemeral_update(new: Document, old: Document, faults: Faults) -> None:
    """Ephemeral containers may be added, never changed or taken away."""
    check_metadata(new["metadata"], faults)
    check_pod(new, faults, old["spec"])
    containers = {container["name"]: container for container in new["spec"].get("ephemeralContainers", ())}
    for container in old["spec"].get("ephemeralContainers", ()):
        found = containers.get(container["name"])
        name = container["name"]
        if found is None:
            faults.forbidden("spec.ephemeralContainers", f'existing ephemeral containers "{name}" may not be removed\n')
        elif found != container:
            changes = difference(container, found, "EphemeralContainer")
            text = f'existing ephemeral containers "{name}" may not be changed\n{changes}'
            faults.forbidden("spec.ephemeralContainers", text)
