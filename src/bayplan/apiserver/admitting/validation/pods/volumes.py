"""Checks of volumes and of where containers mount them.

Sources that no cluster of today has any use for (disks of clouds without CSI, old network file systems) are only
counted, not looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import label_faults, range_faults, subdomain_faults
from bayplan.apiserver.admitting.validation.volumes import check_claim_spec
from bayplan.model.quantity import parse_quantity

_FILE_MODE_MAX = 0o777
_FILE_MODE_ERROR = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
_PROPAGATION = ("Bidirectional", "HostToContainer", "None")


def check_volumes(volumes: Iterable[Document], pod_name: str, faults: Faults, path: Path) -> dict[str, Document]:
    """Gives back, by name, those that are as they should be, which containers may mount."""
    valid: dict[str, Document] = {}
    for position, volume in enumerate(volumes):
        at = f"{path}[{position}]"
        found = Faults()
        _check_source(volume, pod_name, found, at)
        name = volume["name"]
        if not name:
            found.required(f"{at}.name")
        else:
            found.all_invalid(f"{at}.name", name, label_faults(name))
        if name in valid:
            found.duplicate(f"{at}.name", name)
        if not found:
            valid[name] = volume
        faults += found
    return valid


def _check_source(volume: Document, pod_name: str, faults: Faults, path: Path) -> None:
    sources = [field for field in volume if field != "name"]
    if not sources:
        faults.required(path, "must specify a volume type")
        return
    for field in sources[1:]:
        faults.forbidden(f"{path}.{field}", "may not specify more than 1 volume type")
    kind = sources[0]
    source, at = volume[kind], f"{path}.{kind}"
    if kind == "emptyDir":
        if "sizeLimit" in source and parse_quantity(source["sizeLimit"]) < 0:
            faults.forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")
    elif kind == "hostPath":
        check_host_path(source, faults, at)
    elif kind == "secret":
        _check_files(source, "secretName", faults, at)
    elif kind == "configMap":
        _check_files(source, "name", faults, at)
    elif kind == "persistentVolumeClaim":
        if not source["claimName"]:
            faults.required(f"{at}.claimName")
    elif kind == "projected":
        _check_projected(source, faults, at)
    elif kind == "ephemeral":
        _check_ephemeral(volume, pod_name, faults, path)
    elif kind == "csi" and not source["driver"]:
        faults.required(f"{at}.driver")
    elif kind == "nfs":
        _check_nfs(source, faults, at)


def check_host_path(source: Document, faults: Faults, path: Path) -> None:
    """Of a directory of the node, which persistent volumes may be too."""
    if not source["path"]:
        faults.required(f"{path}.path")
        return
    _check_no_backsteps(source["path"], faults, f"{path}.path")
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        faults.unsupported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _check_no_backsteps(text: str, faults: Faults, path: Path) -> None:
    if ".." in text.split("/"):
        faults.invalid(path, text, "must not contain '..'")


def _check_files(source: Document, name: str, faults: Faults, path: Path) -> None:
    if not source.get(name):
        faults.required(f"{path}.{name}")
    _check_mode(source.get("defaultMode"), faults, f"{path}.defaultMode")
    _check_items(source.get("items", ()), faults, f"{path}.items")


def _check_mode(mode: int | None, faults: Faults, path: Path) -> None:
    if mode is not None and range_faults(mode, 0, _FILE_MODE_MAX):
        faults.invalid(path, mode, _FILE_MODE_ERROR)


def _check_items(items: Iterable[Document], faults: Faults, path: Path) -> None:
    for position, item in enumerate(items):
        at = f"{path}[{position}]"
        if not item["key"]:
            faults.required(f"{at}.key")
        if not item["path"]:
            faults.required(f"{at}.path")
        _check_descending(item["path"], faults, f"{at}.path")
        _check_mode(item.get("mode"), faults, f"{at}.mode")


def _check_descending(text: str, faults: Faults, path: Path) -> None:
    if text.startswith("/"):
        faults.invalid(path, text, "must be a relative path")
    _check_no_backsteps(text, faults, path)


def _check_projected(source: Document, faults: Faults, path: Path) -> None:
    _check_mode(source.get("defaultMode"), faults, f"{path}.defaultMode")
    for position, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{position}]"
        if not projection:
            faults.required(at, "must specify a volume type")
        for kind in ("secret", "configMap"):
            if kind in projection:
                _check_files(projection[kind], "name", faults, f"{at}.{kind}")


def _check_ephemeral(volume: Document, pod_name: str, faults: Faults, path: Path) -> None:
    template = volume["ephemeral"].get("volumeClaimTemplate")
    at = f"{path}.ephemeral.volumeClaimTemplate"
    if template is None:
        faults.required(at)
        return
    check_claim_spec(template["spec"], faults, f"{at}.spec")
    if pod_name and volume["name"]:
        claim = f"{pod_name}-{volume['name']}"
        for fault in subdomain_faults(claim):
            faults.invalid(f"{path}.name", volume["name"], f'PVC name "{claim}": {fault}')


def _check_nfs(source: Document, faults: Faults, path: Path) -> None:
    for field in ("server", "path"):
        if not source[field]:
            faults.required(f"{path}.{field}")
    if source["path"] and not source["path"].startswith("/"):
        faults.invalid(f"{path}.path", source["path"], "must be an absolute path")


def check_mounts(container: Document, volumes: Mapping[str, Document], faults: Faults, path: Path) -> None:
    """Of a container's mounts and devices."""
    mounts, devices = container.get("volumeMounts", ()), container.get("volumeDevices", ())
    device_names = {device["name"] for device in devices}
    device_paths = {device["devicePath"] for device in devices}
    mount_paths: set[str] = set()
    for position, mount in enumerate(mounts):
        at = f"{path}.volumeMounts[{position}]"
        _check_mount(mount, volumes, mount_paths, faults, at)
        mount_paths.add(mount["mountPath"])
        if mount["name"] in device_names:
            faults.invalid(f"{at}.name", mount["name"], "must not already exist in volumeDevices")
        if mount["mountPath"] in device_paths:
            faults.invalid(f"{at}.mountPath", mount["mountPath"], "must not already exist as a path in volumeDevices")
        _check_parts(mount, faults, at, f"{path}.volumeMounts")
    _check_devices(devices, volumes, faults, f"{path}.volumeDevices")


