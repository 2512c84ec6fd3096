"""Checks of a resize: cpu and memory of containers, and of the pod as a whole, may change, and nothing else.

What has an amount keeps one, the class of service stays, and static pods, those on Windows and those whose kubelet
reports no sizes are not resized at all. Whether a node can hold the pod is asked by a plugin.
Upstream: pkg/apis/core/validation/validation.go ValidatePodResize (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.pod_resources import qos_class
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_metadata
from bayplan.apiserver.admitting.validation.pods.containers import RESIZABLE
from bayplan.apiserver.admitting.validation.pods.spec import check_pod
from bayplan.controllers.budgets.evicting import MIRROR_ANNOTATION

_ONLY = "only cpu and memory resources are mutable"
_AMOUNTS = ("requests", "limits")
#: How an empty path is shown.
_NOWHERE = "[]"


def check_pod_resize(new: Document, old: Document, faults: Faults) -> None:
    spec, before = new["spec"], old["spec"]
    if MIRROR_ANNOTATION in old["metadata"].get("annotations", {}):
        faults.forbidden(_NOWHERE, "static pods cannot be resized")
        return
    if before.get("os", {}).get("name") == "windows":
        faults.forbidden(_NOWHERE, "windows pods cannot be resized")
        return
    check_metadata(new["metadata"], faults)
    check_pod(new, faults, before)
    status = old.get("status", {})
    if qos_class(spec) != (status.get("qosClass") or qos_class(before)):
        shown = new.get("status", {}).get("qosClass", "")
        faults.invalid("spec", shown, "Pod QOS Class may not change as a result of resizing")
    if not _reports_sizes(status):
        faults.forbidden("spec", "Pod running on node without support for resize")
    kept = dict(spec)
    _check_whole(kept, before, faults)
    if not _check_same_containers(spec, before, faults):
        return
    for field in ("initContainers", "containers"):
        for position, (container, other) in enumerate(zip(spec.get(field) or (), before.get(field) or (), strict=True)):
            path = f"spec.{field}[{position}].resources"
            for which in _AMOUNTS:
                if _loses(container["resources"], other["resources"], which):
                    faults.forbidden(f"{path}.{which}", f"resource {which} cannot be removed")
    for field in ("containers", "initContainers"):
        if kept.get(field):
            pairs = zip(kept[field], before[field], strict=True)
            kept[field] = [_with_amounts_of(container, other) for container, other in pairs]
    for container, other in zip(kept.get("containers") or (), before.get("containers") or (), strict=True):
        if container != other:
            faults.forbidden("spec", _ONLY)
    _check_init_containers(spec, kept, before, faults)
    if not faults and kept != before:
        faults.forbidden("spec", _ONLY)


def _reports_sizes(status: Document) -> bool:
    """Whether the kubelet says how large containers are; while none runs, nobody can tell."""
    running = (known for known in status.get("containerStatuses", ()) if "running" in known.get("state", {}))
    known = next(running, None)
    return known is None or "resources" in known


def _check_whole(kept: Document, before: Document, faults: Faults) -> None:
    """What the pod says as a whole; in `kept`, that is then what it was, if it may have become what it is."""
    path, given, standing = "spec.resources", kept.get("resources"), before.get("resources")
    if not any((whole or {}).get(which) for whole in (given, standing) for which in _AMOUNTS):
        return
    if given is None:
        faults.forbidden(path, "pod-level resources cannot be removed")
        return
    for which in _AMOUNTS:
        if standing is not None and _loses(given, standing, which):
            faults.forbidden(f"{path}.{which}", f"pod-level resource {which} cannot be removed")
    masked = _with_amounts(given, standing or {})
    if masked != (standing or {}):
        faults.forbidden("spec", f"{_ONLY} at pod-level")
    kept.pop("resources")
    if standing is not None or masked:
        kept["resources"] = masked


def _loses(resources: Document, before: Document, which: str) -> bool:
    return not before.get(which, {}).keys() <= resources.get(which, {}).keys()


def _check_same_containers(spec: Document, before: Document, faults: Faults) -> bool:
    """Whether they are the same ones in the same order, without which nothing else is looked at."""
    fine = True
    for field in ("containers", "initContainers"):
        names, standing = ([each["name"] for each in given.get(field) or ()] for given in (spec, before))
        if len(names) != len(standing):
            faults.forbidden(f"spec.{field}", f"{field} may not be added or removed on resize")
            fine = False
            continue
        for position, (name, other) in enumerate(zip(names, standing, strict=True)):
            if name != other:
                text = f"{field} may not be renamed or reordered on resize"
                faults.forbidden(f"spec.{field}[{position}].name", text)
                fine = False
    return fine


def _check_init_containers(spec: Document, kept: Document, before: Document, faults: Faults) -> None:
    for position, other in enumerate(before.get("initContainers") or ()):
        path: Path = f"spec.initContainers[{position}]"
        if kept["initContainers"][position] != other:
            text = "only cpu and memory resources for init or sidecar containers are mutable"
            faults.forbidden(path, text)
        container = spec["initContainers"][position]
        if container != other and container.get("restartPolicy") != "Always":
            for policy in container.get("resizePolicy") or ():
                if policy["restartPolicy"] == "RestartContainer":
                    text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                    faults.forbidden(path, text)


def _with_amounts_of(container: Document, other: Document) -> Document:
    resources = _with_amounts(container["resources"], other["resources"])
    if not admission_release().resizes_beside_claims:
        resources.pop("claims", None)
    return {**container, "resources": resources}


def _with_amounts(given: Document, standing: Document) -> Document:
    """The resources with as much of what can be resized as the others have."""
    made = dict(given)
    for which in _AMOUNTS:
        amounts = {name: amount for name, amount in given.get(which, {}).items() if name not in RESIZABLE}
        amounts |= {name: amount for name, amount in standing.get(which, {}).items() if name in RESIZABLE}
        made.pop(which, None)
        if amounts:
            made[which] = amounts
    return made
