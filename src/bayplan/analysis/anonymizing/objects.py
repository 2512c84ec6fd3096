"""A cluster under other names. Takes objects; gives new ones in the same order, and leaves the old ones alone.

Goes through all objects twice: first to learn what there is to rename, then to rename it. References still refer to the
same objects, and names sort as before, so that every decision is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from bayplan.analysis.anonymizing.device_attributes import AttributeValues
from bayplan.analysis.anonymizing.rules import ANNOTATIONS, TextRule, rule_of
from bayplan.analysis.anonymizing.texts import Learned, Texts
from bayplan.controllers.workloads.job_pods import is_indexed
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DeviceAttribute, DeviceConstraint, ResourceClaim, ResourceSlice
from bayplan.model.storage import CSIDriver, PersistentVolumeClaim
from bayplan.model.workloads import Job, StatefulSet

PartT = TypeVar("PartT", bound=msgspec.Struct)

_NUMERIC: Final = ("Gt", "Lt")


def anonymized(objects: Sequence[Object]) -> list[Object]:
    """The objects of a cluster under other names, which still fit together."""
    anonymizer = Anonymizer()
    for obj in objects:
        anonymizer.learn(obj)
    anonymizer.finish_learning()
    return [anonymizer.renamed(obj) for obj in objects]


class Anonymizer:
    """New names for objects that come one by one: first all to learn from them, then all again to be renamed."""

    def __init__(self) -> None:
        self._found, self._values, self._ordinals = Learned(), AttributeValues(), _Ordinals()
        self._rewriting = _Rewriting(Texts(self._found, learning=True), self._found, self._values)
        self._slices: list[ResourceSlice] = []
        self._span = 0

    def learn(self, obj: Object) -> None:
        self._rewriting.object(obj)
        self._ordinals.learn(obj)
        if isinstance(obj, ResourceSlice):
            self._slices.append(obj)

    def finish_learning(self) -> None:
        for resource_slice in self._slices:  # once it is known which attributes are compared
            self._values.learn(resource_slice)
        self._found.ordinals = {*self._ordinals.found(), "0"}
        texts = Texts(self._found, learning=False)
        self._rewriting = _Rewriting(texts, self._found, self._values)
        self._span = texts.span

    def renamed(self, obj: Object) -> Object:
        return self._rewriting.described(obj, self._rewriting.object(obj))

    def moved(self, time: int) -> int:
        """A time, moved as those in objects are."""
        return time + self._span


class _Ordinals:
    """The numbers that follow a StatefulSet's name in names of pods and claims, as `0` in `data-web-0`.

    Also those of claims whose pod is gone: the next pod of that number takes them over. Indexed Jobs count, too.
    """

    def __init__(self) -> None:
        self._owners: set[tuple[str, str]] = set()
        self._numbered: set[tuple[str, str]] = set()

    def learn(self, obj: Object) -> None:
        named = obj.metadata.namespace, obj.metadata.name
        if isinstance(obj, StatefulSet) or (isinstance(obj, Job) and is_indexed(obj)):
            self._owners.add(named)
        elif isinstance(obj, Pod | PersistentVolumeClaim | ResourceClaim):
            self._numbered.add(named)

    def found(self) -> set[str]:
        found: set[str] = set()
        for namespace, name in self._numbered if self._owners else ():
            words = name.split("-")
            for end in range(1, len(words)):
                if words[end].isdecimal() and words[end] not in found:
                    starts = ("-".join(words[start:end]) for start in range(end))
                    if any((namespace, start) in self._owners for start in starts):
                        found.add(words[end])
        return found


class _Rewriting:
    """One pass through objects."""

    def __init__(self, texts: Texts, found: Learned, values: AttributeValues) -> None:
        self._texts = texts
        self._found = found
        self._values = values

    def object(self, obj: Object) -> Object:
        new: Object = self._part(obj)
        if isinstance(new, CSIDriver):
            new.metadata.name = self._texts.by_rule[TextRule.DRIVER](obj.metadata.name)
        return new

    def described(self, old: Object, new: Object) -> Object:
        """The new object; if it is a slice, its devices get what is left of their attributes. For the second pass."""
        if not (isinstance(old, ResourceSlice) and isinstance(new, ResourceSlice)):
            return new
        driver = old.spec.driver
        for before, after in zip(old.spec.devices, new.spec.devices, strict=True):
            kept = self._values.attributes(driver, before)
            after.attributes = {self._texts.qualified(name): attribute for name, attribute in kept.items()}
            after.attributes |= self._found.verdicts.attributes(driver, before)
        return new

    def _part(self, part: PartT) -> PartT:
        if getattr(part, "operator", "") in _NUMERIC:
            self._found.compared_keys.add(getattr(part, "key", ""))
        if isinstance(part, DeviceConstraint):
            self._values.note_constraint(part)
        changes: dict[str, Any] = {}
        for field in part.__struct_fields__:
            old = getattr(part, field)
            if old and not isinstance(old, int | float):
                changes[field] = self._value(part, field, old)
        return msgspec.structs.replace(part, **changes)

    def _value(self, part: msgspec.Struct, field: str, old: Any) -> Any:
        if isinstance(old, msgspec.Struct):
            return self._part(old)
        if isinstance(old, list) and isinstance(old[0], msgspec.Struct):
            return [self._part(item) for item in old]
        rule = rule_of(type(part), field)
        if rule is TextRule.DROP:
            return getattr(type(part)(), field)
        if isinstance(old, dict):
            return self._map(rule, old)
        if isinstance(old, list):
            return [self._text(part, rule, item) if isinstance(item, str) else item for item in old]
        return self._text(part, rule, old)

    def _text(self, part: Any, rule: TextRule, text: str) -> str:
        return self._texts.label(part.key, text) if rule is TextRule.VALUE else self._texts.by_rule[rule](text)

    def _map(self, rule: TextRule, old: Mapping[str, Any]) -> dict[str, Any]:
        texts = self._texts
        by_rule = texts.by_rule
        if rule is TextRule.LABELS:
            return {texts.key(key): texts.label(key, value) for key, value in old.items()}
        if rule is TextRule.ANNOTATIONS:
            return {key: by_rule[ANNOTATIONS[key]](value) for key, value in old.items() if key in ANNOTATIONS}
        if rule is TextRule.TIMES:
            return {texts.name(key): by_rule[TextRule.TIME](time) if time else time for key, time in old.items()}
        if rule is TextRule.ATTRIBUTES:  # only their names are needed here: see `described`
            return dict.fromkeys(map(texts.qualified, old), DeviceAttribute())
        key_of = texts.resource if rule is TextRule.RESOURCES else texts.qualified
        return {key_of(key): self._amount(value) for key, value in old.items()}

    def _amount(self, amount: Any) -> Any:
        if isinstance(amount, msgspec.Struct):
            return self._part(amount)
        return self._texts.by_rule[TextRule.AMOUNT](amount) if isinstance(amount, str) else amount
