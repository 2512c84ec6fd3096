"""A cluster under other names. Takes objects; gives new ones in the same order, and leaves the old ones alone.

Goes through all objects twice: first to learn what there is to rename, then to rename it. Whatever refers to something
still does, and names sort as before, so that every decision is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from bayplan.admission.priority import SYSTEM_CLASSES
from bayplan.analysis.anonymising.renaming import Renaming, with_parts
from bayplan.analysis.anonymising.rules import (
    ANNOTATIONS,
    VALUES_KEPT,
    Rule,
    is_domain_kept,
    is_key_kept,
    rule_of,
)
from bayplan.controllers.workloads.job_pods import is_indexed
from bayplan.core.columns.ports import ANY_ADDRESS
from bayplan.core.plugins.csi_migration import ZONE_SEPARATOR
from bayplan.model.kinds import KINDS, Object
from bayplan.model.meta import LabelSelectorRequirement
from bayplan.model.node import Taint
from bayplan.model.pod import NodeSelectorRequirement, Pod, Toleration
from bayplan.model.resource_claims import DEVICE_CLASS_PREFIX, DeviceTaint, DeviceToleration, ResourceClaim
from bayplan.model.storage import CSIDriver, PersistentVolumeClaim, TopologySelectorLabelRequirement
from bayplan.model.workloads import Job, StatefulSet

PartT = TypeVar("PartT", bound=msgspec.Struct)

_LATEST: Final = ":latest"  # what an image without a tag means
_NUMERIC: Final = ("Gt", "Lt")
#: Parts of disks' names that drivers look at.
_DISK_WORDS: Final = frozenset({"aws", "vol", "projects", "zones", "regions", "disks", "UNSPECIFIED"})
WITH_VALUES: Final = (NodeSelectorRequirement, LabelSelectorRequirement, TopologySelectorLabelRequirement)
WITH_VALUE: Final = (Taint, Toleration, DeviceTaint, DeviceToleration)


def anonymised(objects: Sequence[Object]) -> list[Object]:
    """The same cluster under other names."""
    found = _Findings()
    learning = _Rewriting(found.learn, found)
    for obj in objects:
        learning.object(obj)
    found.ordinals = {*_ordinals(objects), "0"}
    rename = Renaming(found.names, found.ordinals)
    rewriting = _Rewriting(rename, found)
    return [rewriting.object(obj) for obj in objects]


class _Findings:
    """What the first pass learns."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.uids: set[str] = set()
        self.numeric_keys: set[str] = set()  # whose values are compared as numbers
        self.ordinals: set[str] = set()

    def learn(self, name: str) -> str:
        self.names.add(name)
        return name


def _ordinals(objects: Iterable[Object]) -> set[str]:
    """The numbers that follow a StatefulSet's name in names of pods and claims, as `0` in `data-web-0`.

    Also those of claims whose pod is gone: the next pod of that number takes them over. Indexed Jobs count, too.
    """
    owners = {
        (obj.metadata.namespace, obj.metadata.name)
        for obj in objects
        if isinstance(obj, StatefulSet) or (isinstance(obj, Job) and is_indexed(obj))
    }
    found: set[str] = set()
    for obj in objects if owners else ():
        if isinstance(obj, Pod | PersistentVolumeClaim | ResourceClaim):
            words = obj.metadata.name.split("-")
            for end in range(1, len(words)):
                if words[end].isdecimal() and words[end] not in found:
                    starts = ("-".join(words[start:end]) for start in range(end))
                    if any((obj.metadata.namespace, name) in owners for name in starts):
                        found.add(words[end])
    return found


