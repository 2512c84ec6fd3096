"""Checks of conditions of the common type. Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go (v1.36)."""

from __future__ import annotations

import re
from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.model.names import label_key_faults

STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_BAD_REASON: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON.pattern}')"
)
_REASON_MAX, _MESSAGE_MAX = 1024, 32 * 1024


def check_conditions(conditions: list[Document], faults: Faults, path: Path) -> None:
    seen: dict[str, int] = {}
    is_strict = admission_release().looks_for_conditions_parts
    for position, condition in enumerate(conditions):
        at, kind = f"{path}[{position}]", condition["type"]
        if kind in seen:
            faults.duplicate(at if is_strict else f"{at}.type", kind)
        seen[kind] = position
        if is_strict and not kind:
            faults.required(f"{at}.type", "is required")
        else:
            faults.all_invalid(f"{at}.type", kind, label_key_faults(kind))
        if is_strict and not condition["status"]:
            faults.required(f"{at}.status")
        elif condition["status"] not in STATUSES:
            faults.unsupported(f"{at}.status", condition["status"], STATUSES)
        faults.not_negative(f"{at}.observedGeneration", condition.get("observedGeneration"))
        if not condition.get("lastTransitionTime"):
            faults.required(f"{at}.lastTransitionTime")
        _check_reason(condition["reason"], faults, f"{at}.reason")
        if len(condition["message"]) > _MESSAGE_MAX:
            faults.too_long(f"{at}.message", _MESSAGE_MAX)


def _check_reason(reason: str, faults: Faults, path: Path) -> None:
    if not reason:
        faults.required(path)
        return
    if not _REASON.fullmatch(reason):
        faults.invalid(path, reason, _BAD_REASON)
    if len(reason) > _REASON_MAX:
        faults.too_long(path, _REASON_MAX)
