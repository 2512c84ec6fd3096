"""Strategic merge patches: merge keys, directives, order and refusals; and that a difference leads to its target."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.patching.strategic_merge import apply_strategic_merge_patch
from bayplan.apiserver.schema.messages import Message, message_of
from bayplan.store.errors import ApiError, BadRequest, InternalError, Unprocessable, UnsupportedMediaType

Object = dict[str, Any]


def pod(*containers: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}


def container(name: str, **fields: Any) -> Object:
    return {"name": name, **fields}


def kind(api_version: str, name: str) -> Message:
    found = message_of(api_version, name)
    assert found is not None
    return found


def patched(document: Object, patch: Any) -> Object:
    before = copy.deepcopy((document, patch))
    result = apply_strategic_merge_patch(document, patch, kind("v1", "Pod"))
    assert (document, patch) == before
    return result


def patched_containers(patch: list[Any], **more: Any) -> list[Object]:
    document = pod(container("a", image="1", tty=True), container("b", image="1"), container("c", image="1"))
    result: list[Object] = patched(document, {"spec": {"containers": patch, **more}})["spec"]["containers"]
    return result


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([container("b", image="2")], ["a 1", "b 2", "c 1"]),
        ([container("d", image="2")], ["d 2", "a 1", "b 1", "c 1"]),
        ([container("c", image="2"), container("a", image="2")], ["b 1", "c 2", "a 2"]),
        ([{"$patch": "delete", "name": "b"}], ["a 1", "c 1"]),
        ([{"$patch": "delete", "name": "absent"}], ["a 1", "b 1", "c 1"]),
        ([{"$patch": "replace"}, container("z", image="9")], ["z 9"]),
        ([container("d", image="2"), container("b", image="2")], ["d 2", "a 1", "b 2", "c 1"]),
    ],
)
def test_lists_of_objects_merge_by_their_key(patch: list[Any], expected: list[str]) -> None:
    assert [f"{item['name']} {item['image']}" for item in patched_containers(patch)] == expected


def test_what_an_item_does_not_mention_stays() -> None:
    assert patched_containers([container("a", image="2")])[0] == container("a", image="2", tty=True)
    assert patched_containers([container("a", tty=None)])[0] == container("a", image="1")


def test_nulls_of_a_new_item_are_dropped() -> None:
    assert patched_containers([container("n", image=None, env=[{"name": "x", "value": None}])])[0] == container(
        "n", env=[{"name": "x"}]
    )


@pytest.mark.parametrize(
    ("order", "patch", "expected"),
    [
        (["c", "b", "a"], [], ["c", "b", "a"]),
        (["c", "a"], [], ["b", "c", "a"]),
        (["d", "a"], [container("d")], ["d", "a", "b", "c"]),
        (["c", "d"], [container("d")], ["a", "b", "c", "d"]),
        (["b", "c"], [{"$patch": "delete", "name": "a"}], ["b", "c"]),
    ],
)
def test_the_order_given_holds_and_others_stay_near_where_they_were(
    order: list[str], patch: list[Any], expected: list[str]
) -> None:
    directive = {"$setElementOrder/containers": [{"name": name} for name in order]}
    assert [item["name"] for item in patched_containers(patch, **directive)] == expected


def test_an_order_alone_reorders() -> None:
    document = pod(container("a"), container("b"))
    patch = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}
    assert patched(document, patch) == pod(container("b"), container("a"))


def test_an_order_for_a_list_that_nobody_has_is_ignored() -> None:
    assert patched(pod(), {"spec": {"$setElementOrder/volumes": [{"name": "v"}]}}) == pod()


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"finalizers": ["c"]}, ["c", "a", "b"]),
        ({"finalizers": ["b"]}, ["a", "b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}, ["c", "b"]),
        ({"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"]),
        ({"$setElementOrder/finalizers": ["c", "a"], "finalizers": ["c"]}, ["c", "a", "b"]),
    ],
)
def test_lists_of_scalars_that_merge_are_sets(patch: Object, expected: list[str]) -> None:
    document = {"metadata": {"finalizers": ["a", "b"]}}
    assert patched(document, {"metadata": patch})["metadata"]["finalizers"] == expected


def test_other_lists_are_replaced() -> None:
    document = pod(container("a", args=["1", "2"]), tolerations=[{"key": "x"}])
    patch = {"spec": {"containers": [container("a", args=["3"])], "tolerations": [{"key": "y"}]}}
    assert patched(document, patch) == pod(container("a", args=["3"]), tolerations=[{"key": "y"}])


def test_objects_merge_or_are_replaced_or_emptied() -> None:
    document = pod(nodeSelector={"a": "1", "b": "2"})
    assert patched(document, {"spec": {"nodeSelector": {"b": None, "c": "3"}}})["spec"]["nodeSelector"] == {
        "a": "1",
        "c": "3",
    }
    replacing = {"spec": {"nodeSelector": {"$patch": "replace", "c": "3"}}}
    assert patched(document, replacing)["spec"]["nodeSelector"] == {"c": "3"}
    assert patched(document, {"spec": {"nodeSelector": {"$patch": "delete"}}})["spec"]["nodeSelector"] == {}
    assert "nodeSelector" not in patched(document, {"spec": {"nodeSelector": None}})["spec"]


def test_keys_that_are_not_retained_go() -> None:
    document = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    result = apply_strategic_merge_patch(document, patch, kind("apps/v1", "Deployment"))
    assert result == {"spec": {"strategy": {"type": "Recreate"}}}


def test_volumes_change_their_source_with_retained_keys() -> None:
    document = pod(volumes=[{"name": "v", "emptyDir": {}}])
    volume = {"$retainKeys": ["name", "hostPath"], "name": "v", "hostPath": {"path": "/x"}}
    expected = [{"name": "v", "hostPath": {"path": "/x"}}]
    assert patched(document, {"spec": {"volumes": [volume]}})["spec"]["volumes"] == expected


def test_a_value_of_another_type_replaces() -> None:
    assert patched({"spec": {"nodeSelector": "x"}}, {"spec": {"nodeSelector": {"a": None}}}) == {
        "spec": {"nodeSelector": {}}
    }


@pytest.mark.parametrize(
    ("spec", "refusal", "message"),
    [
        (
            {"containers": [{"image": "x"}]},
            InternalError,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"containers": [{"name": "a", "$patch": "paint"}]},
            InternalError,
            "unknown patch type: paint in map: map[$patch:paint name:a]",
        ),
        (
            {"containers": [{"name": "a", "$patch": "merge"}]},
            InternalError,
            "merging lists cannot yet be specified in the patch",
        ),
        ({"nodeSelector": {"$retainKeys": ["a"], "b": "1"}}, BadRequest, "invalid patch format of retainKeys"),
        ({"$setElementOrder/containers": "x"}, BadRequest, "invalid patch format of setElementOrder list"),
        (
            {"$setElementOrder/containers": [{"name": "x"}], "containers": [{"name": "a"}]},
            InternalError,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:x]]\n",
        ),
        (
            {"containers": ["a"]},
            InternalError,
            "list element types are not identical: [[map[name:a]] [a]]",
        ),
        (
            {"containers": [["a"]]},
            Unprocessable,
            "the server rejected our request due to an error in our request",
        ),
    ],
)
def test_refused(spec: Object, refusal: type[ApiError], message: str) -> None:
    with pytest.raises(refusal) as error:
        patched(pod(container("a"), nodeSelector={}), {"spec": spec})
    assert error.value.message == message


def test_a_patch_must_be_an_object() -> None:
    with pytest.raises(BadRequest) as error:
        patched(pod(), [])
    assert error.value.message == "json: cannot unmarshal array into Go value of type map[string]interface {}"


def test_custom_resources_have_no_strategic_merge() -> None:
    with pytest.raises(UnsupportedMediaType) as error:
        apply_strategic_merge_patch({}, {}, None)
    assert error.value.status()["code"] == 415
    assert "accepted media types include: application/json-patch+json" in error.value.message


# -- differences of random pods

NAMES = st.sampled_from(["a", "b", "c", "d"])
ENV = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"value": st.sampled_from("xy")}),
    max_size=3,
    unique_by=lambda one: one["name"],
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={"image": st.sampled_from("12"), "env": ENV, "args": st.lists(st.sampled_from("pq"), max_size=2)},
    ),
    max_size=4,
    unique_by=lambda one: one["name"],
)
SPECS = st.fixed_dictionaries(
    {"containers": CONTAINERS},
    optional={
        "nodeSelector": st.dictionaries(NAMES, st.sampled_from("xy"), max_size=2),
        "tolerations": st.lists(st.fixed_dictionaries({"key": NAMES}), max_size=2),
    },
)
KEYED = {"containers": "name", "env": "name"}


def difference(old: Object, new: Object) -> Object:
    patch: Object = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if before == value:
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[name] = difference(before, value)
        elif name in KEYED and isinstance(before, list):
            patch.update(list_difference(name, before, value))
        else:
            patch[name] = value
    return patch


def list_difference(name: str, old: list[Object], new: list[Object]) -> Object:
    key = KEYED[name]
    before = {item[key]: item for item in old}
    gone = [{"$patch": "delete", key: value} for value in before if value not in [item[key] for item in new]]
    items = [{**difference(before.get(item[key], {}), item), key: item[key]} for item in new]
    return {name: gone + items, f"$setElementOrder/{name}": [{key: item[key]} for item in new]}


@given(SPECS, SPECS)
def test_a_difference_leads_to_its_target(old: Object, new: Object) -> None:
    patch = {"spec": difference(old, new)}
    once = patched({"spec": old}, patch)
    assert once == {"spec": new}
    assert patched(once, patch) == once


WORDS = st.sampled_from(
    [
        *("spec", "containers", "name", "env", "metadata", "finalizers", "$patch", "$retainKeys"),
        *("$setElementOrder/containers", "$setElementOrder/finalizers", "$deleteFromPrimitiveList/finalizers"),
    ]
)
NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "delete", "replace"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(SPECS, st.dictionaries(WORDS, NONSENSE, max_size=3))
def test_nonsense_is_refused_or_goes_through(spec: Object, patch: Object) -> None:
    document = {"metadata": {"finalizers": ["a"]}, "spec": spec}
    with contextlib.suppress(ApiError):
        assert isinstance(patched(document, patch), dict)


def test_long_lists_take_no_longer_than_their_length_says() -> None:
    count = 20_000
    document = pod(*(container(f"c{number}") for number in range(count)))
    order = [{"name": f"c{number}"} for number in reversed(range(count))]
    changes = [container(f"c{number}", image="x") for number in reversed(range(count))]
    result = patched(document, {"spec": {"containers": changes, "$setElementOrder/containers": order}})
    assert result["spec"]["containers"] == changes
