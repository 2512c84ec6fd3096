"""Checks of volumes and of where containers mount them.

Upstream: pkg/apis/core/validation/validation.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.certificates import check_signer
from bayplan.apiserver.admitting.validation.faults import Faults, shown_selector
from bayplan.apiserver.admitting.validation.metadata import check_label_selector, check_template_metadata
from bayplan.apiserver.admitting.validation.names import range_faults
from bayplan.apiserver.admitting.validation.pods.environment import (
    VOLUME_FIELDS,
    check_field_reference,
    check_resource_reference,
)
from bayplan.apiserver.admitting.validation.trust import (
    CERTIFICATE_SECONDS_MIN,
    bundle_name_faults,
    certificate_seconds_max,
)
from bayplan.apiserver.admitting.validation.volume_sources import (
    LONG_PORTAL,
    MORE_THAN_ONE,
    SourceCheck,
    check_descending,
    check_driver_name,
    check_required,
    check_secret,
    has_long_portal,
)
from bayplan.apiserver.admitting.validation.volumes import SHOWN_SOURCES, check_claim_spec
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.quantity import parse_quantity

_FILE_MODE_MAX = 0o777
_FILE_MODE_ERROR = "must be a number between 0 and 0777 (octal), both inclusive"
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_TOKEN_SECONDS_MIN, _TOKEN_SECONDS_MAX = 600, 1 << 32
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
#: Sources of volumes, in the order in which the server looks at them.
_SOURCES = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"),
    *("flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume"),
    *("azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image"),
)
#: Where the server misnames them if they are not the first.
_SHOWN_AGAIN = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_ONE_BUNDLE = "only one of name and signerName may be used"
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_FILES = ("credentialBundlePath", "keyPath", "certificateChainPath")
_PROJECTED_FILES = {"clusterTrustBundle": ("path",), "podCertificate": _CERTIFICATE_FILES}
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
    sources = [field for field in _SOURCES if field in volume]
    if not sources:
        faults.required(path, "must specify a volume type")
        return
    kind = sources[0]
    source, at = volume[kind], f"{path}.{SHOWN_SOURCES.get(kind, kind)}"
    if kind == "ephemeral":
        _check_ephemeral(volume, faults, path)
    elif kind in _CHECKS:
        _CHECKS[kind](source, faults, at)
    else:
        check_required(kind, source, faults, at)
    if kind == "iscsi" and has_long_portal(volume["name"], source):
        faults.invalid(f"{path}.name", volume["name"], LONG_PORTAL)
    for field in sources[1:]:
        faults.forbidden(f"{path}.{_SHOWN_AGAIN.get(field, field)}", MORE_THAN_ONE)
    if kind == "ephemeral" and pod_name and volume["name"]:
        claim = f"{pod_name}-{volume['name']}"
        for fault in subdomain_faults(claim):
            faults.invalid(f"{path}.name", volume["name"], f'PVC name "{claim}": {fault}')


def _check_empty_dir(source: Document, faults: Faults, path: Path) -> None:
    if "sizeLimit" in source and parse_quantity(source["sizeLimit"]) < 0:
        faults.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_repository(source: Document, faults: Faults, path: Path) -> None:
    if not source["repository"]:
        faults.required(f"{path}.repository")
    check_descending(source.get("directory", ""), faults, f"{path}.directory")


def _check_secret(source: Document, faults: Faults, path: Path) -> None:
    _check_files(source, "secretName", faults, path)


def _check_config_map(source: Document, faults: Faults, path: Path) -> None:
    _check_files(source, "name", faults, path)


def _check_claim(source: Document, faults: Faults, path: Path) -> None:
    if not source["claimName"]:
        faults.required(f"{path}.claimName")


def _check_inline_csi(source: Document, faults: Faults, path: Path) -> None:
    check_driver_name(source["driver"], faults, f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is not None and not secret.get("name"):
        faults.required(f"{path}.nodePublishSecretRef.name")
    elif secret is not None:
        faults.all_invalid(f"{path}.name", secret["name"], subdomain_faults(secret["name"]))


def _check_cinder(source: Document, faults: Faults, path: Path) -> None:
    check_required("cinder", source, faults, path)
    check_secret(source, faults, path)


def _check_iscsi(source: Document, faults: Faults, path: Path) -> None:
    found = Faults()
    check_required("iscsi", source, found, path)
    for fault in found:
        if fault.field == f"{path}.secretRef.name":
            continue
        name = {f"{path}.iqn": "iqn", f"{path}.initiatorname": "initiatorName"}.get(fault.field, "")
        is_unknown = name and not str(source.get(name)).startswith(("iqn", "eui", "naa"))
        if is_unknown and fault.message.endswith("must be valid format"):
            fault = fault._replace(message=f"{fault.message} starting with iqn, eui, or naa")  # noqa: PLW2901
        faults.append(fault)


def check_images_named(volumes: Iterable[Document], faults: Faults, path: Path) -> None:
    """Of volumes that hold images: which image."""
    for position, volume in enumerate(volumes):
        if "image" in volume and not volume["image"].get("reference"):
            faults.required(f"{path}[{position}].image.reference")


def _check_image(source: Document, faults: Faults, path: Path) -> None:
    faults.one_of(f"{path}.pullPolicy", source.get("pullPolicy") or None, PULL_POLICIES)


def _check_downward(source: Document, faults: Faults, path: Path) -> None:
    _check_mode(source.get("defaultMode"), faults, f"{path}.defaultMode")
    for item in source.get("items", ()):
        _check_downward_file(item, faults, path)


def _check_downward_file(item: Document, faults: Faults, path: Path) -> None:
    if not item["path"]:
        faults.required(f"{path}.path")
    _check_unreserved(item["path"], faults, f"{path}.path")
    if "fieldRef" in item:
        check_field_reference(item["fieldRef"], VOLUME_FIELDS, faults, f"{path}.fieldRef")
        if "resourceFieldRef" in item:
            faults.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif "resourceFieldRef" in item:
        check_resource_reference(item["resourceFieldRef"], faults, f"{path}.resourceFieldRef", names_container=True)
    else:
        faults.required(path, "one of fieldRef and resourceFieldRef is required")
    _check_mode(item.get("mode"), faults, f"{path}.mode")


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
        _check_unreserved(item["path"], faults, f"{at}.path")
        _check_mode(item.get("mode"), faults, f"{at}.mode")


def _check_unreserved(text: str, faults: Faults, path: Path) -> None:
    """Of a file in a volume; names that begin with two dots are the kubelet's own."""
    check_descending(text, faults, path)
    if text.startswith("..") and not text.startswith("../"):
        faults.invalid(path, text, "must not start with '..'")


