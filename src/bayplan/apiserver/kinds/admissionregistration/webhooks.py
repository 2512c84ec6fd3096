"""ValidatingWebhookConfiguration and MutatingWebhookConfiguration."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.extending import default_mutating_webhooks, default_validating_webhooks
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.api_policies import WEBHOOK_CONFIGURATIONS

VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    defaults=default_validating_webhooks,
    watched=("webhooks",),
    printer=WEBHOOK_CONFIGURATIONS,
)
MUTATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration",
    defaults=default_mutating_webhooks,
    watched=("webhooks",),
    printer=WEBHOOK_CONFIGURATIONS,
)
