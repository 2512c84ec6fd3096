"""Who owns the number of replicas after a write to an object's scale.

Takes the object's `managedFields`, where its replicas are, and who wrote; gives the new `managedFields`, or those of
its Scale. As in the server, the entry of a writer says nothing about when.
"""

from typing import Any

from bayplan.apiserver.patching.server_side_apply.field_sets import Path, intersection, set_of_paths
from bayplan.apiserver.patching.server_side_apply.managed_fields import UPDATE, FieldOwnership, Manager, read, write
from bayplan.apiserver.patching.server_side_apply.path_elements import FIELD
from bayplan.apiserver.patching.server_side_apply.tracking import released

SCALE = "scale"
SCALE_API_VERSION = "autoscaling/v1"
REPLICAS: Path = (FIELD + "spec", FIELD + "replicas")
"""Of built-in types; custom resources have them where their definition says."""


def track_scaling(
    entries: list[dict[str, Any]], api_version: str, manager: str, path: Path = REPLICAS
) -> list[dict[str, Any]]:
    """The entries after a write to the scale that changed the number of replicas."""
    fields = set_of_paths(path)
    owners = released(read(entries), fields)
    owners[Manager.of(manager, UPDATE, api_version, SCALE)] = FieldOwnership(fields, api_version, "")
    return write(owners)


def scale_owners(entries: list[dict[str, Any]], path: Path = REPLICAS) -> list[dict[str, Any]]:
    """The entries that the Scale of an object has: those who own its number of replicas."""
    fields = set_of_paths(path)
    return write(
        {
            manager: FieldOwnership(set_of_paths(REPLICAS), SCALE_API_VERSION, ownership.time)
            for manager, ownership in read(entries).items()
            if intersection(ownership.fields, fields)
        }
    )
