"""ValidatingWebhookConfiguration and MutatingWebhookConfiguration."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.defaults.extending import default_mutating_webhooks, default_validating_webhooks
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.policies.webhooks import check_webhooks
from bayplan.apiserver.tables.api_policies import WEBHOOK_CONFIGURATIONS

_NOT_CALLED: Final = "this cluster calls no webhooks; admission policies in CEL are enforced"

VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    defaults=default_validating_webhooks,
    check=check_webhooks,
    steps=(ChangeCheck.NEW,),
    watched=("webhooks",),
    without_effect=_NOT_CALLED,
    printer=WEBHOOK_CONFIGURATIONS,
    any_finalizers=True,
)
MUTATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration",
    defaults=default_mutating_webhooks,
    check=check_webhooks,
    steps=(ChangeCheck.NEW,),
    watched=("webhooks",),
    without_effect=_NOT_CALLED,
    printer=WEBHOOK_CONFIGURATIONS,
    any_finalizers=True,
)
