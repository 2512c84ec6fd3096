"""The base of every Kubernetes object here, object metadata and label selectors.

Structs decode straight from JSON with msgspec. Attributes are the snake_case of the JSON names; lists and
maps are empty, never None, when absent; a scalar or struct whose absence means something is None. Only
fields that scheduling, disruption budgets, workload expansion or priority admission read are kept: anything
else in the input is dropped while decoding. Values stay as written: nothing is defaulted or checked here.
"""

from copy import copy, deepcopy
from typing import Annotated, Any, Self, TypeAlias

import msgspec

RawQuantity: TypeAlias = str | int | float
"""A Kubernetes quantity as it was written; `quantity.parse_quantity` gives its value."""


# Kubernetes refuses integers beyond these; here the bounds also keep them within NumPy's.
INT32_MAX = 2**31 - 1
Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-INT32_MAX - 1, le=INT32_MAX)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ObjectPart(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Any part of an object. Without garbage-collector tracking, as no part ever refers back to its owner."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Value by value, in a quarter of the time that it takes without knowing that this is a struct."""
        copied = copy(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) not in _NEVER_CHANGED:
                setattr(copied, name, _deep_copy(value, memo))
        return copied


_NEVER_CHANGED = frozenset({str, int, float, bool, type(None)})


def _deep_copy(value: Any, memo: dict[int, Any]) -> Any:
    if type(value) in _NEVER_CHANGED:
        return value
    if isinstance(value, ObjectPart):
        return value.__deepcopy__(memo)
    if type(value) is list:
        return [_deep_copy(item, memo) for item in value]
    if type(value) is dict:
        return {key: _deep_copy(item, memo) for key, item in value.items()}
    return deepcopy(value, memo)


class OwnerReference(ObjectPart, kw_only=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(ObjectPart, kw_only=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    generation: Int64 = 0
    resource_version: str = ""
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class TopLevel(ObjectPart, tag_field="kind", tag=True, kw_only=True):
    """An object with a kind of its own; the kind is the class name, checked and written by msgspec."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class LabelSelectorRequirement(ObjectPart, kw_only=True):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(ObjectPart, kw_only=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


class Condition(ObjectPart, kw_only=True):
    """A status condition of a pod, a node, a workload or a budget."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: Int64 | None = None


class ObjectReference(ObjectPart, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
