"""Server-side apply on random sequences of writes: against a plain model of a map, and what must hold for lists."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.patching.server_side_apply.applying import apply
from bayplan.apiserver.patching.server_side_apply.extracting import fields_of
from bayplan.apiserver.patching.server_side_apply.field_sets import paths_of
from bayplan.apiserver.patching.server_side_apply.scopes import Scope, scope_of
from bayplan.apiserver.patching.server_side_apply.tracking import track
from bayplan.apiserver.schema.resources import RESOURCES
from bayplan.store.errors import ApiError, Conflict

Object = dict[str, Any]
MANAGERS = ("one", "two", "three")
KEYS = st.sampled_from("abc")
DATA = st.dictionaries(KEYS, st.sampled_from("12"), max_size=3)


class Write(NamedTuple):
    verb: str
    manager: str
    data: Any


def writes(data: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Write]]:
    verbs = st.sampled_from(["apply", "force", "update"])
    return st.lists(st.builds(Write, verbs, st.sampled_from(MANAGERS), data), min_size=1, max_size=8)


def scope(plural: str) -> Scope:
    return scope_of(next(one for one in RESOURCES if one.plural == plural))


def attempted(live: Object | None, write: Write, where: Scope, content: Object) -> Object | Conflict:
    try:
        return performed(live, write, where, content)
    except Conflict as conflict:
        return conflict


def performed(live: Object | None, write: Write, where: Scope, content: Object) -> Object:
    """The stored document after the write; raises Conflict."""
    document = {"apiVersion": where.api_version, "kind": where.kind, "metadata": {"name": "x"}, **content}
    if write.verb == "update":
        metadata = {"name": "x", "uid": "u"} if live else {"name": "x"}
        result = track(where, live, {**document, "metadata": metadata}, write.manager, 0)
    else:
        result = apply(where, live, document, write.manager, 0, force=write.verb == "force")
    return {**result, "metadata": {**result["metadata"], "uid": "u"}}


def owners_of(document: Object, field: str) -> dict[tuple[str, str], set[str]]:
    """The keys that each manager owns in a map, by name and operation."""
    return {
        (entry["manager"], entry["operation"]): {
            element.removeprefix("f:") for element in entry["fieldsV1"].get(field, {}) if element != "."
        }
        for entry in document["metadata"].get("managedFields", [])
    }


class Model:
    """The entries of a map and who owns each, in the plainest terms."""

    def __init__(self) -> None:
        self.data: dict[str, str] = {}
        self.owners: dict[tuple[str, str], set[str]] = {}

    def update(self, manager: str, data: dict[str, str]) -> None:
        changed = {key for key, value in data.items() if self.data.get(key) != value}
        self._release(changed | (self.data.keys() - data.keys()))
        self.owners.setdefault((manager, "Update"), set()).update(changed)
        self.data = dict(data)

    def conflicts(self, manager: str, data: dict[str, str]) -> set[str]:
        changed = {key for key, value in data.items() if self.data.get(key) != value}
        mine = (manager, "Apply")
        return {key for who, keys in self.owners.items() if who != mine for key in keys & changed}

    def apply(self, manager: str, data: dict[str, str]) -> None:
        mine = (manager, "Apply")
        self._release(self.conflicts(manager, data), but=mine)
        given_up = self.owners.get(mine, set()) - data.keys()
        self.owners[mine] = set(data)
        owned = set().union(*self.owners.values())
        for key in given_up - owned:
            self.data.pop(key, None)
        self.data.update(data)

    def _release(self, keys: set[str], but: tuple[str, str] | None = None) -> None:
        for who in self.owners:
            if who != but:
                self.owners[who] -= keys

    def owning(self) -> dict[tuple[str, str], set[str]]:
        return {who: keys for who, keys in self.owners.items() if keys}


@given(writes(DATA))
def test_entries_of_a_map_go_to_whom_a_plain_model_gives_them(sequence: list[Write]) -> None:
    model, where = Model(), scope("configmaps")
    live: Object | None = None
    for write in sequence:
        expected = model.conflicts(write.manager, write.data) if write.verb == "apply" else set()
        result = attempted(live, write, where, {"data": write.data} if write.data else {})
        if isinstance(result, Conflict):
            assert {cause.field for cause in result.causes} == {f".data.{key}" for key in expected}
            continue
        live = result
        assert not expected
        if write.verb == "update":
            model.update(write.manager, write.data)
        else:
            model.apply(write.manager, write.data)
        assert live.get("data", {}) == model.data
        owning = {who: keys for who, keys in owners_of(live, "f:data").items() if keys}
        # An object without owners is no longer tracked by updates, and belongs to somebody made up when applied to.
        if ("before-first-apply", "Update") in owning or not model.owning():
            return
        assert owning == model.owning()


# -- lists

ENV = st.lists(
    st.fixed_dictionaries({"name": KEYS}, optional={"value": st.sampled_from("12")}),
    min_size=1,
    max_size=2,
    unique_by=lambda one: one["name"],
)
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": KEYS}, optional={"image": st.sampled_from("12"), "env": ENV}),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one["name"],
)


def fields_in(document: Object, where: Scope) -> set[Any]:
    return set(paths_of(fields_of(document, where.shape)))


def applied_by_others(document: Object | None, manager: str) -> set[Any]:
    """Fields that other managers applied and still own."""
    entries = document["metadata"].get("managedFields", []) if document else []
    return {
        path
        for entry in entries
        if entry["operation"] == "Apply" and entry["manager"] != manager
        for path in paths_of(entry["fieldsV1"])
    }


@given(writes(CONTAINERS))
def test_applying_to_lists_gives_what_was_applied_and_takes_nothing_from_others(sequence: list[Write]) -> None:
    where = scope("pods")
    live: Object | None = None
    for write in sequence:
        content = {"spec": {"containers": write.data}}
        before, result = live, attempted(live, write, where, content)
        if isinstance(result, Conflict):
            assert write.verb == "apply"
            continue
        live = result
        if write.verb == "update":
            continue
        assert fields_in(content, where) <= fields_in(live, where)
        assert performed(live, write, where, content) == live
        theirs = applied_by_others(before, write.manager)
        assert theirs <= fields_in(live, where)
        if write.verb == "apply":
            assert theirs == applied_by_others(live, write.manager)


@given(CONTAINERS, CONTAINERS, CONTAINERS)
def test_what_only_one_manager_applied_goes_when_it_stops(first: Any, second: Any, others: Any) -> None:
    where = scope("pods")
    live = performed(None, Write("force", "two", others), where, {"spec": {"containers": others}})
    live = performed(live, Write("force", "one", first), where, {"spec": {"containers": first}})
    theirs = applied_by_others(live, "one")
    live = performed(live, Write("force", "one", second), where, {"spec": {"containers": second}})
    assert fields_in(live, where) == theirs | fields_in({"spec": {"containers": second}}, where)


# -- nonsense

WORDS = st.sampled_from(
    ["spec", "containers", "name", "env", "ports", "containerPort", "labels", "finalizers", "status"]
)
NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(CONTAINERS, st.sampled_from(["apply", "force", "update"]), st.dictionaries(WORDS, NONSENSE, max_size=3))
def test_nonsense_is_refused_or_goes_through(containers: Any, verb: str, content: Object) -> None:
    where = scope("pods")
    live = performed(None, Write("force", "one", containers), where, {"spec": {"containers": containers}})
    with contextlib.suppress(ApiError):
        assert performed(live, Write(verb, "two", None), where, content)["metadata"]["name"] == "x"


@given(NONSENSE)
def test_nonsense_about_owners_changes_no_owner(nonsense: Any) -> None:
    where = scope("configmaps")
    live = performed(None, Write("apply", "one", None), where, {"data": {"a": "1"}})
    new = {**live, "metadata": {"name": "x", "uid": "u", "managedFields": nonsense}}
    entries = track(where, live, new, "two", 0)["metadata"].get("managedFields", [])
    assert entries == ([] if nonsense in ([], [{}]) else live["metadata"]["managedFields"])


def test_long_lists_take_no_longer_than_their_length_says() -> None:
    containers = [{"name": f"c{number}"} for number in range(5_000)]
    where = scope("pods")
    live = performed(None, Write("apply", "one", None), where, {"spec": {"containers": containers}})
    turned = performed(live, Write("apply", "one", None), where, {"spec": {"containers": containers[::-2]}})
    assert turned["spec"]["containers"] == containers[::-2]
