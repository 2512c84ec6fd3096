"""Custom resources on their way in: metadata as of any object, the rest as their definition has it."""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.plugins.namespaces import check_namespace
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_metadata, check_metadata_update
from bayplan.apiserver.custom_resources.versions import CustomVersion
from bayplan.apiserver.registry.gates import OPEN, Gate
from bayplan.apiserver.registry.generations import counted
from bayplan.apiserver.storage.entries import Document
from bayplan.store.errors import Invalid, StatusCause


def admit_new_custom(version: CustomVersion, document: Document, cluster: ClusterView, gate: Gate = OPEN) -> Document:
    """A new object of a custom resource; raises what is refused."""
    metadata = document["metadata"]
    check_namespace(version.resource, metadata.get("namespace", ""), metadata["name"], cluster)
    document = gate.mutated(document, lambda changed: version.receive(changed)[0])
    metadata = document["metadata"]
    faults = Faults()
    check_metadata(metadata, faults, namespaced=version.resource.namespaced)
    _refuse(version, document, [*faults, *version.validate_create(document)])
    gate.check(document)
    return document


def admit_custom_update(
    version: CustomVersion, new: Document, old: Document, subresource: str, gate: Gate = OPEN
) -> Document:
    """The next version of an object of a custom resource; raises what is refused."""
    new = gate.mutated(new, lambda changed: version.receive(changed)[0])
    faults = Faults()
    check_metadata_update(new["metadata"], old["metadata"], faults)
    validate = version.validate_status if subresource == "status" else version.validate_update
    _refuse(version, new, [*faults, *validate(new, old)])
    gate.check(new)
    return counted(old, new, version.resource)


def _refuse(version: CustomVersion, document: Document, causes: list[StatusCause]) -> None:
    if causes:
        raise Invalid.of(version.resource, document["metadata"].get("name", ""), causes)
