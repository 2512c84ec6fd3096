"""Checks of claims and persistent volumes.

Upstream: pkg/apis/core/validation/validation.go (v1.36).
"""

from __future__ import annotations

from posixpath import normpath

from bayplan.apiserver.admitting.documents import Document, Path, is_emptied
from bayplan.apiserver.admitting.internal_form import difference, internal
from bayplan.apiserver.admitting.validation.faults import NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.pods.placement import check_node_selector
from bayplan.apiserver.admitting.validation.pods.resources import check_amount_value
from bayplan.apiserver.admitting.validation.volume_sources import (
    LONG_PORTAL,
    MORE_THAN_ONE,
    check_local,
    check_persistent_csi,
    check_persistent_secret,
    check_required,
    has_long_portal,
)
from bayplan.core.plugins.volume_restrictions import READ_WRITE_ONCE_POD
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults
from bayplan.model.quantity import parse_quantity, whole_value

_RESIZE_STATES = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible"),
    "NodeResizePending",
)
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_VOLUME_RECLAIM = ("Delete", "Recycle", "Retain")
_CLAIM_IMMUTABLE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_NOT_INLINE = "may not be specified in the context of inline volumes"
_CLASS_FIELDS = ("storageClassName", "volumeMode", "volumeAttributesClassName")
#: Sources of persistent volumes, in the order in which the server looks at them.
_SOURCES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
    *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk"),
    *("portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
#: What the annotation that mount options once stood in goes with.
_WITH_MOUNT_OPTIONS = frozenset(
    {
        *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder"),
        *("cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
    }
)
OLD_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
#: Where the server misnames them.
SHOWN_SOURCES = {"gcePersistentDisk": "persistentDisk"}
# Fields of a volume's spec that say something else than where the data is.
_NO_SOURCES = frozenset(
    {
        *("capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName"),
        *("mountOptions", "volumeMode", "nodeAffinity", "volumeAttributesClassName"),
    }
)


def check_claim(claim: Document, faults: Faults) -> None:
    check_claim_spec(claim["spec"], faults, "spec")


def check_claim_spec(spec: Document, faults: Faults, path: Path) -> None:
    """Of a claim or of a template of one."""
    modes = spec.get("accessModes", ())
    if not modes:
        faults.required(f"{path}.accessModes", "at least 1 access mode is required")
    check_label_selector(spec.get("selector"), faults, f"{path}.selector")
    _check_access_modes(modes, faults, f"{path}.accessModes")
    storage = spec.get("resources", {}).get("requests", {}).get("storage")
    at = f"{path}.resources[storage]"
    if storage is None:
        faults.required(at)
    elif parse_quantity(storage) <= 0:
        faults.invalid(at, storage, NOT_POSITIVE)
    _check_class_name(spec.get("storageClassName"), faults, f"{path}.storageClassName")
    if spec.get("volumeMode") not in _VOLUME_MODES:
        faults.unsupported(f"{path}.volumeMode", spec.get("volumeMode"), _VOLUME_MODES)
    for field in ("dataSource", "dataSourceRef"):
        if field in spec:
            _check_data_source(spec[field], faults, f"{path}.{field}")
    _check_data_sources(spec, faults, path)
    _check_class_name(spec.get("volumeAttributesClassName"), faults, f"{path}.volumeAttributesClassName")


def _check_data_source(source: Document, faults: Faults, path: Path) -> None:
    for name in ("name", "kind"):
        if not source[name]:
            faults.required(f"{path}.{name}")
    group = source.get("apiGroup") or ""
    if not group and source["kind"] != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        faults.invalid(path, source["kind"], text)
    faults.named_if_given(f"{path}.apiGroup", group, subdomain_faults)
    faults.named_if_given(f"{path}.namespace", source.get("namespace"), label_faults)


def _check_data_sources(spec: Document, faults: Faults, path: Path) -> None:
    """The older field and the newer one say the same, where both can."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        faults.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any((source.get(name) or "") != (reference.get(name) or "") for name in ("apiGroup", "kind", "name")):
        faults.invalid(path, {}, "must match dataSourceRef")


def _check_class_name(name: str | None, faults: Faults, path: Path) -> None:
    if name:
        faults.all_invalid(path, name, subdomain_faults(name))


def _check_access_modes(modes: list[str], faults: Faults, path: Path) -> None:
    for mode in modes:
        if mode not in _ACCESS_MODES:
            faults.unsupported(path, mode, _ACCESS_MODES)
    if READ_WRITE_ONCE_POD in modes and any(mode in _ACCESS_MODES and mode != READ_WRITE_ONCE_POD for mode in modes):
        faults.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def check_claim_update(new: Document, old: Document, faults: Faults) -> None:
    check_claim(new, faults)
    wanted, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName") and "volumeName" in wanted:
        before["volumeName"] = wanted["volumeName"]
    if "storageClassName" not in before:
        wanted.pop("storageClassName", None)
    if new.get("status", {}).get("phase") == "Bound":
        wanted["resources"] = _with_storage(wanted["resources"], before["resources"])
        wanted.pop("volumeAttributesClassName", None)
        before.pop("volumeAttributesClassName", None)
    if wanted != before:
        changes = difference(before, wanted, "PersistentVolumeClaimSpec")
        faults.forbidden("spec", f"{_CLAIM_IMMUTABLE}\n{changes}")
    size = _storage(new["spec"])
    if size < _storage(old["spec"]) and size <= parse_quantity(
        old.get("status", {}).get("capacity", {}).get("storage", "0")
    ):
        faults.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    faults.immutable("volumeMode", new["spec"].get("volumeMode"), old["spec"].get("volumeMode"))


def _with_storage(resources: Document, other: Document) -> Document:
    requests = {**resources.get("requests", {}), "storage": other.get("requests", {}).get("storage", "0")}
    return {**resources, "requests": requests}


def _storage(spec: Document) -> int:
    return parse_quantity(spec.get("resources", {}).get("requests", {}).get("storage", "0"))


def check_claim_status(new: Document, _old: Document, faults: Faults) -> None:
    status = new.get("status") or {}
    for name, raw in (status.get("capacity") or {}).items():
        _check_basic(raw, faults, f"status.capacity[{name}]")
    path = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        _check_claim_resource(name, faults, path)
        if state not in _RESIZE_STATES:
            # The real server shows the resource, not its state.
            faults.unsupported(path, name, _RESIZE_STATES)
    for name, raw in (status.get("allocatedResources") or {}).items():
        count = len(faults)
        _check_claim_resource(name, faults, "status.allocatedResources")
        if len(faults) == count:
            _check_basic(raw, faults, f"status.allocatedResources[{name}]")
        if len(faults) == count:
            check_amount_value("storage", raw, faults, f"status.allocatedResources[{name}]")


def _check_claim_resource(name: str, faults: Faults, path: Path) -> None:
    if label_key_faults(name):
        faults.all_invalid(path, name, label_key_faults(name))
    elif name != "storage" and ("/" not in name or "kubernetes.io/" in name):
        faults.unsupported(path, name, ("storage",))


def _check_basic(raw: str, faults: Faults, path: Path) -> None:
    units = whole_value(parse_quantity(raw))
    if units < 0:
        faults.invalid(path, units, "must be a valid resource quantity")


def check_volume(volume: Document, faults: Faults) -> None:
    metadata, spec = volume["metadata"], volume["spec"]
    check_volume_spec(spec, faults, "spec", name=metadata.get("name", ""))
    if OLD_MOUNT_OPTIONS in metadata.get("annotations", {}) and not _WITH_MOUNT_OPTIONS & spec.keys():
        text = "may not specify mount options for this volume type"
        faults.forbidden(f"metadata.annotations.{OLD_MOUNT_OPTIONS}", text)


def check_volume_spec(spec: Document, faults: Faults, path: Path, *, is_inline: bool = False, name: str = "") -> None:
    """Of a volume, or of one that stands within something else and has no claim."""
    if is_inline:
        _check_inline(spec, faults, path)
    modes = spec.get("accessModes", ())
    if not modes:
        faults.required(f"{path}.accessModes")
    _check_access_modes(modes, faults, f"{path}.accessModes")
    policy, affinity = spec.get("persistentVolumeReclaimPolicy"), spec.get("nodeAffinity")
    if not is_inline:
        _check_capacity(spec, faults, f"{path}.capacity")
        if policy:
            faults.supported(f"{path}.persistentVolumeReclaimPolicy", policy, _VOLUME_RECLAIM)
    elif policy not in (None, "", "Retain"):
        text = "may only be Retain in the context of inline volumes"
        faults.forbidden(f"{path}.persistentVolumeReclaimPolicy", text)
    if affinity is not None:
        _check_volume_affinity(affinity, faults, f"{path}.nodeAffinity", is_inline=is_inline)
    _check_sources(spec, name, faults, path)
    _check_classes(spec, faults, path, is_inline=is_inline)


def _check_inline(spec: Document, faults: Faults, path: Path) -> None:
    for field in ("claimRef", "capacity"):
        if field in spec:
            faults.forbidden(f"{path}.{field}", _NOT_INLINE)
    if "csi" not in spec:
        faults.required(f"{path}.csi", "has to be specified in the context of inline volumes")


def _check_volume_affinity(affinity: Document, faults: Faults, path: Path, *, is_inline: bool) -> None:
    if is_inline:
        faults.forbidden(path, _NOT_INLINE)
    elif "required" in affinity:
        check_node_selector(affinity["required"], faults, f"{path}.required")
    else:
        faults.required(f"{path}.required", "must specify required node constraints")


def _check_capacity(spec: Document, faults: Faults, path: Path) -> None:
    capacity: dict[str, str] = spec.get("capacity", {})
    if not capacity:
        faults.required(path)
    if set(capacity) != {"storage"}:
        shown = dict(sorted(capacity.items())) or ({} if is_emptied(spec, "capacity") else None)
        faults.unsupported(path, shown, ("storage",))
    for name, raw in capacity.items():
        _check_basic(raw, faults, f"{path}[{name}]")
        if parse_quantity(raw) <= 0:
            faults.invalid(f"{path}[{name}]", raw, NOT_POSITIVE)


def _check_sources(spec: Document, name: str, faults: Faults, path: Path) -> None:
    found = False
    for field in _SOURCES:
        if field not in spec:
            continue
        source, at = spec[field], f"{path}.{SHOWN_SOURCES.get(field, field)}"
        # The real server does not count these.
        if found and field != "flexVolume":
            at = f"{path}.cephFS" if field == "cephfs" else f"{path}.{field}"
            faults.forbidden(at, MORE_THAN_ONE)
            continue
        found = True
        _check_source(field, source, faults, at)
        if field == "iscsi" and has_long_portal(name, source):
            faults.invalid(f"{at}.targetportal", source["targetPortal"], LONG_PORTAL)
        if field == "local" and "nodeAffinity" not in spec:
            faults.required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    if not found:
        faults.required(path, "must specify a volume type")
    at_root = "hostPath" in spec and normpath(spec["hostPath"]["path"]) in ("/", "//")
    if at_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        faults.forbidden(f"{path}.persistentVolumeReclaimPolicy", text)


def _check_source(kind: str, source: Document, faults: Faults, path: Path) -> None:
    if kind == "csi":
        check_persistent_csi(source, faults, path)
    elif kind == "local":
        check_local(source, faults, path)
    else:
        check_required(kind, source, faults, path)
    if kind == "cinder":
        check_persistent_secret(source, faults, path)
    if kind == "storageos" and "secretRef" in source and not source["secretRef"].get("namespace"):
        faults.required(f"{path}.secretRef.namespace")
    if kind == "azureFile" and source.get("secretNamespace") == "":
        faults.required(f"{path}.secretNamespace")
    namespace = source.get("endpointsNamespace")
    if kind == "glusterfs" and namespace is not None:
        text = ("if the endpointnamespace is set, it must be a valid namespace name",)
        faults.all_invalid(f"{path}.endpointsNamespace", namespace, label_faults(namespace) if namespace else text)


def _check_classes(spec: Document, faults: Faults, path: Path, *, is_inline: bool) -> None:
    name, mode, attributes = (spec.get(field) for field in _CLASS_FIELDS)
    if is_inline:
        if name:
            faults.forbidden(f"{path}.storageClassName", _NOT_INLINE)
        if mode not in (None, "Filesystem"):
            text = "may not specify volumeMode other than Filesystem in the context of inline volumes"
            faults.forbidden(f"{path}.volumeMode", text)
    else:
        _check_class_name(name, faults, f"{path}.storageClassName")
        faults.supported(f"{path}.volumeMode", mode, _VOLUME_MODES)
    if attributes is not None and not is_inline:
        at = f"{path}.volumeAttributesClassName"
        faults.named(at, attributes, subdomain_faults, "an empty string is disallowed")
        if "csi" not in spec:
            faults.required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


def check_volume_update(new: Document, old: Document, faults: Faults) -> None:
    spec, standing = new["spec"], old["spec"]
    source, before = ({k: v for k, v in each.items() if k not in _NO_SOURCES} for each in (spec, standing))
    secret = "controllerExpandSecretRef"
    if "csi" in before and "csi" in source and secret not in before["csi"]:
        source["csi"] = {name: value for name, value in source["csi"].items() if name != secret}
    if source != before:
        changes = difference(before, source, "PersistentVolumeSource")
        text = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        faults.forbidden("spec.persistentvolumesource", text)
    faults.immutable("volumeMode", spec.get("volumeMode"), standing.get("volumeMode"))
    affinity = standing.get("nodeAffinity")
    if affinity is not None and spec.get("nodeAffinity") != affinity:
        shown = spec.get("nodeAffinity")
        shown = None if shown is None else internal(shown, "VolumeNodeAffinity")
        faults.invalid("nodeAffinity", shown, "field is immutable, except for updating from beta label to GA")
    if standing.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        faults.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")
