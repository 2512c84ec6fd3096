"""The entries of `metadata.managedFields`: which manager owns which fields, since when.

`read` takes the list as it is in a document and gives it as `Owners`; `write` gives the list back, in the server's
order. Entries that were not changed stay the very same objects.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from bayplan.apiserver.patching.server_side_apply.field_sets import FieldSet, decoded

APPLY, UPDATE = "Apply", "Update"
_UNKNOWN_MANAGER = "unknown"


class Manager(NamedTuple):
    """Who owns fields. Somebody who applies is the same manager in every version of the API."""

    name: str
    operation: str
    api_version: str  # empty for those who apply
    subresource: str

    @classmethod
    def of(cls, name: str, operation: str, api_version: str, subresource: str) -> "Manager":
        return cls(name or _UNKNOWN_MANAGER, operation, "" if operation == APPLY else api_version, subresource)

    @property
    def identifier(self) -> str:
        """Sorts managers as the server does."""
        return json.dumps({name: value for name, value in self._asdict().items() if value}, separators=(",", ":"))

    def __str__(self) -> str:
        """As conflicts name it."""
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class FieldOwnership(NamedTuple):
    fields: FieldSet
    api_version: str
    time: str  # empty: unknown
    entry: dict[str, Any] | None = None  # as it is stored, if nothing changed since

    def with_fields(self, fields: FieldSet) -> "FieldOwnership":
        return self if fields is self.fields else self._replace(fields=fields, entry=None)


Owners = dict[Manager, FieldOwnership]


def read(entries: Iterable[dict[str, Any]] | None) -> Owners:
    """The owners that a stored document names."""
    owners: Owners = {}
    for entry in entries or ():
        version = entry["apiVersion"]
        manager = Manager.of(entry.get("manager", ""), entry["operation"], version, entry.get("subresource", ""))
        owners[manager] = FieldOwnership(entry.get("fieldsV1") or {}, version, entry.get("time", ""), entry)
    return owners


def read_foreign(entries: Any) -> Owners | None:
    """The owners that a client names; None if the list is broken."""
    try:
        checked = [_checked(entry) for entry in entries]
    except (AttributeError, TypeError, ValueError):
        return None
    return read(checked)


def _checked(entry: dict[str, Any]) -> dict[str, Any]:
    if entry.get("operation") not in (APPLY, UPDATE):
        raise ValueError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise ValueError("missing or invalid fieldsType")
    return {**entry, "fieldsV1": decoded(entry.get("fieldsV1"))}


def write(owners: Owners) -> list[dict[str, Any]]:
    entries = [ownership.entry or _entry(manager, ownership) for manager, ownership in owners.items()]
    entries.sort(key=_order)
    return entries


def _entry(manager: Manager, ownership: FieldOwnership) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": manager.name, "operation": manager.operation}
    entry["apiVersion"] = ownership.api_version
    if ownership.time:
        entry["time"] = ownership.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = ownership.fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _order(entry: dict[str, Any]) -> tuple[str, ...]:
    name, version = entry.get("manager", ""), entry["apiVersion"]
    return (entry["operation"], entry.get("time", ""), name, version, entry.get("subresource", ""))
