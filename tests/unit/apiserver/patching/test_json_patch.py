"""JSON patches: each operation, the server's liberties, its refusals, and a slow reference on random patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.patching.json_patch import COPIED_MAX, MAX_OPERATIONS, apply_json_patch
from bayplan.store.errors import ApiError, BadRequest, RequestEntityTooLarge, Unprocessable

DOCUMENT: dict[str, Any] = {
    "spec": {"items": [{"name": "a"}, {"name": "b"}], "size": 2, "none": None},
    "a/b": {"m~n": 1},
}


def operation(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **more}


@pytest.mark.parametrize(
    ("patch", "place", "expected"),
    [
        (operation("add", "/spec/new", value=1), ["spec", "new"], 1),
        (operation("add", "/spec/size", value=3), ["spec", "size"], 3),
        (operation("add", "/spec/items/0", value=9), ["spec", "items"], [9, {"name": "a"}, {"name": "b"}]),
        (operation("add", "/spec/items/-", value=9), ["spec", "items"], [{"name": "a"}, {"name": "b"}, 9]),
        (operation("add", "/spec/items/2", value=9), ["spec", "items"], [{"name": "a"}, {"name": "b"}, 9]),
        (operation("add", "/spec/items/-1", value=9), ["spec", "items"], [{"name": "a"}, {"name": "b"}, 9]),
        (operation("remove", "/spec/items/0"), ["spec", "items"], [{"name": "b"}]),
        (operation("remove", "/spec/items/-1"), ["spec", "items"], [{"name": "a"}]),
        (operation("replace", "/spec/items/1/name", value="c"), ["spec", "items", 1], {"name": "c"}),
        (operation("replace", "/spec/absent", value="c"), ["spec", "absent"], "c"),
        (operation("replace", "", value={"x": 1}), [], {"x": 1}),
        (operation("move", "/moved", **{"from": "/spec/items/0"}), ["moved"], {"name": "a"}),
        (operation("copy", "/copied", **{"from": "/spec/size"}), ["copied"], 2),
        (operation("copy", "/copied", **{"from": "/spec/absent"}), ["copied"], None),
        (operation("replace", "/a~1b/m~0n", value=5), ["a/b", "m~n"], 5),
        (operation("add", "ignored/spec/new", value=1), ["spec", "new"], 1),
        (operation("test", "/spec/size", value=2), ["spec", "size"], 2),
        (operation("test", "/spec/absent", value=None), ["spec", "size"], 2),
        (operation("test", "", value=DOCUMENT), [], DOCUMENT),
    ],
)
def test_an_operation_changes_what_it_names(patch: dict[str, Any], place: list[Any], expected: Any) -> None:
    found: Any = apply_json_patch(DOCUMENT, [patch])
    for step in place:
        found = found[step]
    assert found == expected


def test_a_moved_member_is_gone_from_where_it_was() -> None:
    patched = apply_json_patch(DOCUMENT, [operation("move", "/moved", **{"from": "/spec/items/0"})])
    assert patched["spec"]["items"] == [{"name": "b"}]


def test_operations_see_what_those_before_them_did() -> None:
    patch = [operation("add", "/x", value={}), operation("add", "/x/y", value=1), operation("test", "/x/y", value=1)]
    assert apply_json_patch({}, patch) == {"x": {"y": 1}}


@pytest.mark.parametrize(
    "patch",
    [
        operation("test", "/spec/size", value=3),
        operation("test", "/spec/size", value=True),
        operation("remove", "/spec/absent"),
        operation("remove", "/spec/items/2"),
        operation("add", "/spec/items/4", value=1),
        operation("add", "/spec/items/x", value=1),
        operation("add", "/absent/x", value=1),
        operation("add", "/spec/none/x", value=1),
        operation("add", "/spec/size/x", value=1),
        operation("add", "", value={}),
        operation("add", "spec", value={}),
        operation("replace", "/spec/items/5", value=1),
        operation("replace", "", value=[]),
        operation("move", "/x", **{"from": "/absent"}),
        operation("paint", "/spec"),
        {"path": "/spec"},
        operation("remove", "/spec/items/99999999999999999999"),
    ],
)
def test_what_cannot_be_done_is_refused_without_a_reason(patch: dict[str, Any]) -> None:
    with pytest.raises(Unprocessable) as refusal:
        apply_json_patch(DOCUMENT, [patch])
    assert refusal.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"a": 1}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("x", "json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        ([1], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}], "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"path": []}], "json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(patch: Any, message: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        apply_json_patch(DOCUMENT, patch)
    assert refusal.value.message == f"error decoding patch: {message}"


def test_the_number_of_operations_is_limited() -> None:
    allowed = [operation("test", "/spec/size", value=2)] * MAX_OPERATIONS
    assert apply_json_patch(DOCUMENT, allowed) == DOCUMENT
    with pytest.raises(RequestEntityTooLarge) as refusal:
        apply_json_patch(DOCUMENT, [*allowed, allowed[0]])
    text = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert refusal.value.message == f"Request entity too large: {text}"


# -- random patches against an implementation that changes a copy in place

NAMES = st.sampled_from(["a", "b", "c/d", "e~f"])
VALUES = st.recursive(
    st.sampled_from([None, True, 1, "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TOKENS = st.sampled_from(["a", "b", "c~1d", "e~0f", "0", "1", "-", "-1", "7"])
PATHS = st.lists(TOKENS, min_size=1, max_size=3).map(lambda tokens: "".join(f"/{token}" for token in tokens))
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": PATHS, "from": PATHS},
    optional={"value": VALUES},
)


def slow_patch(document: Any, patch: list[dict[str, Any]]) -> Any:
    document = copy.deepcopy(document)
    for one in patch:
        kind, value = one["op"], copy.deepcopy(one.get("value"))
        if kind in ("move", "copy"):
            container, key = slow_find(document, one["from"])
            value = copy.deepcopy(container.get(key) if isinstance(container, dict) else container[key])
            if kind == "move":
                del container[key]
        container, key = slow_find(document, one["path"], for_add=kind in ("add", "move", "copy"))
        if kind == "remove":
            del container[key]
        elif kind == "test":
            assert repr(container.get(key) if isinstance(container, dict) else container[key]) == repr(value)
        elif isinstance(container, list) and kind != "replace":
            container.insert(key, value)
        else:
            container[key] = value
    return document


def slow_find(document: Any, path: str, *, for_add: bool = False) -> tuple[Any, Any]:
    *parents, last = [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]
    for token in parents:
        document = document[token] if isinstance(document, dict) else document[slow_index(token, len(document))]
    if isinstance(document, dict):
        return document, last
    length = len(document) + for_add
    return document, len(document) if for_add and last == "-" else slow_index(last, length)


def slow_index(token: str, length: int) -> int:
    index = int(token)
    return range(length)[index]


@given(st.dictionaries(NAMES, VALUES, max_size=3), st.lists(OPERATIONS, max_size=4))
def test_random_patches_do_what_a_slow_implementation_does(document: dict[str, Any], patch: list[Any]) -> None:
    before = copy.deepcopy((document, patch))
    expected: Any = None
    try:
        expected = slow_patch(document, patch)
    except (LookupError, ValueError, TypeError, AttributeError, AssertionError):
        with pytest.raises(ApiError):
            apply_json_patch(document, patch)
    else:
        assert apply_json_patch(document, patch) == expected
    assert (document, patch) == before


def test_a_patch_may_not_copy_a_document_into_itself_for_ever() -> None:
    again = {"op": "copy", "from": "/a", "path": "/a/a"}
    apply_json_patch({"a": {"text": "x" * 1_000}}, [again] * 8)
    with pytest.raises(Unprocessable):
        apply_json_patch({"a": {"text": "x" * 1_000}}, [again] * 100)


def test_what_patches_may_copy_is_counted_in_bytes_of_json() -> None:
    once = {"op": "copy", "from": "/text", "path": "/b"}
    text = "x" * (COPIED_MAX // 2 - 2)
    assert apply_json_patch({"text": text}, [once, once]) == {"text": text, "b": text}
    with pytest.raises(Unprocessable):
        apply_json_patch({"text": text}, [once, once, once])
