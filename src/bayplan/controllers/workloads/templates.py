"""Pod templates: telling one from another, and the ReplicaSet that stands for one of a Deployment's.

Two templates are the same if pods made of them are, whatever hash a controller has written into one. The hash is
always the same for the same template, but not the one Kubernetes computes; `Revisions` lives with that.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import msgspec

from bayplan.controllers.ownership import TEMPLATE_HASH, reference_to
from bayplan.model.meta import LabelSelector, ObjectMeta
from bayplan.model.pod import Pod, PodTemplateSpec
from bayplan.model.workloads import Deployment, ReplicaSet, ReplicaSetSpec
from bayplan.store.stamping import safe_encoded

REVISION_HASH = "controller-revision-hash"


def same_template(of_replica_set: PodTemplateSpec, of_deployment: PodTemplateSpec) -> bool:
    """Whether the ReplicaSet is the one for the Deployment's template."""
    labels = {key: value for key, value in of_replica_set.metadata.labels.items() if key != TEMPLATE_HASH}
    return (
        of_replica_set.fingerprint == of_deployment.fingerprint
        and labels == of_deployment.metadata.labels
        and of_replica_set.metadata.annotations == of_deployment.metadata.annotations
        and of_replica_set.spec == of_deployment.spec
    )


def replica_set_of(deployment: Deployment, hashed: str) -> ReplicaSet:
    """A new ReplicaSet for the Deployment's template, called after the hash, with all the replicas."""
    template = deployment.spec.template
    labels = {**template.metadata.labels, TEMPLATE_HASH: hashed}
    meta = ObjectMeta(
        name=f"{deployment.metadata.name}-{hashed}",
        namespace=deployment.metadata.namespace,
        labels=labels,
        owner_references=[reference_to(deployment)],
    )
    given = deployment.spec.selector or LabelSelector()
    selector = LabelSelector(
        match_labels={**given.match_labels, TEMPLATE_HASH: hashed}, match_expressions=list(given.match_expressions)
    )
    labeled = PodTemplateSpec(
        metadata=msgspec.structs.replace(template.metadata, labels=dict(labels)), spec=template.spec
    )
    spec = ReplicaSetSpec(
        replicas=deployment.spec.replicas,
        min_ready_seconds=deployment.spec.min_ready_seconds,
        selector=selector,
        template=labeled,
    )
    return ReplicaSet(metadata=meta, spec=spec)


def template_hash(template: PodTemplateSpec) -> str:
    """Ten characters for the template. Kubernetes hashes Go's way of printing it, which cannot be had here."""
    return safe_encoded(zlib.crc32(msgspec.json.encode(template, order="deterministic")), 10)


@dataclass(slots=True)
class _Seen:
    template: PodTemplateSpec
    hashed: str
    has_changed: bool
    before: tuple[str, PodTemplateSpec] | None = None
    """The template that the owner had before, with its hash."""


class Revisions:
    """The hashes of owners' templates, and which pods are of the current one.

    The pods of a cluster that was loaded have other hashes than they would get here. So a pod whose hash is another
    counts as old only if its owner was seen to change its template.
    """

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def observe(self, uid: str, template: PodTemplateSpec) -> None:
        """The owner has this template now."""
        seen = self._seen.get(uid)
        if seen is None:
            self._seen[uid] = _Seen(template, template_hash(template), has_changed=False)
        elif seen.template is not template and seen.template != template:
            before = (seen.hashed, seen.template)
            self._seen[uid] = _Seen(template, template_hash(template), has_changed=True, before=before)

    def forget(self, uid: str) -> None:
        self._seen.pop(uid, None)

    def hash_of(self, uid: str) -> str:
        return self._seen[uid].hashed

    def before(self, uid: str) -> tuple[str, PodTemplateSpec] | None:
        """Hash and template that the owner had before its current one, as far as it was seen to change."""
        return self._seen[uid].before

    def is_current(self, uid: str, pod: Pod) -> bool:
        """Whether the pod is of its owner's current template."""
        seen = self._seen[uid]
        # A set's hash stands behind its name, a daemon's alone.
        return not seen.has_changed or pod.metadata.labels.get(REVISION_HASH, "").endswith(seen.hashed)