def _check_projected(source: Document, faults: Faults, path: Path) -> None:
    _check_mode(source.get("defaultMode"), faults, f"{path}.defaultMode")
    paths: set[str] = set()
    for position, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{position}]"
        for kind in ("secret", "configMap"):
            if kind in projection:
                name = projection[kind].get("name", "")
                _check_files(projection[kind], "name", faults, f"{at}.{kind}")
                for item in projection[kind].get("items", ()):
                    _check_unique(item["path"], name, paths, faults, path)
        for item in projection.get("downwardAPI", {}).get("items", ()):
            _check_downward_file(item, faults, f"{at}.downwardAPI")
            _check_unique(item["path"], item["path"], paths, faults, path)
        if "serviceAccountToken" in projection:
            _check_token(projection["serviceAccountToken"], faults, f"{at}.serviceAccountToken", path)
        if "clusterTrustBundle" in projection:
            _check_trusted(projection["clusterTrustBundle"], faults, f"{at}.clusterTrustBundle")
        if "podCertificate" in projection:
            _check_certified(projection["podCertificate"], faults, f"{at}.podCertificate")
        for kind, files in _PROJECTED_FILES.items():
            for file in (projection.get(kind, {}).get(field, "") for field in files):
                _check_unique(file, file, paths, faults, path)
        if len(projection) > 1:
            faults.forbidden(at, "may not specify more than 1 volume type per source")


def _check_trusted(bundle: Document, faults: Faults, path: Path) -> None:
    name, signer = bundle.get("name"), bundle.get("signerName")
    if name is not None and signer is not None:
        faults.invalid(path, internal(bundle, "ClusterTrustBundleProjection"), _ONE_BUNDLE)
    elif name is not None:
        if not name:
            faults.required(f"{path}.name", "must be a valid object name")
        known = name.rpartition(":")[0].replace(":", "/")
        wrong = (f"not a valid clustertrustbundlename: {text}" for text in bundle_name_faults(name, known))
        faults.all_invalid(f"{path}.name", name, wrong)
        if "labelSelector" in bundle:
            shown = shown_selector(bundle["labelSelector"])
            faults.invalid(f"{path}.labelSelector", shown, "labelSelector must be unset if name is specified")
    elif signer is not None:
        if not signer:
            faults.required(f"{path}.signerName", "must be a valid signer name")
        check_signer(signer, faults, f"{path}.signerName")
        check_label_selector(bundle.get("labelSelector"), faults, f"{path}.labelSelector")
    else:
        faults.required(path, "either name or signerName must be specified")
    if not bundle["path"]:
        faults.required(f"{path}.path")
    _check_unreserved(bundle["path"], faults, f"{path}.path")


def _check_certified(certificate: Document, faults: Faults, path: Path) -> None:
    check_signer(certificate["signerName"], faults, f"{path}.signerName")
    if certificate["keyType"] not in _KEY_TYPES:
        faults.unsupported(f"{path}.keyType", certificate["keyType"], _KEY_TYPES)
    seconds, most = certificate.get("maxExpirationSeconds"), certificate_seconds_max(certificate["signerName"])
    if seconds is not None and seconds < CERTIFICATE_SECONDS_MIN:
        text = f"if provided, maxExpirationSeconds must be >= {CERTIFICATE_SECONDS_MIN}"
        faults.invalid(f"{path}.maxExpirationSeconds", seconds, text)
    elif seconds is not None and seconds > most:
        text = f"if provided, maxExpirationSeconds must be <= {most}"
        faults.invalid(f"{path}.maxExpirationSeconds", seconds, text)
    files = {field: certificate[field] for field in _CERTIFICATE_FILES if certificate.get(field)}
    for field, file in files.items():
        _check_unreserved(file, faults, f"{path}.{field}")
    if not files:
        faults.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")