class _Rewriting:
    """One pass through objects."""

    def __init__(self, rename: Callable[[str], str], found: _Findings) -> None:
        self._rename = rename
        self._found = found
        width = len(str(len(found.uids)))
        self._uids = {uid: f"uid-{number:0{width}}" for number, uid in enumerate(sorted(found.uids), start=1)}
        self._texts: dict[Rule, Callable[[str], str]] = {
            Rule.KEEP: lambda text: text,
            Rule.RESOURCES: lambda text: text,
            Rule.DROP: lambda _: "",
            Rule.NAME: self._name,
            Rule.UID: self._uid,
            Rule.KEY: self._key,
            Rule.CONDITION: lambda text: self._key(text) if "/" in text else text,
            Rule.KIND: lambda text: text if text in KINDS else self._name(text),
            Rule.GROUP: self._group,
            Rule.IMAGE: self._image,
            Rule.DISK: self._disk,
            Rule.HOST_IP: lambda text: text if text == ANY_ADDRESS else self._name(text),
        }

    def object(self, obj: Object) -> Object:
        new: Object = self._part(obj)
        if isinstance(new, CSIDriver):  # drivers keep their names
            new.metadata.name = obj.metadata.name
        return new

    def _part(self, part: PartT) -> PartT:
        if isinstance(part, (*WITH_VALUES, *WITH_VALUE)):
            special: PartT = self._with_values(part) if isinstance(part, WITH_VALUES) else self._with_value(part)
            return special
        changes: dict[str, Any] = {}
        for field in part.__struct_fields__:
            old = getattr(part, field)
            if old and not isinstance(old, int | float):
                changes[field] = self._value(type(part), field, old)
        return msgspec.structs.replace(part, **changes)

    def _value(self, part: type, field: str, old: Any) -> Any:
        if isinstance(old, msgspec.Struct):
            return self._part(old)
        if isinstance(old, str):
            return self._texts[rule_of(part, field)](old)
        if isinstance(old, dict):
            return self._map(rule_of(part, field), old)
        if isinstance(old[0], str):
            return [self._texts[rule_of(part, field)](text) for text in old]
        return [self._part(item) if isinstance(item, msgspec.Struct) else item for item in old]

    def _map(self, rule: Rule, old: Mapping[str, Any]) -> dict[str, Any]:
        if rule is Rule.LABELS:
            return {self._key(key): self._label(key, value) for key, value in old.items()}
        if rule is Rule.ANNOTATIONS:
            return {key: self._texts[ANNOTATIONS[key]](value) for key, value in old.items() if key in ANNOTATIONS}
        key_of = self._resource if rule is Rule.RESOURCES else self._texts[rule]
        return {
            key_of(key): self._part(value) if isinstance(value, msgspec.Struct) else value for key, value in old.items()
        }

    def _with_values(self, part: Any) -> Any:
        """A requirement of labels."""
        if getattr(part, "operator", "") in _NUMERIC:
            self._found.numeric_keys.add(part.key)
        values = [self._label(part.key, value) for value in part.values]
        return msgspec.structs.replace(part, key=self._key(part.key), values=values)

    def _with_value(self, part: Any) -> Any:
        """A taint or toleration."""
        if getattr(part, "operator", "") in _NUMERIC:
            self._found.numeric_keys.add(part.key)
        key = self._key(part.key) if part.key else part.key
        value = self._label(part.key, part.value) if part.value else part.value
        return msgspec.structs.replace(part, key=key, value=value)

    # Text.

    def _name(self, name: str) -> str:
        return name if name in SYSTEM_CLASSES else self._rename(name)

    def _uid(self, uid: str) -> str:
        self._found.uids.add(uid)
        return self._uids.get(uid, uid)

    def _key(self, key: str) -> str:
        if is_key_kept(key):
            return key
        domain, slash, name = key.rpartition("/")
        new_domain = domain if is_domain_kept(domain) else self._name(domain)
        return f"{new_domain}{slash}{self._name(name)}"

    def _label(self, key: str, value: str) -> str:
        if key in VALUES_KEPT or (key in self._found.numeric_keys and _is_integer(value)):
            return value
        if value in self._found.uids:
            return self._uid(value)
        return ZONE_SEPARATOR.join(map(self._name, value.split(ZONE_SEPARATOR)))

    def _group(self, api_version: str) -> str:
        group, slash, version = api_version.rpartition("/")
        return api_version if "." not in group or is_domain_kept(group) else f"{self._name(group)}{slash}{version}"

    def _image(self, image: str) -> str:
        bare = image.removesuffix(_LATEST)
        return self._name(bare) + image[len(bare) :]

    def _disk(self, disk: str) -> str:
        return with_parts(disk, lambda part: part if part in _DISK_WORDS else self._name(part))

    def _resource(self, name: str) -> str:
        """The name of a kind of resource is kept; one stands for a class of devices."""
        bare = name.removeprefix(DEVICE_CLASS_PREFIX)
        return name if bare == name else DEVICE_CLASS_PREFIX + self._name(bare)


def _is_integer(value: str) -> bool:
    try:
        int(value)
    except ValueError:
        return False
    return True
