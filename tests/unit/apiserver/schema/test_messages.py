"""The facts about built-in types: a sample against what the API reference says, and the whole against itself."""

from __future__ import annotations

import msgspec
import pytest

from bayplan.apiserver.schema.messages import GROUPS, Message, message, message_names, message_of

#: Those that the first version serves, where that is not v1.
SERVED_VERSIONS: dict[str, tuple[str, ...]] = {"autoscaling": ("v1", "v2"), "storagemigration": ()}
PREFIXES = [f"{name}.{version}" for name in GROUPS.values() for version in SERVED_VERSIONS.get(name, ("v1",))]


def test_a_list_merged_by_key_says_so_for_patches_and_for_apply() -> None:
    containers = message("core.v1.PodSpec").fields["containers"]
    assert (containers.type, containers.container, containers.required) == ("core.v1.Container", "list", True)
    assert (containers.patch_strategy, containers.patch_merge_key) == (("merge",), "name")
    assert (containers.list_type, containers.list_map_keys) == ("map", ("name",))


def test_keys_of_a_list_have_the_default_that_apply_needs() -> None:
    ports = message("core.v1.Container").fields["ports"]
    assert ports.list_map_keys == ("containerPort", "protocol")
    fields = message(ports.type).fields
    assert (fields["containerPort"].default, fields["protocol"].default) == (0, "TCP")
    assert fields["hostPort"].default is msgspec.UNSET


def test_patches_may_have_two_strategies() -> None:
    assert message("core.v1.PodSpec").fields["volumes"].patch_strategy == ("merge", "retainKeys")


@pytest.mark.parametrize(
    ("name", "field", "map_type"),
    [("core.v1.PodSpec", "nodeSelector", "atomic"), ("meta.v1.ObjectMeta", "labels", "")],
)
def test_maps_are_merged_by_key_unless_atomic(name: str, field: str, map_type: str) -> None:
    assert message(name).fields[field].map_type == map_type


def test_types_replaced_as_a_whole_say_so() -> None:
    assert message("meta.v1.LabelSelector").map_type == "atomic"
    assert message("core.v1.PodSpec").map_type == ""


def test_fields_of_an_inlined_type_are_among_the_fields() -> None:
    volume = message("core.v1.Volume")
    assert {"name", "emptyDir", "persistentVolumeClaim"} <= set(volume.fields)
    assert [(one.number, one.type) for one in volume.inlined] == [(2, "core.v1.VolumeSource")]


@pytest.mark.parametrize(
    ("name", "field", "always_present", "absent_value"),
    [
        ("core.v1.Container", "resources", True, {}),
        ("core.v1.PodSpec", "containers", True, None),
        ("apps.v1.DeploymentStatus", "replicas", False, 0),
        ("policy.v1.PodDisruptionBudgetStatus", "disruptionsAllowed", True, 0),
        ("meta.v1.ObjectMeta", "creationTimestamp", False, None),
        ("core.v1.Event", "reportingComponent", True, ""),
    ],
)
def test_what_is_shown_though_nobody_set_it(name: str, field: str, always_present: bool, absent_value: object) -> None:
    one = message(name).fields[field]
    assert (one.always_present, one.absent_value) == (always_present, absent_value)


def test_types_are_found_by_version_and_kind() -> None:
    assert _name_of(message_of("v1", "Pod")) == "core.v1.Pod"
    assert _name_of(message_of("rbac.authorization.k8s.io/v1", "Role")) == "rbac.v1.Role"
    assert _name_of(message_of("apps/v1", "DeleteOptions")) == "meta.v1.DeleteOptions"


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("v1", "Deployment"), ("apps/v9", "Deployment"), ("apps.example.com/v1", "Deployment"), ("", ""), ("v1", "Nope")],
)
def test_other_versions_and_kinds_have_no_type(api_version: str, kind: str) -> None:
    assert message_of(api_version, kind) is None


@pytest.mark.parametrize("prefix", PREFIXES)
def test_types_name_only_types_that_exist_and_keys_that_they_have(prefix: str) -> None:
    assert message_names(prefix)
    for name in message_names(prefix):
        for field in message(name).fields.values():
            item_fields = message(field.type).fields if field.is_message else {}
            keys = {*field.list_map_keys, field.patch_merge_key} - {""}
            assert keys <= set(item_fields), f"{name}.{field.name}"


@pytest.mark.parametrize("prefix", PREFIXES)
def test_protobuf_numbers_of_a_type_are_distinct(prefix: str) -> None:
    for name in message_names(prefix):
        whole = message(name)
        inlined_names = {field for one in whole.inlined for field in message(one.type).fields}
        numbers = [field.number for field in whole.fields.values() if field.name not in inlined_names and field.number]
        numbers += [one.number for one in whole.inlined]
        assert len(numbers) == len(set(numbers)), name


def _name_of(found: Message | None) -> str:
    assert found is not None
    return found.name
