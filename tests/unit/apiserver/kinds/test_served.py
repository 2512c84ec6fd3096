"""Every built-in kind has one home, and every home is one of a served kind."""

from __future__ import annotations

from bayplan.apiserver.kinds.served import KINDS, kind_of
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import resources_with
from bayplan.apiserver.schema.versions import LATER, serving
from bayplan.store.rules import RULES

#: With all that gates and later versions add.
RESOURCES = resources_with({"GenericWorkload"}, LATER[-1])
SERVED = {(resource.api_version, resource.kind): resource for resource in RESOURCES}


def test_every_served_resource_has_exactly_one_kind() -> None:
    names = [(kind.api_version, kind.kind) for kind in KINDS]
    assert sorted(names) == sorted(SERVED)
    assert len(names) == len(set(names))


def test_subresources_that_are_checked_are_served() -> None:
    for kind in KINDS:
        served = {subresource.name for subresource in SERVED[kind.api_version, kind.kind].subresources}
        assert set(kind.subresources) <= served, kind.kind


def test_fields_that_are_watched_exist() -> None:
    for kind in KINDS:
        with serving(LATER[-1]):
            described = message_of(kind.api_version, kind.kind)
        assert described is not None
        assert set(kind.watched or ()) <= set(described.fields), kind.kind


def test_kinds_that_are_stored_in_another_form_name_a_served_resource() -> None:
    stored = {resource.qualified_resource for resource in RESOURCES}
    assert {kind.storage.resource for kind in KINDS if kind.storage is not None} <= stored


def test_structs_and_documents_agree_on_which_updates_need_a_version() -> None:
    by_struct = {rules.qualified_resource: rules.update_needs_version for rules in RULES.values()}
    for resource in RESOURCES:
        if resource.qualified_resource in by_struct:
            assert kind_of(resource).update_needs_version == by_struct[resource.qualified_resource], resource.kind
