"""ClusterTrustBundle and PodCertificateRequest, from v1.37 on."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.trust import (
    DAY_SECONDS,
    check_certificate_request,
    check_certificate_request_update,
    check_trust_bundle,
    check_trust_bundle_update,
)
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_AND_NAMESPACE, NAME_ONLY, SelectableFields, fields
from bayplan.apiserver.tables.configuration import CLUSTER_TRUST_BUNDLES, POD_CERTIFICATE_REQUESTS


def _any_name(_name: str) -> tuple[str, ...]:
    """The rule depends on the signer, which the check knows."""
    return ()


def _default_request(request: Document) -> None:
    if request["spec"].get("maxExpirationSeconds") is None:
        request["spec"]["maxExpirationSeconds"] = DAY_SECONDS


CLUSTER_TRUST_BUNDLE = Kind(
    "certificates.k8s.io/v1",
    "ClusterTrustBundle",
    check=check_trust_bundle,
    check_update=check_trust_bundle_update,
    name_rule=_any_name,
    without_effect="no volumes are mounted",
    printer=CLUSTER_TRUST_BUNDLES,
    selectable=SelectableFields({**NAME_ONLY, **fields("spec.signerName")}),
)
POD_CERTIFICATE_REQUEST = Kind(
    "certificates.k8s.io/v1",
    "PodCertificateRequest",
    defaults=_default_request,
    check=check_certificate_request,
    check_update=check_certificate_request_update,
    without_effect="there is no signer",
    printer=POD_CERTIFICATE_REQUESTS,
    selectable=NAME_AND_NAMESPACE,
)
