"""The scheduler's view of the store: late, in order, and whole again after the watch was broken."""

from __future__ import annotations

from random import Random

import pytest

from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.cluster import Namespace
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.structs import replace
from bayplan.store import Store
from bayplan.worlds.delayed_watch import NEVER, DelayedWatch


class Mirror:
    """All that somebody knows who hears nothing but events; each must fit what is known."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Object] = {}

    def hear(self, event: Event, now: int) -> None:
        match event:
            case ObjectAdded(new):
                assert _name(new) not in self.known
                self.known[_name(new)] = new
            case ObjectChanged(old, new):
                assert self.known[_name(old)] is old
                self.known[_name(new)] = new
            case ObjectRemoved(old):
                assert self.known.pop(_name(old)) is old
            case _:
                raise AssertionError(event)


def _name(obj: Object) -> tuple[str, str]:
    return type(obj).__name__, obj.metadata.name


def _write(store: Store, random: Random, now: int) -> None:
    kind = random.choice((Node, Namespace))
    name = f"object-{random.randrange(4)}"
    found = store.find(kind, "", name)
    if found is None:
        store.create(kind(metadata=ObjectMeta(name=name)), now)
    elif kind is Node and random.random() < 0.4:
        store.delete(Node, "", name, now)
    else:
        labels = {"n": str(now)}
        store.modify(kind, "", name, lambda old: replace(old, metadata=replace(old.metadata, labels=labels)), now)


@pytest.mark.parametrize("seed", range(60))
def test_whoever_hears_all_events_knows_what_is_stored(seed: int) -> None:
    random, store, mirror = Random(seed), Store(), Mirror()
    for _ in range(random.randrange(6)):
        _write(store, random, 0)
    reflector, cursor = DelayedWatch(store), store.watch()
    for event in reflector.start():
        mirror.hear(event, 0)
    for now in range(1, 200):
        for _ in range(random.randrange(3)):
            _write(store, random, now)
        # A relist may find what has not been put on its way.
        if random.random() < 0.7 and (changes := cursor.read()):
            if random.random() < 0.1:
                reflector.break_watch(changes, now + random.randrange(9))
            reflector.deliver_later(changes, now + random.randrange(5))
        reflector.deliver(now, mirror.hear)
    if changes := cursor.read():
        reflector.deliver_later(changes, 300)
    reflector.deliver(300, mirror.hear)
    assert reflector.due == NEVER
    assert mirror.known == {_name(obj): obj for obj in store.list_and_watch().objects}


def test_nothing_overtakes_what_was_written_before() -> None:
    store, mirror = Store(), Mirror()
    reflector, cursor = DelayedWatch(store), store.watch()
    store.create(Node(metadata=ObjectMeta(name="slow")), 0)
    reflector.deliver_later(cursor.read(), 10)
    store.create(Node(metadata=ObjectMeta(name="fast")), 1)
    reflector.deliver_later(cursor.read(), 2)
    reflector.deliver(9, mirror.hear)
    assert not mirror.known
    reflector.deliver(10, mirror.hear)
    assert [name for _, name in mirror.known] == ["slow", "fast"]
