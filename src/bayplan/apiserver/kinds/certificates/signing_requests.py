"""CertificateSigningRequest."""

from __future__ import annotations

from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_ONLY, SelectableFields, fields
from bayplan.apiserver.tables.configuration import CERTIFICATE_SIGNING_REQUESTS

CERTIFICATE_SIGNING_REQUEST = Kind(
    "certificates.k8s.io/v1",
    "CertificateSigningRequest",
    printer=CERTIFICATE_SIGNING_REQUESTS,
    selectable=SelectableFields({**NAME_ONLY, **fields("spec.signerName")}),
)