def _check_mount(
    mount: Document, volumes: Mapping[str, Document], mount_paths: set[str], faults: Faults, path: Path
) -> None:
    if not mount["name"]:
        faults.required(f"{path}.name")
    if mount["name"] not in volumes:
        faults.not_found(f"{path}.name", mount["name"])
    if not mount["mountPath"]:
        faults.required(f"{path}.mountPath")
    if mount["mountPath"] in mount_paths:
        faults.invalid(f"{path}.mountPath", mount["mountPath"], "must be unique")


def _check_parts(mount: Document, faults: Faults, path: Path, mounts_path: Path) -> None:
    # The real server names the list, not the mount, for these.
    if "subPath" in mount:
        _check_descending(mount["subPath"], faults, f"{mounts_path}.subPath")
    if "subPathExpr" in mount:
        if "subPath" in mount:
            text = "subPathExpr and subPath are mutually exclusive"
            faults.invalid(f"{path}.subPathExpr", mount["subPathExpr"], text)
        _check_descending(mount["subPathExpr"], faults, f"{mounts_path}.subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None and propagation not in _PROPAGATION:
        faults.unsupported(f"{mounts_path}.mountPropagation", propagation, _PROPAGATION)


def _check_devices(devices: Iterable[Document], volumes: Mapping[str, Document], faults: Faults, path: Path) -> None:
    names: set[str] = set()
    paths: set[str] = set()
    for position, device in enumerate(devices):
        at = f"{path}[{position}]"
        name, device_path = device["name"], device["devicePath"]
        if not name:
            faults.required(f"{at}.name")
        if name in names:
            faults.invalid(f"{at}.name", name, "must be unique")
        source = volumes.get(name)
        if source is None:
            faults.not_found(f"{at}.name", name)
        elif not {"persistentVolumeClaim", "ephemeral"} & source.keys():
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            faults.invalid(f"{at}.name", name, text)
        if not device_path:
            faults.required(f"{at}.devicePath")
        if device_path in paths:
            faults.invalid(f"{at}.devicePath", device_path, "must be unique")
        names.add(name)
        paths.add(device_path)
