"""Checks of metadata: names by the rule of their kind, labels, annotations, owners, finalizers, label selectors.

Takes parts of documents and adds what is wrong with them to the faults. Upstream:
apimachinery/pkg/api/validation/objectmeta.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.store.deleting import FOREGROUND_FINALIZER, ORPHAN_FINALIZER

NameRule: TypeAlias = Callable[[str], tuple[str, ...]]

NOT_QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"
_ANNOTATIONS_MAX = 256 * 1024
STANDARD_FINALIZERS = ("kubernetes", ORPHAN_FINALIZER, FOREGROUND_FINALIZER)


def check_metadata(
    metadata: Document,
    faults: Faults,
    path: Path = "metadata",
    *,
    namespaced: bool = True,
    rule: NameRule = subdomain_faults,
    of_any_kind: bool = False,
) -> None:
    """Of a new object, whose name has been generated if it is to be; `of_any_kind`: what the server itself checks."""
    if "generateName" in metadata:
        faults.all_invalid(f"{path}.generateName", metadata["generateName"], rule(_as_prefix(metadata["generateName"])))
    name = metadata.get("name", "")
    if not name:
        faults.required(f"{path}.name", "name or generateName is required")
    elif rule(name):
        faults.all_invalid(f"{path}.name", name, rule(name))
    if namespaced:
        if label_faults(metadata.get("namespace", "")):
            _check_namespace(metadata.get("namespace", ""), faults, f"{path}.namespace")
    elif metadata.get("namespace"):
        faults.forbidden(f"{path}.namespace", "not allowed on this type")
    faults.not_negative(f"{path}.generation", metadata.get("generation"))
    _check_rest(metadata, faults, path)
    if "finalizers" in metadata:
        _check_finalizers(metadata["finalizers"], faults, f"{path}.finalizers")
    if not of_any_kind:
        _check_standard_finalizers(metadata.get("finalizers", ()), faults, f"{path}.finalizers")


#: Metadata that makes no sense in a template, in the order in which it is refused.
_NOT_IN_TEMPLATES = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"),
)


def check_template_metadata(metadata: Document, faults: Faults, path: Path) -> None:
    """Of a template whose objects get nothing but labels and annotations from it."""
    # Upstream: ValidateTemplateObjectMeta in pkg/apis/core/validation/validation.go (v1.36).
    check_annotations(metadata.get("annotations", {}), faults, f"{path}.annotations")
    check_labels(metadata.get("labels", {}), faults, f"{path}.labels")
    for field in _NOT_IN_TEMPLATES:
        if metadata.get(field):
            # The real server makes the name of this field of that in its type.
            faults.forbidden(f"{path}.{'uID' if field == 'uid' else field}", "cannot be set")


def _as_prefix(text: str) -> str:
    """A prefix may end in a dash, as more will follow."""
    return text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text


def _check_namespace(namespace: str, faults: Faults, path: Path) -> None:
    if not namespace:
        faults.required(path)
    else:
        faults.all_invalid(path, namespace, label_faults(namespace))


def _check_rest(metadata: Document, faults: Faults, path: Path) -> None:
    if "labels" in metadata:
        check_labels(metadata["labels"], faults, f"{path}.labels")
    if "annotations" in metadata:
        check_annotations(metadata["annotations"], faults, f"{path}.annotations")
    if "ownerReferences" in metadata:
        _check_owners(metadata["ownerReferences"], faults, f"{path}.ownerReferences")


def check_labels(labels: Mapping[str, str], faults: Faults, path: Path) -> None:
    for key, value in labels.items():
        if label_key_faults(key):
            faults.all_invalid(path, key, label_key_faults(key))
        if label_value_faults(value):
            faults.all_invalid(path, value, label_value_faults(value))


def check_annotations(annotations: Mapping[str, str], faults: Faults, path: Path) -> None:
    size = 0
    for key, value in annotations.items():
        if label_key_faults(key.lower()):
            faults.all_invalid(path, key, label_key_faults(key.lower()))
        size += len(key) + len(value)
    if size > _ANNOTATIONS_MAX:
        faults.too_long(path, _ANNOTATIONS_MAX)


def _check_owners(owners: list[Document], faults: Faults, path: Path) -> None:
    controller = ""
    for owner in owners:
        if not owner["apiVersion"].rpartition("/")[2]:
            faults.invalid(f"{path}.apiVersion", owner["apiVersion"], "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner[field]:
                faults.invalid(f"{path}.{field}", owner[field], "must not be empty")
        if (owner["apiVersion"], owner["kind"]) == ("v1", "Event"):
            faults.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            named = f"{owner['kind']}/{owner['name']}"
            if controller:
                text = 'Only one reference can have Controller set to true. Found "true" in references for '
                faults.invalid(path, owners, f"{text}{controller} and {named}")
            else:
                controller = named


def _check_finalizers(finalizers: list[str], faults: Faults, path: Path) -> None:
    for finalizer in finalizers:
        faults.all_invalid(path, finalizer, label_key_faults(finalizer))
    if ORPHAN_FINALIZER in finalizers and FOREGROUND_FINALIZER in finalizers:
        text = f"finalizer {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot be both set"
        faults.invalid(path, finalizers, text)


def check_metadata_update(
    new: Document, old: Document, faults: Faults, path: Path = "metadata", *, of_any_kind: bool = False
) -> None:
    """Of an object that replaces another, its identity already filled in."""
    if old.get("deletionTimestamp") is not None:
        _check_added_finalizers(new.get("finalizers", []), old.get("finalizers", []), faults, path)
    for field in ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        faults.immutable(f"{path}.{field}", new.get(field), old.get(field))
    _check_rest(new, faults, path)
    if not of_any_kind:
        _check_standard_finalizers(new.get("finalizers", ()), faults, f"{path}.finalizers")


def check_common_metadata(new: Document, old: Document, faults: Faults) -> None:
    """What the server itself checks of every change, before its kind does."""
    namespaced = "namespace" in old
    check_metadata(new, faults, namespaced=namespaced, rule=path_segment_faults, of_any_kind=True)
    check_metadata_update(new, old, faults, of_any_kind=True)


def _check_standard_finalizers(finalizers: Iterable[str], faults: Faults, path: Path) -> None:
    for position, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            faults.invalid(f"{path}[{position}]", finalizer, NOT_QUALIFIED)


def _check_added_finalizers(new: list[str], old: list[str], faults: Faults, path: Path) -> None:
    added = sorted({*new} - {*old})
    if added:
        listed = ", ".join(f'"{finalizer}"' for finalizer in added)
        text = "no new finalizers can be added if the object is being deleted, found new finalizers "
        faults.forbidden(f"{path}.finalizers", f"{text}[]string{{{listed}}}")


def check_label_selector(selector: Document | None, faults: Faults, path: Path) -> None:
    """Of a selector with matchLabels and matchExpressions."""
    if not selector:
        return
    check_labels(selector.get("matchLabels", {}), faults, f"{path}.matchLabels")
    for position, requirement in enumerate(selector.get("matchExpressions", ())):
        _check_requirement(requirement, faults, f"{path}.matchExpressions[{position}]")


def is_selector(selector: Document) -> bool:
    """Whether anything can be selected with this."""
    faults = Faults()
    check_label_selector(selector, faults, "")
    return not faults


def _check_requirement(requirement: Document, faults: Faults, path: Path) -> None:
    operator, values = requirement["operator"], requirement.get("values", ())
    check_operator(operator, values, faults, path)
    faults.all_invalid(f"{path}.key", requirement["key"], label_key_faults(requirement["key"]))
    for position, value in enumerate(values):
        faults.all_invalid(f"{path}.values[{position}]", value, label_value_faults(value))


def check_operator(operator: str, values: Any, faults: Faults, path: Path) -> None:
    """Whether the values fit one of the four operators that all selectors have."""
    if operator in ("In", "NotIn"):
        if not values:
            faults.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            faults.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        faults.invalid(f"{path}.operator", operator, "not a valid selector operator")
