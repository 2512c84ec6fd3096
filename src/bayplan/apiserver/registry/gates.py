"""Policies on the way of a write: a gate that changes documents before they are validated, and refuses them after.

`Gates` makes one for each write; where no policy is bound, writes pass an open one. Which policies there are, and what
they say, is `policies`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from bayplan.apiserver.patching.server_side_apply.shapes import Shape
from bayplan.apiserver.policies.attributes import Attributes
from bayplan.apiserver.policies.policies import Policies
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.definitions import Definitions
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.versions import storage_name
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.schema.type_faults import faults_in_document
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.storage import Storage
from bayplan.store.errors import InternalError

Complete: TypeAlias = Callable[[Document], Document]
"""Defaults and in-tree admission, which may be done to a document more than once."""
View: TypeAlias = Callable[[Document], Document]
"""Another document about the same object: its Scale."""


class Gate(Protocol):
    """What a write passes."""

    def mutated(self, document: Document, complete: Complete) -> Document:
        """The document as policies change it, completed again if they do."""

    def check(self, document: Document) -> None:
        """Raises what policies refuse."""

    def check_deletion(self) -> None:
        """Raises it for a write after which there is no document."""


class _OpenGate:
    """Lets everything pass."""

    def mutated(self, document: Document, complete: Complete) -> Document:  # noqa: ARG002
        return document

    def check(self, document: Document) -> None:
        """Nobody objects."""

    def check_deletion(self) -> None:
        """Nobody objects."""


OPEN: Gate = _OpenGate()


class _PolicyGate:
    """Asks policies."""

    def __init__(self, policies: Policies, attributes: Attributes, options: WriteOptions, view: View | None) -> None:
        self._policies = policies
        self._attributes = attributes
        self._options = options
        self._view = view

    def mutated(self, document: Document, complete: Complete) -> Document:
        if self._view is not None or not self._policies.has_mutating(self._attributes.resource):
            return document
        mutation = self._policies.mutation(self._attributes)
        made = mutation.first(document)
        if made is document:
            return document
        completed = complete(_typed(made))
        made = mutation.again(completed)
        return made if made is completed else complete(_typed(made))

    def check(self, document: Document) -> None:
        seen = document if self._view is None else self._view(document)
        self._policies.check(self._attributes._replace(object=seen), self._options.warnings.append)

    def check_deletion(self) -> None:
        self._policies.check(self._attributes, self._options.warnings.append)


def _typed(document: Document) -> Document:
    """The document, unless a patch has made something of it that its kind does not have."""
    described = message_of(document["apiVersion"], document["kind"])
    if described is None:
        return document
    faults = faults_in_document(document, described)
    text = faults.wrong_type or (f"strict decoding error: {', '.join(faults.strict)}" if faults.strict else "")
    if text:
        raise InternalError(f"Internal error occurred: {text}")
    return document


class Gates:
    """Makes the gates of a cluster; it is also what policies see of the cluster."""

    def __init__(self, storage: Storage, catalogue: Catalogue, definitions: Definitions) -> None:
        self._storage = storage
        self._catalogue = catalogue
        self._definitions = definitions
        self.policies = Policies(self)

    def gate(self, attributes: Attributes, options: WriteOptions, view: View | None = None) -> Gate:
        """For one write; a view is what policies see in place of the document, which they do not change then."""
        resource = attributes.resource
        if not (self.policies.has_validating(resource) or self.policies.has_mutating(resource)):
            return OPEN
        asked = attributes._replace(user=options.user, dry_run=options.dry_run, manager=options.manager)
        return _PolicyGate(self.policies, asked, options, view)

    # What policies see.

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        entry = self._storage.find(storage_name(resource), namespace, name)
        return None if entry is None else entry.document

    def list(self, resource: Resource, namespace: str) -> Iterable[Document]:
        return [entry.document for entry in self._storage.entries(storage_name(resource), namespace)]

    def count(self, resource: Resource) -> int:
        return self._storage.count(storage_name(resource))

    def resources(self) -> Iterable[Resource]:
        return self._catalogue.all()

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        return self._catalogue.of_kind(api_version, kind)

    def shape(self, resource: Resource) -> Shape:
        return self._definitions.scope(resource).shape
