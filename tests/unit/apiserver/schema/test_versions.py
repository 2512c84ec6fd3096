"""Types and resources of several versions in one process."""

from __future__ import annotations

import asyncio
from importlib import resources
from itertools import pairwise

import pytest

from bayplan.apiserver.schema.messages import Message, message, message_names, message_of
from bayplan.apiserver.schema.protobuf_types import class_of
from bayplan.apiserver.schema.resources import Resource, resources_with
from bayplan.apiserver.schema.versions import FIRST, LATER, served_version, serving
from bayplan.config.releases import RELEASES

SERVED = [(version, resource) for version in RELEASES for resource in resources_with({"GenericWorkload"}, version)]


def pod_spec() -> Message:
    return message("core.v1.PodSpec")


def test_all_versions_that_are_known_are_served() -> None:
    assert [FIRST, *LATER] == list(RELEASES)


def test_a_field_is_there_from_its_version_on() -> None:
    assert "evictionResponders" not in pod_spec().fields
    with serving("1.37"):
        assert pod_spec().fields["evictionResponders"].is_off
        with serving("1.36"):
            assert "evictionResponders" not in pod_spec().fields
        assert "evictionResponders" in pod_spec().fields
    assert served_version() == FIRST


def test_tasks_go_on_with_the_version_that_they_were_started_in() -> None:
    async def spec_of_task() -> Message:
        await asyncio.sleep(0)
        return pod_spec()

    async def both() -> list[Message]:
        with serving("1.37"):
            later = asyncio.ensure_future(spec_of_task())
        return [await later, await spec_of_task()]

    newer, older = asyncio.run(both())
    assert newer.fields.keys() - older.fields.keys() == {"evictionResponders"}


@pytest.mark.parametrize(("earlier", "version"), [*pairwise([FIRST, *LATER])])
def test_a_folder_has_nothing_but_what_differs(earlier: str, version: str) -> None:
    folder = resources.files("bayplan.apiserver.schema") / "data" / f"v{version}"
    for file in folder.iterdir():
        prefix = file.name.removesuffix(".txt")
        with serving(earlier):
            before = {name: message(name) for name in message_names(prefix)}
        with serving(version):
            for paragraph in file.read_text(encoding="utf-8").split("\n\n"):
                name = f"{prefix}.{paragraph.split()[0]}"
                assert message(name) != before.get(name), name


@pytest.mark.parametrize(("version", "resource"), SERVED, ids=lambda each: getattr(each, "kind", each))
def test_every_resource_of_a_version_has_a_type(version: str, resource: Resource) -> None:
    with serving(version):
        assert message_of(resource.api_version, resource.kind) is not None
        if "list" in resource.verbs:
            assert message_of(resource.api_version, resource.list_kind) is not None


def test_what_a_version_adds() -> None:
    before, after = ({each.qualified_resource: each for each in resources_with((), v)} for v in ("1.36", "1.37"))
    assert after.keys() - before.keys() == {
        "clustertrustbundles.certificates.k8s.io",
        "devicetaintrules.resource.k8s.io",
        "podcertificaterequests.certificates.k8s.io",
        "storageversionmigrations.storagemigration.k8s.io",
    }
    csi_nodes = "csinodes.storage.k8s.io"
    assert [part.name for part in after[csi_nodes].subresources] == ["status"]
    assert not before[csi_nodes].subresources


def test_protobuf_messages_have_the_fields_of_the_version() -> None:
    def numbers() -> set[int]:
        return set(class_of("core.v1.PodSpec").DESCRIPTOR.fields_by_number)

    before = numbers()
    with serving("1.37"):
        assert numbers() - before == {44}
