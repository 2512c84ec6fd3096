"""One tenant's view: nothing that belongs to other namespaces is named.

Takes the objects of a cluster and the tenant's namespace. Every text of an answer goes through `hide`: names,
namespaces, label values and whatever else objects of other namespaces are called become other words, the same one each
time. What the tenant's own objects and objects without a namespace (nodes, classes) are called is kept. A reference
to another namespace is refused before the question is asked, so that answers do not tell whether something exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bayplan.analysis.anonymizing.rules import TextRule, rule_of
from bayplan.model.cluster import Namespace
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.storage import PersistentVolume

_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_NUMBER = re.compile(r"[0-9.]+[A-Za-z]{0,2}")
#: Shorter words are hidden only behind the name of their namespace: `a` is also English.
_SHORTEST = 3
#: Texts that Kubernetes chose, amounts and times.
_SAY_NOTHING = frozenset(
    {
        TextRule.WORD,
        TextRule.AMOUNT,
        TextRule.SCHEDULE,
        TextRule.DROP,
        TextRule.VERSION,
        TextRule.TIME,
        TextRule.KIND,
        TextRule.GROUP,
    }
)
_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)+")


class Seclusion:
    """What a tenant may see."""

    def __init__(self, objects: Iterable[Object], namespace: str) -> None:
        self._namespace = namespace
        own: set[str] = {namespace}
        others: set[str] = set()
        self._namespaces: set[str] = set()
        for obj in objects:
            if _is_open(obj, namespace):
                own.update(_words(obj))
            else:
                others.update(_words(obj))
                self._namespaces.add(obj.metadata.namespace or obj.metadata.name)
        self._hidden = (others | self._namespaces) - own
        self._aliases: dict[str, str] = {}

    def check(self, text: str) -> None:
        """Raises InvalidObject for a reference to an object of another namespace."""
        first, slash, _ = text.partition("/")
        if slash and (first in self._namespaces or (text.count("/") > 1 and first != self._namespace)):
            raise InvalidObject([Fault("", "", "", f"only objects of namespace {self._namespace} can be asked about")])

    def check_object(self, plain: Any) -> None:
        """Raises InvalidObject if an object from an assistant belongs to another namespace."""
        metadata = plain.get("metadata") if isinstance(plain, dict) else None
        namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
        if namespace not in (None, self._namespace):
            raise InvalidObject([Fault("", "", "metadata.namespace", f"must be {self._namespace}")])

    def hide(self, value: Any) -> Any:
        """The value with other words for what is hidden, keys of maps included."""
        if isinstance(value, str):
            return self._hidden_text(value)
        if isinstance(value, dict):
            return {self._hidden_text(key): self.hide(each) for key, each in value.items()}
        return [self.hide(each) for each in value] if isinstance(value, list) else value

    def _hidden_text(self, text: str) -> str:
        return _WORD.sub(self._other_word, _PATH.sub(self._other_path, text))

    def _other_path(self, found: re.Match[str]) -> str:
        """A whole path that starts with a hidden namespace: the rest may be called as something of the tenant's."""
        path = found[0]
        return self._alias(path) if path.partition("/")[0] in self._namespaces else path

    def _other_word(self, found: re.Match[str]) -> str:
        return self._alias(found[0]) if found[0] in self._hidden else found[0]

    def _alias(self, text: str) -> str:
        return self._aliases.setdefault(text, f"hidden_{len(self._aliases) + 1}")


def _is_open(obj: Object, namespace: str) -> bool:
    """Whether its names may be shown. Volumes and namespaces are not in a namespace, but tell of others."""
    if isinstance(obj, Namespace):
        return obj.metadata.name == namespace
    if isinstance(obj, PersistentVolume):
        claim = obj.spec.claim_ref
        return claim is None or claim.namespace == namespace
    return obj.metadata.namespace in ("", namespace)


def _words(obj: Object) -> Iterator[str]:
    """Everything that it is called, and calls others, word by word. Numbers and the shortest words tell nothing."""
    for text in _names(obj):
        yield from (word for word in _WORD.findall(text) if len(word) >= _SHORTEST and not _NUMBER.fullmatch(word))


def _names(part: msgspec.Struct) -> Iterator[str]:
    for field in part.__struct_fields__:
        value = getattr(part, field)
        if isinstance(value, msgspec.Struct):
            yield from _names(value)
        elif isinstance(value, list) and value and isinstance(value[0], msgspec.Struct):
            for each in value:
                yield from _names(each)
        elif isinstance(value, str | list | dict) and value and rule_of(type(part), field) not in _SAY_NOTHING:
            yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *_texts(each))
    elif isinstance(value, msgspec.Struct):
        yield from _names(value)
