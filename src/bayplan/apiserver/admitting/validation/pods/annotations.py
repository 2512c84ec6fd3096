"""Checks of annotations that mean something for pods: old ways to say what fields say today.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpecificAnnotations (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.admitting.app_armor import APP_ARMOR, LOCAL, SECCOMP_CONTAINER, SECCOMP_POD, profile_of
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.volume_sources import check_descending
from bayplan.controllers.budgets.evicting import MIRROR_ANNOTATION
from bayplan.controllers.workloads.deletion_order import DELETION_COST

_SECCOMP_NAMES: Final = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}
_NUMBER: Final = re.compile(r"0|[1-9][0-9]*|-[0-9]+")
_MISMATCH: Final = "{} in annotation and field must match"


def check_pod_annotations(annotations: dict[str, str], spec: Document, faults: Faults, path: Path) -> None:
    """Of a pod or of a template."""
    if MIRROR_ANNOTATION in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        faults.invalid(f"{path}[{MIRROR_ANNOTATION}]", annotations[MIRROR_ANNOTATION], text)
    cost = annotations.get(DELETION_COST)
    if cost is not None and not (_NUMBER.fullmatch(cost) and -(2**31) <= int(cost) < 2**31):
        faults.invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer")
    for key in sorted(annotations, key=lambda key: key != SECCOMP_POD):
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            _check_seccomp(annotations[key], faults, f"{path}.{key}")
    names = {container["name"] for container, _ in _containers(spec, "")}
    for key, profile in annotations.items():
        if key.startswith(APP_ARMOR):
            _check_app_armor(key.removeprefix(APP_ARMOR), profile, names, faults, f"{path}[{key}]")


def _check_seccomp(profile: str, faults: Faults, path: Path) -> None:
    if profile.startswith(LOCAL):
        check_descending(profile.removeprefix(LOCAL), faults, path)
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        faults.invalid(path, profile, "must be a valid seccomp profile")


def _check_app_armor(container: str, profile: str, names: set[str], faults: Faults, path: Path) -> None:
    if container not in names:
        faults.invalid(path, container, "container not found")
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(LOCAL):
        faults.invalid(path, profile, f'invalid AppArmor profile name: "{profile}"')


def check_annotated_profiles(annotations: dict[str, str], spec: Document, faults: Faults, path: Path) -> None:
    """That what annotations say is what fields say, where both do. Of new pods, and of templates."""
    context = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations and context.get("seccompProfile"):
        at = f"{path}.securityContext.seccompProfile"
        _compare_seccomp(annotations[SECCOMP_POD], context["seccompProfile"], faults, at)
    for container, at in _containers(spec, path):
        own, annotation = (
            container.get("securityContext") or {},
            annotations.get(f"{SECCOMP_CONTAINER}{container['name']}"),
        )
        if annotation is not None and own.get("seccompProfile"):
            _compare_seccomp(annotation, own["seccompProfile"], faults, f"{at}.securityContext.seccompProfile")
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for container, at in _containers(spec, path):
        own, annotation = container.get("securityContext") or {}, annotations.get(f"{APP_ARMOR}{container['name']}")
        profile = own.get("appArmorProfile") or context.get("appArmorProfile")
        if annotation is not None and profile:
            _compare_app_armor(annotation, profile, faults, f"{at}.securityContext.appArmorProfile")


def _compare_seccomp(annotation: str, profile: Document, faults: Faults, path: Path) -> None:
    kind = profile["type"]
    if kind == "Localhost":
        if not annotation.startswith(LOCAL):
            faults.forbidden(f"{path}.type", _MISMATCH.format("seccomp type"))
        elif annotation.removeprefix(LOCAL) != profile.get("localhostProfile"):
            faults.forbidden(f"{path}.localhostProfile", _MISMATCH.format("seccomp profile"))
    elif kind in _SECCOMP_NAMES:
        allowed = (_SECCOMP_NAMES[kind], "docker/default") if kind == "RuntimeDefault" else (_SECCOMP_NAMES[kind],)
        if annotation not in allowed:
            faults.forbidden(f"{path}.type", _MISMATCH.format("seccomp type"))


def _compare_app_armor(annotation: str, profile: Document, faults: Faults, path: Path) -> None:
    kind = profile["type"]
    if kind == "Localhost" and annotation.startswith(LOCAL):
        if annotation.removeprefix(LOCAL) != profile.get("localhostProfile"):
            faults.forbidden(f"{path}.localhostProfile", _MISMATCH.format("apparmor profile"))
    elif kind in ("Unconfined", "RuntimeDefault", "Localhost") and (profile_of(annotation) or {}).get("type") != kind:
        faults.forbidden(f"{path}.type", _MISMATCH.format("apparmor type"))


def check_kept_annotations(new: dict[str, str], old: dict[str, str], faults: Faults, path: Path) -> None:
    """Of a pod that is changed: some annotations may not be."""
    for key, before in old.items():
        if new.get(key) != before:
            _forbid_change(key, "remove or update", faults, path)
    for key in new.keys() - old.keys():
        _forbid_change(key, "add", faults, path)


def _forbid_change(key: str, done: str, faults: Faults, path: Path) -> None:
    if key.startswith(APP_ARMOR):
        faults.forbidden(f"{path}[{key}]", f"may not {done} AppArmor annotations")
    if key == MIRROR_ANNOTATION:
        faults.forbidden(f"{path}[{key}]", f"may not {done} mirror pod annotation")


def _containers(spec: Document, path: Path) -> Iterator[tuple[Document, Path]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{position}]"
