"""What is in the blocks of a recording: events as short entries, and back.

An entry is a list: what it is, the time since the entry before in microseconds, and the rest. New objects are written
as differences to the first one of their kind with the same containers, so that the thousandth pod of a template is its
name and little else; changes are differences to the object before. Differences are JSON merge patches. Both sides
number objects in the same way, and begin anew with each `HEAD`.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from bayplan.analysis.anonymizing.rules import ANNOTATIONS
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod

HEAD, SYNCED, ADDED, CHANGED, REMOVED, TROUBLE, ALIVE = range(7)
#: What is remembered of the first objects of their kind, on both sides.
_MODELS_MAX: Final = 4_096
_NO_MODEL: Final = -1

Plain: TypeAlias = dict[str, Any]
Entry: TypeAlias = list[Any]
_Place: TypeAlias = tuple[str, str]  # kind, namespace/name

_encode = msgspec.msgpack.Encoder().encode


def plain_of(obj: Object) -> Plain:
    """What is written of an object: its fields, but for its version and annotations that nothing here reads."""
    plain: Plain = msgspec.to_builtins(obj)
    plain["metadata"].pop("resourceVersion", None)
    trim_annotations(plain)
    return plain


def trim_annotations(value: Any) -> None:
    """Removes annotations that nothing reads, from objects and the templates in them; they may repeat a manifest."""
    if isinstance(value, dict):
        if isinstance(annotations := value.get("annotations"), dict):
            value["annotations"] = {key: text for key, text in annotations.items() if key in ANNOTATIONS}
            if not value["annotations"]:
                del value["annotations"]
        for item in value.values():
            trim_annotations(item)
    elif isinstance(value, list):
        for item in value:
            trim_annotations(item)


class EntryWriter:
    """Makes entries of what happens to objects."""

    def __init__(self) -> None:
        self._numbers: dict[_Place, int] = {}
        self._next = 0
        self._models: dict[tuple[str, bytes], tuple[int, Plain]] = {}

    def added(self, obj: Object) -> Entry:
        kind, new = type(obj).__name__, plain_of(obj)
        self._numbers[kind, object_key(obj)] = self._next
        self._next += 1
        mark = kind, _encode(_containers(obj))
        model = self._models.get(mark)
        if model is None:
            if len(self._models) >= _MODELS_MAX:
                self._models.clear()
            self._models[mark] = len(self._models), new
            return [ADDED, 0, kind, _NO_MODEL, new]
        number, old = model
        return [ADDED, 0, kind, number, difference(old, new)]

    def changed(self, old: Object, new: Object) -> Entry | None:
        """None for a change of nothing that is written."""
        number = self._numbers[type(new).__name__, object_key(new)]
        found = difference(*_unequal_parts(old, new))
        return [CHANGED, 0, number, found] if found else None

    def removed(self, old: Object) -> Entry:
        return [REMOVED, 0, self._numbers.pop((type(old).__name__, object_key(old)))]


class EntryReader:
    """Makes objects of entries again."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Plain, str]] = {}
        self._next = 0
        self._models: list[Plain] = []

    def added(self, kind: str, model: int, given: Plain) -> Plain:
        if model == _NO_MODEL:
            if len(self._models) >= _MODELS_MAX:
                self._models.clear()
            self._models.append(given)
            plain = given
        else:
            plain = merged(self._models[model], given)
        self._objects[self._next] = plain, kind
        self._next += 1
        return plain

    def changed(self, number: int, found: Plain) -> tuple[str, Plain]:
        plain, kind = self._objects[number]
        plain = merged(plain, found)
        self._objects[number] = plain, kind
        return kind, plain

    def removed(self, number: int) -> tuple[str, Plain]:
        plain, kind = self._objects.pop(number)
        return kind, plain


def _containers(obj: Any) -> Any:
    """Of a pod, or of what makes pods."""
    spec = getattr(obj, "spec", None)
    template: Any = getattr(spec, "template", None)
    return obj.spec.containers if isinstance(obj, Pod) else getattr(getattr(template, "spec", None), "containers", None)


def _unequal_parts(old: Any, new: Any) -> tuple[Plain, Plain]:
    """Both as plain data, without what is equal."""
    before: Plain = {}
    after: Plain = {}
    names = zip(new.__struct_fields__, new.__struct_encode_fields__, strict=True)
    for field, name in names:
        was, is_now = getattr(old, field), getattr(new, field)
        if was is not is_now and was != is_now:
            before[name], after[name] = msgspec.to_builtins(was), msgspec.to_builtins(is_now)
    for plain in (before, after):
        plain.get("metadata", {}).pop("resourceVersion", None)
        trim_annotations(plain)
    return before, after


def difference(old: Plain, new: Plain) -> Plain:
    """The merge patch that makes the new out of the old; neither may have a value that is None."""
    found: Plain = {}
    for key, value in new.items():
        before = old.get(key)
        if before is value or before == value:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            found[key] = difference(before, value)
        else:
            found[key] = value
    for key in old:
        if key not in new:
            found[key] = None
    return found


def merged(old: Plain, patch: Plain) -> Plain:
    """The old with the patch; what it does not concern is shared."""
    made = dict(old)
    for key, value in patch.items():
        before = made.get(key)
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict) and isinstance(before, dict):
            made[key] = merged(before, value)
        else:
            made[key] = value
    return made
