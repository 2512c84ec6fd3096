"""Claims that a controller would make for pods which no cluster has seen yet.

Takes a pod from a manifest and the templates among the objects; gives the pod as it is once it was told its claims, and
the claims. A pod that an API server has stored is taken as it is: its claims are there, or they are not. Members of a
new group share what is made for the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from bayplan.admission.stored import looks_stored
from bayplan.controllers.resource_claims import claim_from, has_entry
from bayplan.model.groups import PodGroup, PodGroupResourceClaimStatus
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod, PodResourceClaimStatus
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimTemplate
from bayplan.model.structs import replace

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
    return _told(pod, told), made


def with_group_claims_made(
    group: PodGroup, pods: Sequence[Pod], templates: Templates, *, are_made: bool
) -> tuple[PodGroup, list[Pod], list[ResourceClaim]]:
    """A new group and its new pods, and the claims made for it and for each of them.

    Where claims of groups are not made, as their gate is off, nobody makes those that pods share with their group.
    """
    names: dict[str, str] = {}
    made: list[ResourceClaim] = []
    for entry in group.spec.resource_claims if are_made else ():
        template = templates.get((group.metadata.namespace, entry.resource_claim_template_name or ""))
        if template is not None:
            claim = claim_from(template, group, entry.name)
            claim.metadata.name = names[entry.name] = claim.metadata.generate_name.rstrip("-")
            made.append(claim)
    told = [PodGroupResourceClaimStatus(name=entry, resource_claim_name=claim) for entry, claim in names.items()]
    knowing = replace(group, status=replace(group.status, resource_claim_statuses=told))
    members: list[Pod] = []
    for pod in pods:
        shared = [entry.name for entry in pod.spec.resource_claims if has_entry(group, entry)]
        statuses = [PodResourceClaimStatus(name=name, resource_claim_name=names.get(name)) for name in shared]
        member, own = with_claims_made(_told(pod, statuses) if statuses else pod, templates)
        if not are_made and statuses:
            left = [each for each in member.status.resource_claim_statuses if each.name not in shared]
            member = _told(member, left)
        members.append(member)
        made += own
    return knowing, members, made


def _told(pod: Pod, statuses: list[PodResourceClaimStatus]) -> Pod:
    knowing = copy(pod)
    knowing.status = copy(pod.status)
    knowing.status.resource_claim_statuses = statuses
    return knowing
