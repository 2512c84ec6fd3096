"""The status of validating policies: what is wrong with the types in their expressions."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.policies.policies import VALIDATING
from bayplan.apiserver.policies.type_checking import expression_warnings
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError

_POLICIES: Final = VALIDATING.qualified_resource


class PolicyTypes:
    """Checks each policy once for each of its generations."""

    def __init__(self) -> None:
        self._due: dict[str, None] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource == _POLICIES and change.type != DELETED and not _is_checked(change.new.document):
            self._due[change.new.name] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for name in due:
            with suppress(ApiError):
                registry.update(VALIDATING, "", name, _Check(registry), OPTIONS, now, subresource="status")


def _is_checked(policy: Document) -> bool:
    observed = (policy.get("status") or {}).get("observedGeneration", 0)
    return bool(observed >= policy["metadata"].get("generation", 0))


class _Check:
    """What a policy becomes by being checked."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __call__(self, policy: Document) -> Document:
        if _is_checked(policy):
            return policy
        warnings = expression_warnings(policy, self._registry.catalogue, self._registry.definitions)
        checked = {"expressionWarnings": warnings} if warnings else {}
        status = {**(policy.get("status") or {}), "typeChecking": checked}
        return {**policy, "status": {**status, "observedGeneration": policy["metadata"]["generation"]}}
