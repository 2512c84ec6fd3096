"""AppArmor profiles of containers, which old annotations of a pod name too, and the keys of such annotations.

Annotations become fields when a pod is created; templates keep them as they are. Upstream: pkg/api/pod/util.go,
pkg/registry/core/pod/strategy.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.admitting.defaults.pods import CONTAINER_LISTS
from bayplan.apiserver.admitting.documents import Document

APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
LOCAL: Final = "localhost/"
DEPRECATED: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
PROFILE_PATH_MAX: Final = 4095


def profile_of(annotation: str) -> Document | None:
    """The profile that an annotation names; None if it names none."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = annotation.removeprefix(LOCAL)
    return {"type": "Localhost", "localhostProfile": name} if name and name != annotation else None


def take_profiles(pod: Document) -> None:
    """Gives the containers of a new pod the profiles that its annotations name."""
    for container, profile in _annotated(pod):
        if profile is not None and profile != _profile_of_pod(pod):
            context = container.setdefault("securityContext", {})
            context["appArmorProfile"] = profile


def warn_of_profiles(pod: Document, _: Document | None) -> Iterator[str]:
    """Of a new pod, before its annotations have become fields."""
    for container, profile in _annotated(pod):
        if profile is None or profile != _profile_of_pod(pod):
            yield f"metadata.annotations[{APP_ARMOR}{container['name']}]: {DEPRECATED}"


def _annotated(pod: Document) -> Iterator[tuple[Document, Document | None]]:
    """The containers that only have an annotation, and the profile that it names, if that can be one."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    for field in CONTAINER_LISTS:
        for container in spec.get(field) or ():
            annotation = annotations.get(f"{APP_ARMOR}{container['name']}")
            if annotation is not None and not (container.get("securityContext") or {}).get("appArmorProfile"):
                profile = profile_of(annotation)
                yield container, profile if profile is not None and _is_valid(profile) else None


def _profile_of_pod(pod: Document) -> Document | None:
    profile: Document | None = (pod["spec"].get("securityContext") or {}).get("appArmorProfile")
    return profile


def _is_valid(profile: Document) -> bool:
    name = profile.get("localhostProfile", "")
    return bool(name == name.strip() and len(name.encode()) <= PROFILE_PATH_MAX)
