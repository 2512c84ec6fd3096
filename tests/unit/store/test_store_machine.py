"""Random writes against a plain model of what must come of them.

After every step: the log replayed from nothing gives the store's content, indices agree with a full scan, versions
grow by one for each change, a lagging watcher either catches up or is told to list again, and no struct that was ever
handed out has changed since.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import msgspec
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGate, PodSpec
from bayplan.model.time_units import SECOND
from bayplan.model.workloads import ReplicaSet
from bayplan.store import AlreadyExists, ApiError, Conflict, Cursor, Gone, NotFound, Store, WatchEvent
from bayplan.testing.builders import replica_set
from bayplan.testing.building import Builder

KINDS: list[Any] = [Pod, ReplicaSet]
Key = tuple[str, str, str]

names = st.sampled_from(["a", "b", "c"])
namespaces = st.sampled_from(["x", "y"])
kinds = st.sampled_from(KINDS)
nodes = st.sampled_from(["n1", "n2"])
finalizers = st.lists(st.sampled_from(["f/1", "f/2"]), unique=True)
grace_periods = st.none() | st.integers(-1, 40)
propagations = st.sampled_from([None, None, "Background", "Foreground", "Orphan"])


class Expected:
    """All the model knows of an object."""

    def __init__(self, uid: str, version: str, finalizers: list[str]) -> None:
        self.uid = uid
        self.version = version
        self.finalizers = finalizers
        self.node = ""
        self.gated = False
        self.ending: int | None = None  # seconds of grace left to it, once it is being deleted
        self.labels: dict[str, str] = {}


class StoreMachine(RuleBasedStateMachine):
    """The store beside a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(log_capacity=16)
        self.model: dict[Key, Expected] = {}
        self.now = 0
        self.seen: list[tuple[WatchEvent, bytes]] = []
        self.replayed: dict[Key, Object] = {}
        self.reader = self.store.watch()
        self.laggard: Cursor = self.store.watch()
        self.laggards_view: dict[Key, Object] = {}

    @initialize()
    def start(self) -> None:
        self.owner_uid = self.store.create(_manifest(replica_set("owner", "x")), 0).metadata.uid
        self.model["ReplicaSet", "x", "owner"] = Expected(self.owner_uid, "1", [])

    @rule(seconds=st.integers(0, 20))
    def wait(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule(kind=kinds, namespace=namespaces, name=names, held=finalizers, owned=st.booleans(), gated=st.booleans())
    def create(self, kind: Any, namespace: str, name: str, held: list[str], owned: bool, gated: bool) -> None:
        key = kind.__name__, namespace, name
        given = kind(metadata=ObjectMeta(name=name, namespace=namespace, finalizers=held))
        if owned:
            given.metadata.owner_references = _owners(self.owner_uid)
        if kind is Pod and gated:
            given.spec = PodSpec(scheduling_gates=[PodSchedulingGate(name="g/1")])
        if key in self.model:
            self._refused(AlreadyExists, lambda: self.store.create(given, self.now))
            return
        stored = self.store.create(given, self.now)
        self.model[key] = Expected(stored.metadata.uid, stored.metadata.resource_version, held)
        self.model[key].gated = kind is Pod and gated

    @rule(kind=kinds, namespace=namespaces, name=names, value=st.sampled_from(["1", "2"]))
    def label(self, kind: Any, namespace: str, name: str, value: str) -> None:
        """A patch needs no version, and writes nothing when nothing changes."""
        key = kind.__name__, namespace, name

        def labeled(one: Any) -> Any:
            return replace(one, metadata=replace(one.metadata, labels={"value": value}))

        if key not in self.model:
            self._refused(NotFound, lambda: self.store.modify(kind, namespace, name, labeled, self.now))
            return
        expected = self.model[key]
        changes = expected.labels != {"value": value}
        version = self.store.resource_version
        written = self.store.modify(kind, namespace, name, labeled, self.now)
        assert self.store.resource_version == version + changes
        expected.labels, expected.version = {"value": value}, written.metadata.resource_version

    @rule(kind=kinds, namespace=namespaces, name=names, stale=st.booleans(), held=finalizers)
    def replace_finalizers(self, kind: Any, namespace: str, name: str, stale: bool, held: list[str]) -> None:
        key = kind.__name__, namespace, name
        old: Any = self.store.find(kind, namespace, name)
        if old is None:
            return
        expected = self.model[key]
        wished = replace(old, metadata=replace(old.metadata, finalizers=held))
        if stale:
            wished.metadata.resource_version = str(int(expected.version) - 1)
            self._refused(Conflict, lambda: self.store.replace(wished, self.now))
            return
        if expected.ending is not None and any(one not in expected.finalizers for one in held):
            self._refused(ApiError, lambda: self.store.replace(wished, self.now))
            return
        self.store.replace(wished, self.now)
        if expected.ending == 0 and not held and expected.finalizers:
            del self.model[key]
        else:
            expected.finalizers = held
            expected.version = self.store.get(kind, namespace, name).metadata.resource_version

    @rule(namespace=namespaces, name=names, node=nodes, other_uid=st.booleans())
    def bind(self, namespace: str, name: str, node: str, other_uid: bool) -> None:
        expected = self.model.get(("Pod", namespace, name))
        if expected is None:
            self._refused(NotFound, lambda: self.store.bind(namespace, name, node, "", self.now))
            return
        uid = "other" if other_uid else expected.uid
        if other_uid or expected.node or expected.gated or expected.ending is not None:
            self._refused(Conflict, lambda: self.store.bind(namespace, name, node, uid, self.now))
            return
        bound = self.store.bind(namespace, name, node, uid, self.now)
        expected.node, expected.version = node, bound.metadata.resource_version

    @rule(kind=kinds, namespace=namespaces, name=names, grace=grace_periods, propagation=propagations)
    def delete(self, kind: Any, namespace: str, name: str, grace: int | None, propagation: str | None) -> None:
        key = kind.__name__, namespace, name
        if key not in self.model:
            self._refused(NotFound, lambda: self.store.delete(kind, namespace, name, self.now))
            return
        expected = self.model[key]
        outcome = self.store.delete(kind, namespace, name, self.now, grace_seconds=grace, propagation=propagation)
        self._expect_deletion(expected, kind is Pod, grace, propagation)
        assert outcome.gone == (expected.ending == 0 and not expected.finalizers)
        if outcome.gone:
            del self.model[key]
        else:
            expected.version = outcome.object.metadata.resource_version

    def _expect_deletion(self, expected: Expected, is_pod: bool, grace: int | None, propagation: str | None) -> None:
        asked = 1 if grace is not None and grace < 0 else grace
        if expected.ending:
            if asked is None or asked >= expected.ending:
                return
            expected.ending = asked
        elif expected.ending is None:
            expected.ending = (30 if asked is None else asked) if is_pod and expected.node else 0
        said = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"], "Background": []}
        if propagation is not None:
            kept = [one for one in expected.finalizers if "/" in one]
            expected.finalizers = [*kept, *said[propagation]]

    def _refused(self, error: type[ApiError], write: Any) -> None:
        version = self.store.resource_version
        try:
            write()
        except error:
            assert self.store.resource_version == version
        else:
            raise AssertionError(f"{error.__name__} was expected")

    @precondition(lambda self: self.laggard.behind)
    @rule()
    def catch_up(self) -> None:
        """The watcher that reads now and then ends with the store's content either way."""
        try:
            for change in self.laggard.read():
                _apply(self.laggards_view, change)
        except Gone:
            objects, _, self.laggard = self.store.list_and_watch()
            self.laggards_view = {_key(one): one for one in objects}
        assert self.laggards_view == self._content()

    @invariant()
    def the_log_tells_all(self) -> None:
        for change in self.reader.read():
            _apply(self.replayed, change)
            self.seen.append((change, msgspec.json.encode([change.old, change.new])))
        assert self.replayed == self._content()
        assert [change.resource_version for change, _ in self.seen] == [*range(1, self.store.resource_version + 1)]

    @invariant()
    def the_model_agrees(self) -> None:
        content = self._content()
        assert content.keys() == self.model.keys()
        for key, expected in self.model.items():
            meta = content[key].metadata
            assert expected.ending != 0 or expected.finalizers, "nothing is kept that must be gone"
            assert (meta.uid, meta.resource_version) == (expected.uid, expected.version)
            assert (meta.finalizers, meta.labels) == (expected.finalizers, expected.labels)
            assert meta.deletion_grace_period_seconds == expected.ending
            assert (meta.deletion_timestamp is None) == (expected.ending is None)

    @invariant()
    def indices_agree_with_a_scan(self) -> None:
        content = self._content()
        for node in ("n1", "n2"):
            found = sorted(_key(one) for one in self.store.pods_on_node(node))
            assert found == sorted(key for key, one in self.model.items() if one.node == node)
        if self.store.resource_version:
            owned = sorted(_key(one) for one in self.store.owned_by(self.owner_uid))
            assert owned == sorted(key for key, one in content.items() if one.metadata.owner_references)
        for kind in KINDS:
            assert self.store.count(kind) == len(self.store.list(kind))

    def teardown(self) -> None:
        """What was handed out is as it was."""
        for change, encoded in self.seen:
            assert msgspec.json.encode([change.old, change.new]) == encoded

    def _content(self) -> dict[Key, Object]:
        return {_key(one): one for kind in KINDS for one in self.store.list(kind)}


def _manifest(builder: Builder[Any]) -> Any:
    return builder.manifest().obj()


def _owners(uid: str) -> list[Any]:
    reference = replica_set("owned", "x").owner("ReplicaSet", "owner").obj().metadata.owner_references[0]
    return [replace(reference, uid=uid)]


def _key(one: Object) -> Key:
    return type(one).__name__, one.metadata.namespace, one.metadata.name


def _apply(view: dict[Key, Object], change: WatchEvent) -> None:
    key = _key(change.new)
    assert view.get(key) == change.old
    if change.type == "DELETED":
        del view[key]
    else:
        view[key] = change.new
    assert change.new.metadata.resource_version == str(change.resource_version)


StoreMachine.TestCase.settings = settings(stateful_step_count=40)
TestStore = StoreMachine.TestCase