def _check_unique(text: str, shown: str, paths: set[str], faults: Faults, path: Path) -> None:
    if text and text in paths:
        faults.invalid(path, shown, "conflicting duplicate paths")
    paths.add(text)


def _check_token(token: Document, faults: Faults, path: Path, projected: Path) -> None:
    seconds, file = token.get("expirationSeconds", 0), token.get("path", "")
    if seconds < _TOKEN_SECONDS_MIN:
        faults.invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _TOKEN_SECONDS_MAX:
        faults.invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    if not file:
        faults.required(f"{projected}.path")
    else:
        _check_unreserved(file, faults, f"{projected}.path")


def _check_ephemeral(volume: Document, faults: Faults, path: Path) -> None:
    template = volume["ephemeral"].get("volumeClaimTemplate")
    at = f"{path}.ephemeral.volumeClaimTemplate"
    if template is None:
        faults.required(at)
        return
    check_template_metadata(template.get("metadata") or {}, faults, f"{at}.metadata")
    check_claim_spec(template["spec"], faults, f"{at}.spec")


def check_mounts(container: Document, volumes: Mapping[str, Document], faults: Faults, path: Path) -> None:
    """Of a container's mounts and devices."""
    mounts, devices = container.get("volumeMounts", ()), container.get("volumeDevices", ())
    device_names = {device["name"] for device in devices}
    device_paths = {device["devicePath"] for device in devices}
    mount_paths: set[str] = set()
    is_privileged = bool((container.get("securityContext") or {}).get("privileged"))
    for position, mount in enumerate(mounts):
        at = f"{path}.volumeMounts[{position}]"
        _check_mount(mount, volumes, mount_paths, faults, at)
        mount_paths.add(mount["mountPath"])
        if mount["name"] in device_names:
            faults.invalid(f"{at}.name", mount["name"], "must not already exist in volumeDevices")
        if mount["mountPath"] in device_paths:
            faults.invalid(f"{at}.mountPath", mount["mountPath"], "must not already exist as a path in volumeDevices")
        _check_parts(mount, faults, at, f"{path}.volumeMounts", is_privileged=is_privileged)
    mounted = {mount["name"] for mount in mounts}, {mount["mountPath"] for mount in mounts}
    _check_devices(devices, volumes, mounted, faults, f"{path}.volumeDevices")


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


def _check_parts(mount: Document, faults: Faults, path: Path, mounts_path: Path, *, is_privileged: bool) -> None:
    # The real server names the list, not the mount, for these.
    if "subPath" in mount:
        check_descending(mount["subPath"], faults, f"{mounts_path}.subPath")
    if "subPathExpr" in mount:
        if "subPath" in mount:
            text = "subPathExpr and subPath are mutually exclusive"
            faults.invalid(f"{path}.subPathExpr", mount["subPathExpr"], text)
        check_descending(mount["subPathExpr"], faults, f"{mounts_path}.subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None and propagation not in _PROPAGATION:
        faults.unsupported(f"{mounts_path}.mountPropagation", propagation, _PROPAGATION)
    if propagation == "Bidirectional" and not is_privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        faults.forbidden(f"{mounts_path}.mountPropagation", text)
    recursive = mount.get("recursiveReadOnly")
    if recursive not in (None, "Disabled"):
        at = f"{mounts_path}.recursiveReadOnly"
        if recursive not in _RECURSIVE:
            faults.unsupported(at, recursive, _RECURSIVE)
            return
        if not mount.get("readOnly"):
            faults.forbidden(at, "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            faults.forbidden(at, text)


def _check_devices(
    devices: Iterable[Document],
    volumes: Mapping[str, Document],
    mounted: tuple[set[str], set[str]],
    faults: Faults,
    path: Path,
) -> None:
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
        if ".." in device_path.split("/"):
            faults.invalid(f"{at}.devicePath", device_path, "can not contain backsteps ('..')")
        else:
            paths.add(device_path)
        if name in mounted[0]:
            faults.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if device_path in mounted[1]:
            faults.invalid(f"{at}.devicePath", device_path, "must not already exist as a path in volumeMounts")
        names.update({name} if name else ())


_CHECKS: Final[dict[str, SourceCheck]] = {
    "emptyDir": _check_empty_dir,
    "gitRepo": _check_repository,
    "secret": _check_secret,
    "configMap": _check_config_map,
    "persistentVolumeClaim": _check_claim,
    "projected": _check_projected,
    "downwardAPI": _check_downward,
    "csi": _check_inline_csi,
    "cinder": _check_cinder,
    "iscsi": _check_iscsi,
    "image": _check_image,
}
