"""Every pod has a ServiceAccount, whose token its containers find as a file, and whose pull secrets it gets.

Takes a new pod document and completes it in place; raises Forbidden for an account that does not exist. The account
`default` is taken for granted, since the server's controllers give it to every namespace a moment after its creation.
Which secrets an account lets pods mount (`kubernetes.io/enforce-mountable-secrets`) is not looked at.
Upstream: plugin/pkg/admission/serviceaccount/admission.go (v1.36).
"""

from __future__ import annotations

import hashlib
from typing import Final

from bayplan.apiserver.admitting.cluster import SERVICE_ACCOUNTS, ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.resources import Resource
from bayplan.controllers.budgets.evicting import MIRROR_ANNOTATION
from bayplan.store.errors import Forbidden
from bayplan.store.stamping import safe_encoded

DEFAULT_ACCOUNT: Final = "default"
_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUME_PREFIX: Final = "kube-api-access-"
_TOKEN_SECONDS: Final = 3607
_MODE: Final = 0o644


def give_account(resource: Resource, pod: Document, name: str, cluster: ClusterView) -> None:
    meta, spec = pod["metadata"], pod["spec"]
    if MIRROR_ANNOTATION in (meta.get("annotations") or {}):
        return
    account_name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
    spec["serviceAccountName"] = spec["serviceAccount"] = account_name
    account = cluster.find(SERVICE_ACCOUNTS, meta["namespace"], account_name)
    if account is None:
        if account_name != DEFAULT_ACCOUNT:
            where = f"{meta['namespace']}/{account_name}"
            why = f'error looking up service account {where}: serviceaccount "{account_name}" not found'
            raise Forbidden.because(resource, name, why)
        account = {}
    if _mounts_token(spec, account):
        _mount_token(pod)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(secret) for secret in account["imagePullSecrets"]]


def _mounts_token(spec: Document, account: Document) -> bool:
    for said in (spec, account):
        if said.get("automountServiceAccountToken") is not None:
            return bool(said["automountServiceAccountToken"])
    return True


def _mount_token(pod: Document) -> None:
    spec = pod["spec"]
    volumes = spec.get("volumes") or []
    existing = (volume["name"] for volume in volumes if volume.get("name", "").startswith(_VOLUME_PREFIX))
    volume_name = next(existing, "")
    wanted = volume_name or _VOLUME_PREFIX + _letters(pod["metadata"].get("uid", ""))
    mount = {"name": wanted, "readOnly": True, "mountPath": _MOUNT_PATH}
    is_needed = False
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            mounts = container.get("volumeMounts") or []
            if all(known.get("mountPath") != _MOUNT_PATH for known in mounts):
                container["volumeMounts"] = [*mounts, dict(mount)]
                is_needed = True
    if is_needed and not volume_name:
        spec["volumes"] = [*volumes, {"name": wanted, "projected": _sources()}]


def _letters(uid: str) -> str:
    """Five letters that differ from pod to pod."""
    return safe_encoded(int.from_bytes(hashlib.blake2b(uid.encode(), digest_size=8).digest()), 5)


def _sources() -> Document:
    """What is in the volume: the token, the certificate to trust, and the name of the namespace."""
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": certificate},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": _MODE,
    }
