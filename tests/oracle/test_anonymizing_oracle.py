"""A cluster under other names decides the same: what `place` and `explain` say of it is the same, but for the names.

Messages may have names inside; those are not compared, the rest of the text is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random_worlds.world import STARTED_AT, GoesInCircles, RandomWorld
from tests.support.examples import examples

from bayplan.analysis.anonymizing.objects import anonymized
from bayplan.analysis.anonymizing.well_known import RESOURCES
from bayplan.analysis.cluster import Cluster
from bayplan.model.cluster import PriorityClass
from bayplan.model.kinds import KINDS, Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import PodTemplateSpec
from bayplan.model.reading import from_texts
from bayplan.model.time_units import SECOND
from bayplan.report.cluster_dump import dump_lines
from bayplan.testing.clusters import small_scene

SEEDS = st.integers(0, 100_000)
EXPLAINED_MAX = 4
#: Claims that are yet to be made, and requests in them: names that are no object's. A cause is full of names.
UNKNOWN_NAMES = ("claim", "request", "cause")
#: Where messages have names, or the text of an expression.
NAMES_INSIDE = re.compile(
    r'device\.attributes.*|"[^"]*"|(?<=request )\S+|(?<=class )\S+|(?<=claim )\S+|(?<=device )\S+|(?<=taint )\S+'
    r"|(?<=on node )[^,]+|(?<=tainted )[^:]+|(?<=too little ).*(?= left)|(?<=Insufficient )[\w/.-]*\w"
)
#: What is between the reasons in a message; their order depends on names inside.
BETWEEN_REASONS = re.compile(r"[:,.] ")


class Translation:
    """Old names as new ones, those that are made of them included."""

    def __init__(self, old: Sequence[Object], new: Sequence[Object]) -> None:
        self._new: dict[str, str] = {"": ""}
        self._nodes = {  # keys that are neither names of nodes nor of resources are words of the document
            before.metadata.name: after.metadata.name
            for before, after in zip(old, new, strict=True)
            if isinstance(before, Node)
        }
        for before, after in zip(old, new, strict=True):
            self._new[before.metadata.name] = after.metadata.name
            self._new[object_key(before)] = object_key(after)
        for before, after in zip(old, new, strict=True):
            self._learn(msgspec.to_builtins(before), msgspec.to_builtins(after))

    def _learn(self, before: Any, after: Any) -> None:
        """Texts that have become others: of what is mentioned, such as a node that is gone."""
        if isinstance(before, str):
            if before != after and before not in RESOURCES:  # a device's capacity may have the name of a resource
                self._new.setdefault(before, after)
        elif isinstance(before, dict):
            if len(before) == len(after):
                for (key, value), (new_key, new_value) in zip(before.items(), after.items(), strict=True):
                    self._learn(key, new_key)
                    self._learn(value, new_value)
        elif isinstance(before, list):
            for old_item, new_item in zip(before, after, strict=True):
                self._learn(old_item, new_item)

    def document(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._key(key): self.document(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _key(self, key: str) -> str:
        return self._new.get(key, key) if "/" in key else self._nodes.get(key, key)

    def _text(self, text: str) -> str:
        if text in self._new:
            return self._new[text]
        kind, space, key = text.partition(" ")
        if space and key in self._new:  # a workload
            return f"{kind} {self._new[key]}"
        if text.count("/") == 2:  # a device: its driver, its pool and its name
            return "/".join(self._new.get(part, part) for part in text.split("/"))
        for dash in re.finditer("-", text):
            owner, rest = text[: dash.start()], text[dash.end() :]
            if owner in self._new and re.fullmatch(r"(new-)?\d+", rest):
                return f"{self._new[owner]}-{rest}"
            if owner in self._new and rest in self._new:
                return f"{self._new[owner]}-{self._new[rest]}"
        return text


def without_names(value: Any) -> Any:
    """A document whose messages have no names in them."""
    if isinstance(value, dict):
        return {key: "…" if key in UNKNOWN_NAMES else without_names(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_names(item) for item in value]
    return sorted(BETWEEN_REASONS.split(NAMES_INSIDE.sub("…", value))) if isinstance(value, str) else value


def check_same_decisions(objects: Sequence[Object]) -> None:
    renamed = anonymized(objects)
    translation = Translation(objects, renamed)
    # As it comes back from a file.
    read = from_texts([("dump", b"".join(dump_lines(renamed)))]).objects
    before, after = Cluster(deepcopy(list(objects))), Cluster(read)
    assert without_names(translation.document(before.place().to_dict())) == without_names(after.place().to_dict())
    keys, new_keys = before.queue().keys, after.queue().keys
    assert translation.document(keys) == new_keys
    for key, new_key in list(zip(keys, new_keys, strict=True))[:EXPLAINED_MAX]:
        expected = translation.document(before.explain(key).document())
        assert without_names(expected) == without_names(after.explain(new_key).document())


@given(SEEDS)
@examples(40)
def test_small_clusters(seed: int) -> None:
    scene = small_scene(seed)
    check_same_decisions([*scene.objects, *scene.waiting])


@pytest.mark.slow
@given(SEEDS, st.integers(0, 40))
@examples(8)
def test_worlds_in_the_middle_of_things(seed: int, seconds: int) -> None:
    world = RandomWorld(seed)
    with suppress(GoesInCircles):
        world.world.run_until(STARTED_AT + seconds * SECOND)
    objects = [deepcopy(obj) for info in KINDS.values() for obj in world.store.list(info.struct)]
    # No file may have a name with a slash, or a workload whose priority class is gone, which these worlds do not mind.
    classes = {"", *(obj.metadata.name for obj in objects if isinstance(obj, PriorityClass))}
    check_same_decisions([obj for obj in objects if "/" not in obj.metadata.name and class_of(obj) in classes])


def class_of(obj: Object) -> str:
    """The priority class that pods of a workload would have, if it names one."""
    template = getattr(getattr(obj, "spec", None), "template", None)
    return template.spec.priority_class_name if isinstance(template, PodTemplateSpec) else ""
