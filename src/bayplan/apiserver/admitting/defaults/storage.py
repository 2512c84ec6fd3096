"""Defaults of volumes, claims, storage classes and CSI drivers.

Takes documents in wire form, completes them in place. Which storage class a claim without one gets is admission's.
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.core.plugins.volume_matching import FILESYSTEM


def default_volume(volume: Document) -> None:
    volume["status"].setdefault("phase", "Pending")
    spec = volume["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", FILESYSTEM)
    default_source(spec)


_SOURCE_DEFAULTS: dict[str, dict[str, object]] = {
    "hostPath": {"type": ""},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "iscsi": {"iscsiInterface": "default"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_source(volume: Document) -> None:
    """The defaults of the sources that volumes of pods and persistent volumes have in common."""
    for source, defaults in _SOURCE_DEFAULTS.items():
        if source in volume:
            for name, value in defaults.items():
                volume[source].setdefault(name, value)


def default_claim(claim: Document) -> None:
    claim["status"].setdefault("phase", "Pending")
    default_claim_spec(claim["spec"])


def default_claim_spec(spec: Document) -> None:
    """Of a claim and of every template of one."""
    spec.setdefault("volumeMode", FILESYSTEM)


def default_storage_class(storage_class: Document) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def default_csi_driver(driver: Document) -> None:
    spec = driver["spec"]
    for name, value in (
        ("attachRequired", True),
        ("podInfoOnMount", False),
        ("storageCapacity", False),
        ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
        ("volumeLifecycleModes", ["Persistent"]),
        ("requiresRepublish", False),
        ("seLinuxMount", False),
    ):
        spec.setdefault(name, value)
    if gate_is_on("VolumeLimitScaling"):
        spec.setdefault("preventPodSchedulingIfMissing", False)
