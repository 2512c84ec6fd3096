"""Checks of storage.k8s.io: classes, drivers, nodes, capacities and attachments.

Upstream: pkg/apis/storage/validation/validation.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import NEGATIVE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.volume_sources import check_declared_driver_name, check_driver_name
from bayplan.apiserver.admitting.validation.volumes import check_volume_spec
from bayplan.model.dns_names import subdomain_faults
from bayplan.model.meta import INT32_MAX
from bayplan.model.names import label_key_faults
from bayplan.model.quantity import parse_quantity

_CLASS_RECLAIM = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Persistent", "Ephemeral")
_PARAMETERS_MAX, _PARAMETERS_SIZE_MAX = 512, 256 * 1024
_NODE_ID_MAX = 256
_ERROR_MESSAGE_MAX, _METADATA_SIZE_MAX = 1024, 256 * 1024
_TOKEN_SECONDS_MIN, _TOKEN_SECONDS_MAX = 600, 1 << 32
_UPDATE_PERIOD_MIN = 10
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def check_storage_class(storage_class: Document, faults: Faults) -> None:
    if not storage_class["provisioner"]:
        faults.declared.required("provisioner")
    else:
        _check_driver(storage_class["provisioner"], faults, "provisioner")
    _check_parameters(storage_class.get("parameters", {}), faults)
    policy = storage_class.get("reclaimPolicy")
    if policy and policy not in _CLASS_RECLAIM:
        faults.unsupported("reclaimPolicy", policy, _CLASS_RECLAIM)
    mode = storage_class.get("volumeBindingMode")
    if mode is None:
        faults.required("volumeBindingMode")
    faults.supported("volumeBindingMode", mode, _BINDING_MODES)
    _check_topologies(storage_class.get("allowedTopologies", ()), faults)


def _check_driver(name: str, faults: Faults, path: Path) -> None:
    if not name:
        faults.required(path)
    else:
        faults.all_invalid(path, name.lower(), label_key_faults(name.lower()))


def _check_parameters(parameters: Mapping[str, str], faults: Faults) -> None:
    if len(parameters) > _PARAMETERS_MAX:
        faults.too_long("parameters", _PARAMETERS_MAX)
        return
    if "" in parameters:
        faults.invalid("parameters", "", "field can not be empty.")
    if _size(parameters) > _PARAMETERS_SIZE_MAX:
        faults.too_long("parameters", _PARAMETERS_SIZE_MAX)


def _size(texts: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in texts.items())


def _check_topologies(terms: Iterable[Document], faults: Faults) -> None:
    seen: list[dict[str, set[str]]] = []
    for position, term in enumerate(terms):
        path = f"allowedTopologies[{position}].matchLabelExpressions"
        values = _check_topology_term(term, faults, path)
        # The real server takes a term without expressions for one that it has seen.
        if not values or values in seen:
            faults.duplicate(path, "")
        seen.append(values)


def _check_topology_term(term: Document, faults: Faults, path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for position, requirement in enumerate(term.get("matchLabelExpressions", ())):
        at, key, values = f"{path}[{position}]", requirement["key"], requirement.get("values") or []
        if not values:
            faults.required(f"{at}.values")
        for index, value in enumerate(values):
            if value in values[:index]:
                faults.duplicate(f"{at}.values[{index}]", value)
        faults.all_invalid(f"{at}.key", key, label_key_faults(key))
        if key in found:
            faults.duplicate(f"{at}.key", key)
        found[key] = set(values)
    return found


def check_storage_class_update(new: Document, old: Document, faults: Faults) -> None:
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        faults.declared.immutable(field, new.get(field), old.get(field))


def check_attributes_class(attributes_class: Document, faults: Faults) -> None:
    _check_driver(attributes_class["driverName"], faults, "driverName")
    parameters = attributes_class.get("parameters", {})
    _check_parameters(parameters, faults)
    if not parameters:
        faults.required("parameters", "must contain at least one key/value pair")


def check_attributes_class_update(new: Document, old: Document, faults: Faults) -> None:
    for field in ("driverName", "parameters"):
        if new.get(field) != old.get(field):
            faults.forbidden(field, f"updates to {field} are forbidden.")


def check_csi_driver(driver: Document, faults: Faults) -> None:
    spec = driver["spec"]
    for field, shown in (
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ):
        if spec.get(field) is None:
            faults.required(f"spec.{shown}")
    faults.supported("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), _GROUP_POLICIES)
    _check_token_requests(spec.get("tokenRequests", ()), faults)
    for mode in spec.get("volumeLifecycleModes", ()):
        faults.supported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES)
    if spec.get("seLinuxMount") is None:
        faults.required("spec.seLinuxMount")
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _UPDATE_PERIOD_MIN:
        text = f"must be greater than or equal to {_UPDATE_PERIOD_MIN} seconds"
        faults.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        faults.invalid("spec.serviceAccountTokenInSecrets", in_secrets, text)


def _check_token_requests(requests: Iterable[Document], faults: Faults) -> None:
    seen: set[str] = set()
    for position, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{position}]", request["audience"]
        if audience in seen:
            faults.duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _TOKEN_SECONDS_MIN:
            faults.invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _TOKEN_SECONDS_MAX:
            text = "may not specify a duration larger than 2^32 seconds"
            faults.invalid(f"{path}.expirationSeconds", seconds, text)


def check_csi_driver_update(new: Document, old: Document, faults: Faults) -> None:
    spec, before = new["spec"], old["spec"]
    # The real server misnames the first one.
    faults.immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    faults.immutable("spec.volumeLifecycleModes", spec.get("volumeLifecycleModes"), before.get("volumeLifecycleModes"))


def warn_of_csi_driver(driver: Document, old: Document | None) -> Iterable[str]:
    spec = driver["spec"]
    before = None if old is None else old["spec"].get("tokenRequests")
    requests = spec.get("tokenRequests")
    if requests and requests != before and "serviceAccountTokenInSecrets" not in spec:
        yield (
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent "
            "possible logging of tokens in volume attributes"
        )


def check_csi_node(node: Document, faults: Faults) -> None:
    names: set[str] = set()
    for position, driver in enumerate(node["spec"]["drivers"] or ()):
        path, name = f"spec.drivers[{position}]", driver["name"]
        check_driver_name(name, faults, f"{path}.name")
        _check_node_id(driver["nodeID"], faults, f"{path}.nodeID")
        faults.not_negative(f"{path}.allocatable.count", driver.get("allocatable", {}).get("count"))
        if name in names:
            faults.duplicate(f"{path}.name", name)
        names.add(name)
        _check_topology_keys(driver.get("topologyKeys") or (), faults, path)


def _check_node_id(node_id: str, faults: Faults, path: Path) -> None:
    if not node_id:
        faults.required(path)
    if len(node_id.encode()) > _NODE_ID_MAX:
        faults.invalid(path, node_id, f"must be {_NODE_ID_MAX} characters or less")


def _check_topology_keys(keys: Iterable[str], faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for key in keys:
        if not key:
            faults.required(path)
        if key in seen:
            faults.duplicate(path, key)
        seen.add(key)
        faults.all_invalid(path, key, label_key_faults(key))


def check_csi_node_update(new: Document, old: Document, faults: Faults) -> None:
    drivers = {driver["name"]: driver for driver in new["spec"]["drivers"] or ()}
    for before in old["spec"]["drivers"] or ():
        driver = drivers.get(before["name"])
        if driver is not None:
            after, standing = (_without_count(each) for each in (driver, before))
            faults.immutable("spec.drivers", after, standing, internal(after, "CSINodeDriver"))


def _without_count(driver: Document) -> Document:
    return {name: value for name, value in driver.items() if name != "allocatable"}


def check_storage_capacity(capacity: Document, faults: Faults) -> None:
    check_label_selector(capacity.get("nodeTopology"), faults, "nodeTopology")
    name = capacity["storageClassName"]
    faults.all_invalid("storageClassName", name, subdomain_faults(name))
    amount = capacity.get("capacity")
    if amount is not None and parse_quantity(amount) < 0:
        faults.invalid("capacity", amount, NEGATIVE)


def check_storage_capacity_update(new: Document, old: Document, faults: Faults) -> None:
    for field in ("nodeTopology", "storageClassName"):
        faults.immutable(field, new.get(field), old.get(field))


def check_volume_attachment(attachment: Document, faults: Faults) -> None:
    spec = attachment["spec"]
    check_declared_driver_name(spec["attacher"], faults, "spec.attacher")
    name = _check_source(spec["source"], faults)
    faults.all_invalid("spec.nodeName", spec["nodeName"], subdomain_faults(spec["nodeName"]))
    _check_attachment_status(attachment.get("status", {}), faults)
    if name is not None:
        faults.all_invalid("spec.source.persistentVolumeName", name, subdomain_faults(name))


def _check_source(source: Document, faults: Faults) -> str | None:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        faults.required("spec.source", _ONE_SOURCE)
    elif name is not None and inline is not None:
        faults.forbidden("spec.source", _ONE_SOURCE)
    elif inline is not None:
        check_volume_spec(inline, faults, "spec.source.inlineVolumeSpec", is_inline=True)
    elif not name:
        faults.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    return name


def _check_attachment_status(status: Document, faults: Faults) -> None:
    if _size(status.get("attachmentMetadata", {})) > _METADATA_SIZE_MAX:
        faults.too_long("status.attachmentMetadata", _METADATA_SIZE_MAX)
    for field in ("attachError", "detachError"):
        error = status.get(field) or {}
        if len(error.get("message", "").encode()) > _ERROR_MESSAGE_MAX:
            # Older servers name the other limit.
            named = _ERROR_MESSAGE_MAX if admission_release().names_message_limit else _METADATA_SIZE_MAX
            faults.too_long(f"status.{field}.message", named)
        code = error.get("errorCode")
        if code is not None and code < 0:
            faults.invalid(f"status.{field}.errorCode", code, f"must be between 0 and {INT32_MAX}, inclusive")


def check_volume_attachment_update(new: Document, old: Document, faults: Faults) -> None:
    faults.declared.immutable("spec", new["spec"], old["spec"], internal(new["spec"], "VolumeAttachmentSpec"))
