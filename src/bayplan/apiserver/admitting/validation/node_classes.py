"""Checks of runtime classes. Upstream: pkg/apis/node/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_labels
from bayplan.apiserver.admitting.validation.pods.placement import check_tolerations
from bayplan.apiserver.admitting.validation.pods.resources import check_amounts
from bayplan.model.dns_names import label_faults


def check_runtime_class(runtime_class: Document, faults: Faults) -> None:
    if "overhead" in runtime_class:
        check_amounts({"limits": runtime_class["overhead"].get("podFixed", {})}, faults, "overhead")
    scheduling = runtime_class.get("scheduling")
    if scheduling is not None:
        check_labels(scheduling.get("nodeSelector", {}), faults, "scheduling.nodeSelector")
        tolerations = scheduling.get("tolerations", [])
        check_tolerations(tolerations, faults, "scheduling.tolerations")
        seen = set()
        for position, toleration in enumerate(tolerations):
            key = tuple(toleration.get(field) for field in ("key", "operator", "value", "effect"))
            if key in seen:
                faults.duplicate(f"scheduling.tolerations[{position}]", internal(toleration, "Toleration"))
            seen.add(key)
    faults.declared.named("handler", runtime_class["handler"], label_faults)


def check_runtime_class_update(new: Document, old: Document, faults: Faults) -> None:
    faults.declared.immutable("handler", new["handler"], old["handler"])
