"""Checks of claims, persistent volumes and storage classes.

Sources of volumes are only counted, save for directories of nodes. Upstream:
pkg/apis/core/validation/validation.go, pkg/apis/storage/validation (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import difference
from bayplan.apiserver.admitting.validation.faults import NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.names import subdomain_faults
from bayplan.apiserver.admitting.validation.pods.placement import check_node_selector
from bayplan.core.plugins.volume_restrictions import READ_WRITE_ONCE_POD
from bayplan.model.names import label_key_faults
from bayplan.model.quantity import parse_quantity

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_VOLUME_RECLAIM = ("Delete", "Recycle", "Retain")
_CLASS_RECLAIM = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_CLAIM_IMMUTABLE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
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
        for name in ("name", "kind"):
            if field in spec and not spec[field][name]:
                faults.required(f"{path}.{field}.{name}")
    _check_class_name(spec.get("volumeAttributesClassName"), faults, f"{path}.volumeAttributesClassName")


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
    if "storageClassName" not in before and "storageClassName" in wanted:
        before["storageClassName"] = wanted["storageClassName"]
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


def check_volume(volume: Document, faults: Faults) -> None:
    spec = volume["spec"]
    modes = spec.get("accessModes", ())
    if not modes:
        faults.required("spec.accessModes")
    _check_access_modes(modes, faults, "spec.accessModes")
    _check_capacity(spec.get("capacity", {}), faults, "spec.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _VOLUME_RECLAIM:
        faults.unsupported("spec.persistentVolumeReclaimPolicy", policy, _VOLUME_RECLAIM)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if "required" in affinity:
            check_node_selector(affinity["required"], faults, "spec.nodeAffinity.required")
        else:
            faults.required("spec.nodeAffinity.required", "must specify required node constraints")
    _check_sources(spec, faults)
    _check_class_name(spec.get("storageClassName"), faults, "spec.storageClassName")
    if spec.get("volumeMode") not in _VOLUME_MODES:
        faults.unsupported("spec.volumeMode", spec.get("volumeMode"), _VOLUME_MODES)


def _check_capacity(capacity: dict[str, str], faults: Faults, path: Path) -> None:
    if not capacity:
        faults.required(path)
    if set(capacity) != {"storage"}:
        faults.unsupported(path, capacity or None, ("storage",))
    for name, raw in capacity.items():
        if parse_quantity(raw) <= 0:
            faults.invalid(f"{path}[{name}]", raw, NOT_POSITIVE)


def _check_sources(spec: Document, faults: Faults) -> None:
    sources = [field for field in spec if field not in _NO_SOURCES]
    if not sources:
        faults.required("spec", "must specify a volume type")
    for field in sources[1:]:
        faults.forbidden(f"spec.{field}", "may not specify more than 1 volume type")
    if "hostPath" in spec and not spec["hostPath"]["path"]:
        faults.required("spec.hostPath.path")
    if "local" in spec and "nodeAffinity" not in spec:
        faults.required("spec.nodeAffinity", "Local volume requires node affinity")


def check_volume_update(new: Document, old: Document, faults: Faults) -> None:
    check_volume(new, faults)
    source, before = ({k: v for k, v in spec.items() if k not in _NO_SOURCES} for spec in (new["spec"], old["spec"]))
    if source != before:
        changes = difference(before, source, "PersistentVolumeSource")
        text = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        faults.forbidden("spec.persistentvolumesource", text)
    faults.immutable("volumeMode", new["spec"].get("volumeMode"), old["spec"].get("volumeMode"))


def check_storage_class(storage_class: Document, faults: Faults) -> None:
    provisioner = storage_class["provisioner"]
    if not provisioner:
        faults.required("provisioner")
    else:
        faults.all_invalid("provisioner", provisioner.lower(), label_key_faults(provisioner.lower()))
    policy = storage_class.get("reclaimPolicy")
    if policy and policy not in _CLASS_RECLAIM:
        faults.unsupported("reclaimPolicy", policy, _CLASS_RECLAIM)
    mode = storage_class.get("volumeBindingMode")
    if mode not in _BINDING_MODES:
        faults.unsupported("volumeBindingMode", mode, _BINDING_MODES)


def check_storage_class_update(new: Document, old: Document, faults: Faults) -> None:
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        faults.immutable(field, new.get(field), old.get(field))
