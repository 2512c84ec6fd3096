"""ClusterTrustBundle and PodCertificateRequest, from v1.37 on."""

from __future__ import annotations

from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_AND_NAMESPACE, NAME_ONLY, SelectableFields, fields

CLUSTER_TRUST_BUNDLE = Kind(
    "certificates.k8s.io/v1",
    "ClusterTrustBundle",
    without_effect="no volumes are mounted",
    selectable=SelectableFields({**NAME_ONLY, **fields("spec.signerName")}),
)
POD_CERTIFICATE_REQUEST = Kind(
    "certificates.k8s.io/v1",
    "PodCertificateRequest",
    without_effect="there is no signer",
    selectable=NAME_AND_NAMESPACE,
)
