"""Claims that a controller would make for pods which no cluster has seen yet.

Takes a pod from a manifest and the templates among the objects; gives the pod as it is once it was told its claims, and
the claims. A pod that an API server has stored is taken as it is: its claims are there, or they are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy

from bayplan.admission.stored import looks_stored
from bayplan.controllers.resource_claims import claim_from
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod, PodResourceClaimStatus
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimTemplate

Templates = Mapping[tuple[str, str], ResourceClaimTemplate]


def templates_among(objects: Iterable[Object]) -> Templates:
    return {
        (template.metadata.namespace, template.metadata.name): template
        for template in objects
        if isinstance(template, ResourceClaimTemplate)
    }


def with_claims_made(pod: Pod, templates: Templates) -> tuple[Pod, list[ResourceClaim]]:
    """The pod and the claims made for it; claims whose template is missing are not made."""
    if not pod.spec.resource_claims or looks_stored(pod):
        return pod, []
    made, told = [], list(pod.status.resource_claim_statuses)
    for entry in pod.spec.resource_claims:
        template = templates.get((pod.metadata.namespace, entry.resource_claim_template_name or ""))
        if template is not None and all(status.name != entry.name for status in told):
            claim = claim_from(template, pod, entry.name)
            claim.metadata.name = claim.metadata.generate_name.rstrip("-")
            made.append(claim)
            told.append(PodResourceClaimStatus(name=entry.name, resource_claim_name=claim.metadata.name))
    if not made:
        return pod, []
    knowing = copy(pod)
    knowing.status = copy(pod.status)
    knowing.status.resource_claim_statuses = told
    return knowing, made
