"""Every pod tolerates for five minutes that its node is not ready or unreachable, unless it says something about that.

Takes a pod document and completes it in place. Upstream: plugin/pkg/admission/defaulttolerationseconds (v1.36).
"""

from __future__ import annotations

from bayplan.admission.defaults import TOLERATION_SECONDS
from bayplan.apiserver.admitting.documents import Document
from bayplan.model.tolerations import NO_EXECUTE
from bayplan.model.well_known import NOT_READY, UNREACHABLE


def tolerate_for_a_while(pod: Document) -> None:
    tolerations = pod["spec"].get("tolerations", [])
    added = [_toleration(key) for key in (NOT_READY, UNREACHABLE) if not _mentions(tolerations, key)]
    if added:
        pod["spec"]["tolerations"] = [*tolerations, *added]


def _mentions(tolerations: list[Document], key: str) -> bool:
    return any(
        toleration.get("key", "") in (key, "") and toleration.get("effect", "") in (NO_EXECUTE, "")
        for toleration in tolerations
    )


def _toleration(key: str) -> Document:
    return {"key": key, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": TOLERATION_SECONDS}
