"""Subresources that are more than a half of their object: binding, eviction, scale, finalize, logs and the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.http import reading, writing
from bayplan.apiserver.http.accepting import TABLE, Form
from bayplan.apiserver.http.bodies import Decoded, decode, field_validation, media_type
from bayplan.apiserver.http.deleting import deletion_request
from bayplan.apiserver.http.logs import read_log
from bayplan.apiserver.http.rendering import document_answer, object_answer
from bayplan.apiserver.http.requests import APPLY_PATCH, Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.patching.server_side_apply.scaling import SCALE, scale_owners
from bayplan.apiserver.registry.documents import metadata_of, with_metadata
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.registry.scaling import ScalePaths, scale_of, scaled
from bayplan.apiserver.registry.updating import check_location, check_namespace_of
from bayplan.apiserver.registry.versions import served_form
from bayplan.apiserver.schema.openapi_operations import CONNECTIONS
from bayplan.apiserver.storage.entries import Document, encode_json
from bayplan.apiserver.tables.autoscaling import SCALES
from bayplan.apiserver.tables.building import one_row_table
from bayplan.model.dns_names import subdomain_faults
from bayplan.store.errors import BadRequest, Conflict, InternalError, MethodNotAllowed, NotImplementedHere
from bayplan.store.rules import storage_key

Handler: TypeAlias = Callable[[Registry, Request, Target, Form, int], Answer]

_SUCCESS: Final = encode_json({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
_HALVES: Final = frozenset({"status", "ephemeralcontainers", "resize", "approval"})


def needs_a_kubelet(target: Target) -> bool:
    """Whether a subresource is of no use without containers."""
    return target.subresource in CONNECTIONS


def handler_of(target: Target, verb: str) -> Handler:
    """What serves this verb of a subresource."""
    name = target.subresource
    if needs_a_kubelet(target):
        return _not_in_this_cluster
    if name in _HALVES:
        return {"get": reading.get, "update": writing.update, "patch": writing.patch}[verb]
    found = _HANDLERS.get((name, verb))
    if found is None:
        raise MethodNotAllowed
    return found


def _not_in_this_cluster(registry: Registry, _request: Request, target: Target, _form: Form, _now: int) -> Answer:
    entry = registry.entry(target.resource, target.namespace, target.name)
    node = registry.storage.find("nodes", "", entry.document.get("spec", {}).get("nodeName", ""))
    if node is not None and not node.document.get("status", {}).get("addresses"):
        # The words of a real server that does not know how to reach the kubelet.
        raise InternalError("no preferred addresses found; known addresses: []")
    what = {"portforward": "port-forward"}.get(target.subresource, target.subresource)
    raise NotImplementedHere(f"{what} is not in this cluster: its nodes are simulated and run no containers")


def bind(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:  # noqa: ARG001
    """POST of a Binding, to a pod's subresource or to the collection of bindings."""
    options = writing.options_of(request, "CreateOptions")
    binding = decode(request, writing.expected_of(target), "CreateOptions").document
    metadata, to = metadata_of(binding), binding.get("target") or {}
    check_namespace_of(target.namespace, binding)
    name = target.name or metadata.get("name") or ""
    if target.name and metadata.get("name") != name:
        raise BadRequest("name in URL does not match name in Binding object")
    wrong = path_segment_faults(name)
    if wrong:
        raise BadRequest(f'Name parameter invalid: "{name}": {wrong[0]}')
    kind, node_name = to.get("kind", ""), to.get("name", "")
    if kind not in ("", "Node"):
        raise InternalError(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
    if not node_name:
        raise InternalError("target.name: Required value")
    wrong = subdomain_faults(node_name) if admission_release().checks_bound_node_names else ()
    if wrong:
        raise InternalError(f'target.name: Invalid value: "{node_name}": {wrong[0]}')
    annotations = metadata.get("annotations") or {}
    registry.check_subresource(PODS, target.namespace, name, "binding", binding, options)
    _check_version(registry, target.namespace, name, metadata.get("resourceVersion") or "")
    registry.bind(target.namespace, name, node_name, metadata.get("uid", ""), annotations, options, now)
    return Answer(201, _SUCCESS)


def _check_version(registry: Registry, namespace: str, name: str, wanted: str) -> None:
    """A Binding may say which version of the pod it was made for."""
    found = registry.entry(PODS, namespace, name).document["metadata"]["resourceVersion"] if wanted else ""
    if wanted != found:
        raise Conflict.other_version(PODS, storage_key(PODS.plural, namespace, name), name, wanted, found)


def _evict(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:  # noqa: ARG001
    options = writing.options_of(request, "CreateOptions")
    eviction = decode(request, writing.expected_of(target), "CreateOptions").document
    check_namespace_of(target.namespace, eviction)
    if metadata_of(eviction).get("name") != target.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    given = eviction.get("deleteOptions") or {}
    if given.get("dryRun") == ["All"]:
        options = replace(options, dry_run=True)
    registry.check_subresource(PODS, target.namespace, target.name, "eviction", eviction, options)
    registry.evict(target.namespace, target.name, deletion_request(given), options, now)
    return Answer(201, _SUCCESS)


def _get_scale(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:  # noqa: ARG001
    entry = registry.entry(target.resource, target.namespace, target.name)
    scale = scale_of(served_form(target.resource, entry.document), _paths(registry, target))
    return document_answer(one_row_table(SCALES, scale, now) if form.shape == TABLE else scale, form)


def _write_scale(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """PUT or PATCH of a Scale: changes the replicas of what it scales."""
    options = writing.options_of(request, "UpdateOptions")
    paths, wished = _paths(registry, target), _wished_scale(request, target)

    def wish(document: Document) -> Document:
        asked = wished(_scale_with_owners(document, paths))
        if request.method == "PATCH":
            request.warn(asked.warnings)
        return scaled(document, asked.document, paths)

    entry = registry.update(target.resource, target.namespace, target.name, wish, options, now, subresource=SCALE)
    return document_answer(scale_of(served_form(target.resource, entry.document), paths), form)


def _scale_with_owners(document: Document, paths: ScalePaths) -> Document:
    """The Scale as a write to it sees it."""
    scale = scale_of(document, paths)
    owners = scale_owners(metadata_of(document).get("managedFields") or [], paths.owned)
    return with_metadata(scale, managedFields=owners) if owners else scale


def _wished_scale(request: Request, target: Target) -> Callable[[Document], Decoded]:
    expected = writing.expected_of(target)
    if request.method == "PUT":
        scale = decode(request, expected, "UpdateOptions")
        check_location(target.name, target.namespace, scale.document)
        return lambda _: scale
    if media_type(request) == APPLY_PATCH:
        raise MethodNotAllowed
    return writing.patched_by(request, expected, field_validation(request, "PatchOptions"))


def _paths(registry: Registry, target: Target) -> ScalePaths:
    return registry.definitions.scale_paths(target.resource)


def _finalize(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    options = writing.options_of(request, "UpdateOptions")
    namespace = decode(request, writing.expected_of(target), "UpdateOptions").document
    finalizers = (namespace.get("spec") or {}).get("finalizers") or []
    entry = registry.finalize_namespace(target.name, finalizers, options, now)
    return object_answer(entry, target.resource, form, now, registry.definitions.printer(target.resource))


_HANDLERS: Final[dict[tuple[str, str], Handler]] = {
    ("log", "get"): read_log,
    ("binding", "create"): bind,
    ("eviction", "create"): _evict,
    (SCALE, "get"): _get_scale,
    (SCALE, "update"): _write_scale,
    (SCALE, "patch"): _write_scale,
    ("finalize", "update"): _finalize,
}
