"""ResourceClaim and ResourceClaimTemplate."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.devices import default_claim, default_claim_template
from bayplan.apiserver.admitting.validation.device_claims import (
    check_claim,
    check_claim_status,
    check_claim_template,
    check_claim_template_update,
    check_claim_update,
    permit_claim,
    permit_claim_template,
)
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.devices import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS

RESOURCE_CLAIM = Kind(
    "resource.k8s.io/v1",
    "ResourceClaim",
    defaults=default_claim,
    permit=permit_claim,
    check=check_claim,
    check_update=check_claim_update,
    subresources={"status": check_claim_status},
    kept_by_status=("labels", "annotations", "finalizers", "ownerReferences"),
    printer=RESOURCE_CLAIMS,
)
RESOURCE_CLAIM_TEMPLATE = Kind(
    "resource.k8s.io/v1",
    "ResourceClaimTemplate",
    defaults=default_claim_template,
    permit=permit_claim_template,
    check=check_claim_template,
    check_update=check_claim_template_update,
    printer=RESOURCE_CLAIM_TEMPLATES,
)
