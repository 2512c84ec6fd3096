"""The front door: every verb of the API, on documents, without HTTP and without a clock.

Reads give entries; writes take `now` in nanoseconds and give the entry that is then stored, or the one that would be in
a dry run. Refusals are raised as `ApiError`. Clients, controllers and the scheduler all write here, so that versions,
ownership of fields and watches are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from bayplan.apiserver.kinds.served import completed, kind_of
from bayplan.apiserver.patching.overlay import overlay
from bayplan.apiserver.patching.server_side_apply.applying import apply
from bayplan.apiserver.patching.server_side_apply.scaling import SCALE, track_scaling
from bayplan.apiserver.patching.server_side_apply.tracking import track, with_old_times
from bayplan.apiserver.policies.attributes import CREATE, DELETE, UPDATE, Attributes
from bayplan.apiserver.registry import creating, deleting, updating
from bayplan.apiserver.registry.admission import Own, admit_create, admit_update, unchanged, with_defaults
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.custom_admission import admit_custom_update, admit_new_custom
from bayplan.apiserver.registry.definitions import CUSTOM_RESOURCE_DEFINITIONS, Definitions
from bayplan.apiserver.registry.documents import is_custom, metadata_of, with_metadata
from bayplan.apiserver.registry.gates import Gate, Gates
from bayplan.apiserver.registry.generations import counted
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.scaling import replicas_of, scale_of
from bayplan.apiserver.registry.turns import WritingTurns
from bayplan.apiserver.registry.typed import TypedContent, narrow_document
from bayplan.apiserver.registry.versions import served_form, storage_name, stored_form
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.apiserver.storage.storage import Storage
from bayplan.controllers.budgets.evicting import about_to_go, ask_budgets
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.timestamps import format_time
from bayplan.store import pods
from bayplan.store.deleting import DeleteOptions
from bayplan.store.errors import AlreadyExists, Conflict, NotFound

Wish: TypeAlias = Callable[[Document], Document]
"""What a write makes of the document that is stored, in the form that its resource serves."""


class Deleted(NamedTuple):
    """The answer to a request to delete."""

    entry: Entry
    """As it now stands, or as it was last."""
    gone: bool


PODS, NAMESPACES = built_in("", "pods"), built_in("", "namespaces")
BUDGETS = built_in("policy", "poddisruptionbudgets")
_TRUSTED = WriteOptions(trusted=True)
_SERVER = "kube-apiserver"
"""Who owns what the server itself writes."""


class Registry:
    """The objects of a cluster and what may be done to them."""

    def __init__(self, storage: Storage, catalogue: Catalogue) -> None:
        self.storage = storage
        self.turns = WritingTurns(storage)
        self.catalogue = catalogue
        self.definitions = Definitions(catalogue)
        self._gates = Gates(storage, catalogue, self.definitions)
        self.typed = TypedContent()
        self.plugins: frozenset[str] = frozenset()
        """Admission plugins that are on, of those that can be turned off."""
        storage.prepare = self.typed.prepare
        storage.follow(self.typed.follow)
        storage.follow(self.definitions.follow, CUSTOM_RESOURCE_DEFINITIONS)

    def restore(self, now: int) -> None:
        """Takes over what an earlier process left in the storage."""
        self.typed.now = now
        for name in self.storage.resources():
            for entry in self.storage.entries(name):
                self.typed.restore(name, entry)
        for entry in self.storage.entries(CUSTOM_RESOURCE_DEFINITIONS):
            self.definitions.restore(entry)
            self._show_defaults_of(entry)

    def _show_defaults_of(self, definition: Entry) -> None:
        """Objects that are stored show defaults that their definition has come to declare; their versions stay."""

        def shown(document: Document) -> Document:
            resource = self.catalogue.of_kind(document["apiVersion"], document["kind"])
            version = None if resource is None else self.definitions.custom(resource)
            return document if version is None else version.receive(document)[0]

        self.storage.revise(definition.name, shown)

    # Reading. `find` and `list` are also what admission sees of the cluster.

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """The document as it is stored, or None."""
        entry = self.storage.find(storage_name(resource), namespace, name)
        return None if entry is None else entry.document

    def list(self, resource: Resource, namespace: str = "") -> list[Document]:
        return [entry.document for entry in self.storage.entries(storage_name(resource), namespace)]

    def entry(self, resource: Resource, namespace: str, name: str) -> Entry:
        found = self.storage.find(storage_name(resource), namespace, name)
        if found is None:
            raise NotFound.of(resource, name)
        return found

    # Writing.

    def create(self, resource: Resource, namespace: str, document: Document, options: WriteOptions, now: int) -> Entry:
        """Admits a new object."""
        scope = self.definitions.scope(resource)
        own = partial(track, scope, None, manager=options.manager, now=now)
        return self._create(resource, namespace, document, own, options, now)

    def _create(
        self, resource: Resource, namespace: str, document: Document, own: Own, options: WriteOptions, now: int
    ) -> Entry:
        stored_as = storage_name(resource)
        placed = creating.located(resource, namespace, document)
        if not is_custom(resource) and kind_of(resource).names_itself:
            placed = creating.named_by_chance(placed)
        made = creating.named(
            placed,
            self.storage.version + 1,
            lambda name: self.storage.find(stored_as, namespace, name) is not None,
        )
        made = creating.requested_by(options.user, resource, creating.stamped(resource, made, now))
        gate = self._gate(CREATE, resource, made["metadata"], options)
        made = stored_form(resource, self._admitted_new(resource, made, own, options, gate, now))
        made = creating.without_version(made)
        if self.storage.find(stored_as, namespace, made["metadata"]["name"]) is not None:
            raise AlreadyExists.of(resource, made["metadata"]["name"])
        if options.dry_run:
            return _unstored(made)
        self.typed.now = now
        entry = self.storage.add(stored_as, made)
        if resource.qualified_resource == CUSTOM_RESOURCE_DEFINITIONS:
            # A moment later, as whoever created it sees on a real server: the answer shows it as it was.
            made = self.definitions.established(entry.document, now)
            scope = self.definitions.scope(resource, "status")
            owned = track(scope, entry.document, made, _SERVER, now)
            self._show_defaults_of(self.storage.put(stored_as, entry, owned))
        return entry

    def update(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        wish: Wish,
        options: WriteOptions,
        now: int,
        *,
        subresource: str = "",
        must_name_version: bool = False,
    ) -> Entry:
        """Writes what the wish makes of the object; the entry itself if that changes nothing."""
        entry = self.entry(resource, namespace, name)
        served = served_form(resource, entry.document)
        wished = wish(served)
        if wished is served:
            return entry
        if subresource == "status" and not options.trusted and not is_custom(resource):
            # Defaults may be taken from what is then left as it was: a Job's labels from its template.
            wished = with_defaults(resource, wished)
        updating.check_preconditions(served, wished, resource, must_name_version=must_name_version)
        made = updating.written_half(served, wished, resource, subresource, now)
        own = partial(self._owned, served, resource=resource, subresource=subresource, options=options, now=now)
        made = self._admitted(resource, made, served, subresource, own, options, now)
        return self._write(resource, entry, stored_form(resource, made), options, now)

    def _owned(
        self, old: Document, new: Document, resource: Resource, subresource: str, options: WriteOptions, now: int
    ) -> Document:
        """The new document, with the writer as the owner of what it changed."""
        if subresource == SCALE:
            return self._scaled_by(options.manager, resource, old, new)
        return track(self.definitions.scope(resource, subresource), old, new, options.manager, now)

    def _scaled_by(self, manager: str, resource: Resource, old: Document, new: Document) -> Document:
        """A document whose replicas were changed through its scale, with whoever did that as their owner."""
        paths = self.definitions.scale_paths(resource)
        if replicas_of(old, paths) == replicas_of(new, paths):
            return new
        before = old["metadata"].get("managedFields") or []
        entries = track_scaling(before, resource.api_version, manager, paths.owned)
        return with_metadata(new, managedFields=entries)

    def _gate(
        self,
        operation: str,
        resource: Resource,
        metadata: Document,
        options: WriteOptions,
        old: Document | None = None,
        subresource: str = "",
    ) -> Gate:
        """The policies that a write passes."""
        name = metadata.get("name", "")
        namespace = name if resource == NAMESPACES else metadata.get("namespace", "")
        view = None
        if subresource == SCALE and old is not None:
            view = partial(scale_of, paths=self.definitions.scale_paths(resource))
            old = view(old)
        asked = Attributes(operation, resource, namespace, name, old=old, subresource=subresource)
        return self._gates.gate(asked, options, view)

    def check_subresource(
        self, resource: Resource, namespace: str, name: str, subresource: str, document: Document, options: WriteOptions
    ) -> None:
        """Raises what policies refuse of a document that is posted to a subresource: an Eviction, a Binding."""
        metadata = {"namespace": namespace, "name": name}
        self._gate(CREATE, resource, metadata, options, subresource=subresource).check(document)

    def _admitted_new(
        self, resource: Resource, document: Document, own: Own, options: WriteOptions, gate: Gate, now: int
    ) -> Document:
        version = self.definitions.custom(resource)
        if version is not None:
            return admit_new_custom(version, own(document), self, gate)
        return admit_create(resource, document, self, now, own, options, gate, self.plugins)

    def _admitted(
        self,
        resource: Resource,
        new: Document,
        old: Document,
        subresource: str,
        own: Own,
        options: WriteOptions,
        now: int,
    ) -> Document:
        version = self.definitions.custom(resource)
        if version is None and not options.trusted:
            gate = self._gate(UPDATE, resource, old["metadata"], options, old, subresource)
            made = admit_update(resource, new, old, self, now, subresource, own, options, gate)
            if resource.qualified_resource == CUSTOM_RESOURCE_DEFINITIONS and not subresource:
                return self.definitions.established(made, now)
            return made
        if version is None or options.trusted:
            return own(new if subresource == "status" else counted(old, new, resource))
        gate = self._gate(UPDATE, resource, old["metadata"], options, old, subresource)
        return admit_custom_update(version, own(new), old, subresource, gate)

    def _write(self, resource: Resource, entry: Entry, made: Document, options: WriteOptions, now: int) -> Entry:
        old = entry.document
        if made is old or made == old:
            return entry
        if options.dry_run:
            return _unstored(made)
        self.typed.now = now
        if deleting.may_go_now(old, made):
            self.storage.remove(storage_name(resource), entry)
            return _unstored(made)
        written = self.storage.put(storage_name(resource), entry, made)
        if resource.qualified_resource == CUSTOM_RESOURCE_DEFINITIONS and made["spec"] != old["spec"]:
            self._show_defaults_of(written)
        return written

    def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        applied: Document,
        options: WriteOptions,
        now: int,
        *,
        force: bool = False,
        subresource: str = "",
    ) -> tuple[Entry, bool]:
        """Server-side apply; the entry, and whether it is new."""
        found = self.storage.find(storage_name(resource), namespace, name)
        if found is None and not subresource:
            return self._apply_new(resource, namespace, name, applied, options, now), True
        entry = self.entry(resource, namespace, name)
        served = served_form(resource, entry.document)
        scope = self.definitions.scope(resource, subresource)
        wished = self._received(resource, apply(scope, served, applied, options.manager, now, force=force))
        updating.check_preconditions(served, wished, resource, must_name_version=False)
        made = updating.written_half(served, wished, resource, subresource, now)
        made = self._admitted(resource, made, served, subresource, unchanged, options, now)
        made = stored_form(resource, with_old_times(served, made))
        return self._write(resource, entry, made, options, now), False

    def _received(self, resource: Resource, merged: Document) -> Document:
        """A custom object with its defaults, which nobody comes to own by applying."""
        custom = self.definitions.custom(resource)
        return merged if custom is None else custom.receive(merged)[0]

    def _apply_new(
        self, resource: Resource, namespace: str, name: str, applied: Document, options: WriteOptions, now: int
    ) -> Entry:
        if metadata_of(applied).get("uid"):
            raise Conflict.gone_meanwhile(resource, name, metadata_of(applied)["uid"])
        made = self._received(resource, apply(self.definitions.scope(resource), None, applied, options.manager, now))
        own = partial(with_metadata, managedFields=made["metadata"].get("managedFields"))
        return self._create(resource, namespace, made, own, options, now)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        request: DeleteOptions,
        now: int,
        options: WriteOptions = _TRUSTED,
    ) -> Deleted:
        """Deletes at once, or begins to: pods get their grace period, finalizers their time."""
        entry = self.entry(resource, namespace, name)
        document = entry.document
        marked, goes = deleting.outcome(document, request, resource, now)
        if not options.trusted:
            served = served_form(resource, document)
            self._gate(DELETE, resource, document["metadata"], options, served).check_deletion()
        if options.dry_run:
            return Deleted(_unstored(marked), goes)
        self.typed.now = now
        if marked is not document:
            entry = self.storage.put(storage_name(resource), entry, marked)
        if goes:
            entry = self.storage.remove(storage_name(resource), entry)
        return Deleted(entry, goes)

    # Writes that are best said with structs.

    def overlay(self, resource: Resource, entry: Entry, before: Any, after: Any) -> Document:
        """The document with what differs between two structs of its kind."""
        message = message_of(resource.api_version, resource.kind)
        assert message is not None
        return overlay(entry.document, narrow_document(before), narrow_document(after), message)

    def _pod(self, namespace: str, name: str) -> Pod:
        """A pod whose document is stored, as a struct."""
        pod = self.typed.content.find("Pod", namespace, name)
        assert isinstance(pod, Pod)
        return pod

    def bind(
        self,
        namespace: str,
        name: str,
        node_name: str,
        uid: str,
        annotations: Mapping[str, str],
        options: WriteOptions,
        now: int,
    ) -> Entry:
        """Assigns the pod to the node, which need not exist."""
        entry = self.entry(PODS, namespace, name)
        pod = self._pod(namespace, name)
        node = self.typed.content.find("Node", "", node_name)
        labels = pods.topology_labels(node if isinstance(node, Node) else None)
        # Nobody owns what a binding writes, as with the real server.
        made = self.overlay(PODS, entry, pod, pods.bound(pod, node_name, uid, labels, annotations, now))
        made = completed(PODS, entry.document, made, format_time(now), self)
        return self._write(PODS, entry, made, options, now)

    def evict(self, namespace: str, name: str, request: DeleteOptions, options: WriteOptions, now: int) -> None:
        """Deletes the pod if its disruption budget allows that."""
        entry = self.entry(PODS, namespace, name)
        pod = self._pod(namespace, name)
        self._ask_budgets(pod, options, now)
        marked = self.overlay(PODS, entry, pod, about_to_go(pod, now))
        marked = completed(PODS, entry.document, marked, format_time(now), self)
        marked = self._owned(entry.document, marked, PODS, "status", options, now)
        if not options.dry_run and pod.metadata.deletion_timestamp is None:
            self._write(PODS, entry, marked, options, now)
        self.delete(PODS, namespace, name, request, now, replace(_TRUSTED, dry_run=options.dry_run))

    def _ask_budgets(self, pod: Pod, options: WriteOptions, now: int) -> None:
        found = self.typed.content.iterate("PodDisruptionBudget", pod.metadata.namespace)
        budgets = {each.metadata.name: each for each in found if isinstance(each, PodDisruptionBudget)}
        after = ask_budgets(pod, budgets.values(), now)
        if after is None:
            return
        entry = self.entry(BUDGETS, after.metadata.namespace, after.metadata.name)
        made = self.overlay(BUDGETS, entry, budgets[after.metadata.name], after)
        made = self._owned(entry.document, made, BUDGETS, "status", options, now)
        self._write(BUDGETS, entry, made, options, now)

    def finalize_namespace(self, name: str, finalizers: Any, options: WriteOptions, now: int) -> Entry:
        """Sets which parties still have to empty a namespace; without any, one that is being deleted goes."""
        entry = self.entry(NAMESPACES, "", name)
        spec = {**entry.document.get("spec", {}), "finalizers": finalizers}
        return self._write(NAMESPACES, entry, {**entry.document, "spec": spec}, options, now)


def _unstored(document: Document) -> Entry:
    metadata = metadata_of(document)
    version = metadata.get("resourceVersion", "0")
    return Entry(metadata.get("namespace", ""), metadata.get("name", ""), document, int(version))
