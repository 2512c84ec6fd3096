"""Nobody gets a client certificate that makes them an administrator: requests for `system:masters` are refused.

Takes a new CertificateSigningRequest. Upstream: plugin/pkg/admission/certificates/subjectrestriction (v1.36).
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import Forbidden

_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
_GROUP: Final = b"system:masters"
_PEM: Final = re.compile(rb"-----BEGIN [A-Z ]+-----(.*?)-----END [A-Z ]+-----", re.DOTALL)
#: The attribute "organization" (2.5.4.10) as DER has it, of any kind of text, with that value.
_ORGANIZATION: Final = re.compile(rb"\x06\x03\x55\x04\x0a." + bytes([len(_GROUP)]) + re.escape(_GROUP), re.DOTALL)


def check_subject(resource: Resource, new: Document, old: Document | None, cluster: ClusterView) -> None:  # noqa: ARG001
    """Raises Forbidden for a request that nobody may make."""
    spec = new.get("spec") or {}
    if old is None and spec.get("signerName") == _SIGNER and _ORGANIZATION.search(_der(spec.get("request") or "")):
        name = new["metadata"].get("name", "")
        raise Forbidden.because(resource, name, f"use of {_SIGNER} signer with system:masters group is not allowed")


def _der(request: str) -> bytes:
    """The request itself, out of its two wrappings; nothing if they are not what they should be."""
    try:
        found = _PEM.search(base64.b64decode(request))
        return b"" if found is None else base64.b64decode(found[1])
    except (binascii.Error, ValueError):
        return b""
