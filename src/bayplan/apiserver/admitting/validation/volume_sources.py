"""Checks of the sources of volumes: where their data is.

`REQUIRED` says which fields of a source must not be empty, in the order in which the server asks for them. `FURTHER`
has the checks that a source needs beyond that. Upstream: pkg/apis/core/validation/validation.go (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import caseless_subdomain_faults, range_faults
from bayplan.model.dns_names import label_faults, subdomain_faults

SourceCheck: TypeAlias = Callable[[Document, Faults, Path], None]

MORE_THAN_ONE: Final = "may not specify more than 1 volume type"
REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "flexVolume": ("driver",),
    "flocker": (),
    "gcePersistentDisk": ("pdName",),
    "glusterfs": ("endpoints", "path"),
    "iscsi": ("targetPortal",),
    "nfs": ("server", "path"),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": (),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": (),
    "vsphereVolume": ("volumePath",),
}
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
_DRIVER_NAME_MAX = 63
_LUN_MAX = 255
_PARTITION_MAX = 255
_TENANT_MAX = 64
_PORTAL_MAX = 64
LONG_PORTAL: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-z0-9.-]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[0-9A-Fa-f]{16}$"),
    "naa": re.compile(r"^naa.[0-9A-Fa-f]{32}$"),
}
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")


def check_required(kind: str, source: Document, faults: Faults, path: Path) -> None:
    """What must not be empty, and what else there is to say of this kind of source."""
    for field in REQUIRED.get(kind, ()):
        if not source.get(field):
            faults.required(f"{path}.{field}")
    if kind in FURTHER:
        FURTHER[kind](source, faults, path)


def check_host_path(source: Document, faults: Faults, path: Path) -> None:
    """Of a directory of the node."""
    if not source["path"]:
        faults.required(f"{path}.path")
        return
    check_no_backsteps(source["path"], faults, f"{path}.path")
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        faults.unsupported(f"{path}.type", kind, _HOST_PATH_TYPES)


def check_no_backsteps(text: str, faults: Faults, path: Path) -> None:
    if ".." in text.split("/"):
        faults.invalid(path, text, "must not contain '..'")


def check_descending(text: str, faults: Faults, path: Path) -> None:
    """Of a path that stays below the directory that it starts from."""
    if text.startswith("/"):
        faults.invalid(path, text, "must be a relative path")
    check_no_backsteps(text, faults, path)


def check_driver_name(name: str, faults: Faults, path: Path) -> None:
    """Of a CSI driver, as others refer to it."""
    if not name:
        faults.required(path)
        return
    if len(name) > _DRIVER_NAME_MAX:
        faults.too_long(path, _DRIVER_NAME_MAX)
    faults.all_invalid(path, name, subdomain_faults(name.lower()))


def check_declared_driver_name(
    name: str, faults: Faults, path: Path, by_hand: Callable[[str, Faults, Path], None] = check_driver_name
) -> None:
    """The name of a driver, where the types declare it as one: `by_hand` checks it in versions that ignore this."""
    if not admission_release().declarations_report:
        by_hand(name, faults, path)
    elif not name:
        faults.declared.required(path)
    else:
        if len(name) > _DRIVER_NAME_MAX:
            faults.declared.too_long(path, _DRIVER_NAME_MAX, "characters")
        faults.declared.all_invalid(path, name, caseless_subdomain_faults(name))


def check_local(source: Document, faults: Faults, path: Path) -> None:
    if not source["path"]:
        faults.required(f"{path}.path")
    check_no_backsteps(source["path"], faults, f"{path}.path")


def check_persistent_csi(source: Document, faults: Faults, path: Path) -> None:
    check_driver_name(source["driver"], faults, f"{path}.driver")
    if not source["volumeHandle"]:
        faults.required(f"{path}.volumeHandle")
    secrets = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
    for field in secrets:
        if field in source:
            faults.named(f"{path}.{field}.name", source[field].get("name"), subdomain_faults)
            faults.named(f"{path}.{field}.namespace", source[field].get("namespace"), label_faults)


def _check_disk_partition(source: Document, faults: Faults, path: Path) -> None:
    partition = source.get("partition", 0)
    if range_faults(partition, 0, _PARTITION_MAX):
        # The real server's words, though it takes 0.
        faults.invalid(f"{path}.partition", partition, f"must be between 1 and {_PARTITION_MAX}, inclusive")


def _check_azure_disk(source: Document, faults: Faults, path: Path) -> None:
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    faults.supported(f"{path}.cachingMode", caching, _CACHING_MODES)
    faults.supported(f"{path}.kind", kind, _DISK_KINDS)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        expected = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        faults.unsupported(f"{path}.diskURI", uri, (expected,))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        faults.unsupported(
            f"{path}.diskURI", uri, ("https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",)
        )


def _check_absolute(source: Document, faults: Faults, path: Path) -> None:
    if not source["path"].startswith("/"):
        faults.invalid(f"{path}.path", source["path"], "must be an absolute path")


def check_fibre_channel(source: Document, faults: Faults, path: Path) -> None:
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not names and not ids:
        faults.required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        faults.invalid(f"{path}.targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously")
    if names and lun is None:
        faults.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    if names and lun is not None:
        faults.all_invalid(f"{path}.lun", lun, range_faults(lun, 0, _LUN_MAX))


def _check_flex(source: Document, faults: Faults, path: Path) -> None:
    for key in sorted(source.get("options", {})):
        owner = f".{key.partition('/')[0].lower()}"
        if owner.endswith((".kubernetes.io", ".k8s.io")):
            faults.invalid(f"{path}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


def _check_flocker(source: Document, faults: Faults, path: Path) -> None:
    name, uuid = source.get("datasetName"), source.get("datasetUUID")
    if not name and not uuid:
        faults.required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        faults.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if name and "/" in name:
        faults.invalid(f"{path}.datasetName", name, "must not contain '/'")


def _check_iscsi(source: Document, faults: Faults, path: Path) -> None:
    if not source.get("iqn"):
        faults.required(f"{path}.iqn")
    elif not _is_initiator(source["iqn"]):
        faults.invalid(f"{path}.iqn", source["iqn"], "must be valid format")
    lun = source.get("lun", 0)
    faults.all_invalid(f"{path}.lun", lun, range_faults(lun, 0, _LUN_MAX))
    secret = source.get("secretRef")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and secret is None:
        faults.required(f"{path}.secretRef")
    if secret is not None and not secret.get("name"):
        faults.required(f"{path}.secretRef.name")
    initiator = source.get("initiatorName")
    if initiator is not None and not _is_initiator(initiator):
        faults.invalid(f"{path}.initiatorname", initiator, "must be valid format")


def _is_initiator(name: str) -> bool:
    pattern = _INITIATORS.get(name[:3])
    return pattern is not None and pattern.search(name) is not None


def has_long_portal(name: str, source: Document) -> bool:
    """Of a volume of this name: whether it and its portal are too long beside the name of an initiator."""
    return "initiatorName" in source and len(f"{name}:{source['targetPortal']}".encode()) > _PORTAL_MAX


def _check_quobyte(source: Document, faults: Faults, path: Path) -> None:
    registry = source.get("registry", "")
    if not registry:
        faults.required(f"{path}.registry", _PAIRS)
    elif len(source.get("tenant", "")) > _TENANT_MAX:
        text = f"must be a UUID and may not exceed a length of {_TENANT_MAX} characters"
        faults.required(f"{path}.tenant", text)
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*", pair):
                faults.invalid(f"{path}.registry", registry, _PAIRS)
    if not source.get("volume"):
        faults.required(f"{path}.volume")


def _check_storageos(source: Document, faults: Faults, path: Path) -> None:
    faults.named(f"{path}.volumeName", source.get("volumeName"), label_faults)
    faults.named_if_given(f"{path}.volumeNamespace", source.get("volumeNamespace"), label_faults)
    if "secretRef" in source and not source["secretRef"].get("name"):
        faults.required(f"{path}.secretRef.name")


def check_secret(source: Document, faults: Faults, path: Path) -> None:
    if "secretRef" in source and not source["secretRef"].get("name"):
        faults.required(f"{path}.secretRef.name")


def check_persistent_secret(source: Document, faults: Faults, path: Path) -> None:
    """Of a source in a persistent volume, whose secrets may be in any namespace."""
    check_secret(source, faults, path)
    if "secretRef" in source and not source["secretRef"].get("namespace"):
        faults.required(f"{path}.secretRef.namespace")


FURTHER: Final[dict[str, SourceCheck]] = {
    "awsElasticBlockStore": _check_disk_partition,
    "azureDisk": _check_azure_disk,
    "fc": check_fibre_channel,
    "flexVolume": _check_flex,
    "flocker": _check_flocker,
    "gcePersistentDisk": _check_disk_partition,
    "hostPath": check_host_path,
    "iscsi": _check_iscsi,
    "nfs": _check_absolute,
    "quobyte": _check_quobyte,
    "storageos": _check_storageos,
}
