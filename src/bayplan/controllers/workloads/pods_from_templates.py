"""Pods and claims out of templates.

Takes a pod template and its owner once and stamps out pods, each independent of the others and of the template unless
pods alike are asked for. Such a pod is what a controller sends to the API server: no uid, no priority, no defaults
beyond the template's own; `bayplan.admission` does the rest. Names are the caller's business.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bayplan.controllers.ownership import reference_to
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSpec, PodTemplateSpec
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.volumes import PersistentVolumeClaimVolumeSource, Volume
from bayplan.model.workloads import StatefulSet


class Stamp:
    """Makes pods of one template for one owner."""

    def __init__(self, template: PodTemplateSpec, owner: Object, labels: Mapping[str, str] | None = None) -> None:
        meta = ObjectMeta(
            generate_name=f"{owner.metadata.name}-",
            namespace=owner.metadata.namespace,
            labels={**template.metadata.labels, **(labels or {})},
            annotations=template.metadata.annotations,
            finalizers=template.metadata.finalizers,
            owner_references=[reference_to(owner)],
        )
        # Decoding the same bytes again is many times faster than a deep copy.
        self._encoded = msgspec.json.encode(Pod(metadata=meta, spec=template.spec))
        self._decoder = msgspec.json.Decoder(Pod)
        self._pattern: Pod | None = None

    def pod(self, name: str) -> Pod:
        """A new pod of this name."""
        pod = self._decoder.decode(self._encoded)
        pod.metadata.name = name
        return pod

    def pod_alike(self) -> Pod:
        """A new pod that the server is to name, with its parts in common with all others of this stamp.

        Only for a store, which never changes what it holds: thousands of pods then cost little more than one.
        """
        if self._pattern is None:
            self._pattern = self.pod("")
        return Pod(
            metadata=msgspec.structs.replace(self._pattern.metadata), spec=msgspec.structs.replace(self._pattern.spec)
        )


def copy_spec(spec: PodSpec) -> PodSpec:
    """An independent copy."""
    return msgspec.json.decode(msgspec.json.encode(spec), type=PodSpec)


def mount_claims(pod: Pod, owner: StatefulSet) -> list[PersistentVolumeClaim]:
    """Lets the pod use the claims of its set, and returns these; they replace volumes of the same name."""
    templates = owner.spec.volume_claim_templates
    claims = [_claim_of(template, pod, owner) for template in templates]
    named = {template.metadata.name for template in templates}
    pod.spec.volumes = [
        *(_claim_volume(template.metadata.name, claim) for template, claim in zip(templates, claims, strict=True)),
        *(volume for volume in pod.spec.volumes if volume.name not in named),
    ]
    return claims


def ephemeral_claims(pod: Pod) -> list[PersistentVolumeClaim]:
    """The claims behind the pod's generic ephemeral volumes, as their controller creates them."""
    claims = []
    for volume in pod.spec.volumes:
        template = volume.ephemeral and volume.ephemeral.volume_claim_template
        if template:
            meta = ObjectMeta(
                name=f"{pod.metadata.name}-{volume.name}",
                namespace=pod.metadata.namespace,
                labels=dict(template.metadata.labels),
                annotations=dict(template.metadata.annotations),
                owner_references=[reference_to(pod)],
            )
            claims.append(PersistentVolumeClaim(metadata=meta, spec=msgspec.structs.replace(template.spec)))
    return claims


def _claim_of(template: PersistentVolumeClaim, pod: Pod, owner: StatefulSet) -> PersistentVolumeClaim:
    selected = owner.spec.selector.match_labels if owner.spec.selector is not None else {}
    meta = ObjectMeta(
        name=f"{template.metadata.name}-{pod.metadata.name}",
        namespace=pod.metadata.namespace,
        labels={**template.metadata.labels, **selected},
        annotations=dict(template.metadata.annotations),
    )
    return PersistentVolumeClaim(metadata=meta, spec=msgspec.structs.replace(template.spec))


def _claim_volume(name: str, claim: PersistentVolumeClaim) -> Volume:
    source = PersistentVolumeClaimVolumeSource(claim_name=claim.metadata.name)
    return Volume(name=name, persistent_volume_claim=source)
