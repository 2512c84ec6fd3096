"""Pods of a kind, as many as somebody wants: what `--pod` and `--workload` mean.

`--pod` is a file with a pod or a workload, or a plain pod such as `cpu=500m,memory=1Gi`; `--workload` is one of the
cluster's. Either may end in `=N`: so many of these for each one of the others. Gives a `PodPattern`, which makes pods
that differ in nothing but their names and the claims that are their own. Nothing is placed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayplan.admission import admit
from bayplan.analysis.answers.given_amounts import fault_in_amount
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.device_claims import Templates, templates_among, with_claims_made
from bayplan.analysis.references import POD, not_found, parse_reference
from bayplan.analysis.workload_pods import next_of
from bayplan.controllers.ownership import WORKLOADS
from bayplan.controllers.workloads.expand import POD_NAME_LABEL
from bayplan.controllers.workloads.pods_from_templates import ephemeral_claims
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.reading import ReadResult, from_dicts, read
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.structs import replace
from bayplan.model.volumes import Volume
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.workloads import DaemonSet

SHARE_MAX = 1000
_SHARED = re.compile(r"(.+)=([0-9]{1,6})", re.DOTALL)
_FILE = re.compile(r".*(\.(yaml|yml|json)(\.gz)?|/)|-", re.DOTALL)
#: `cpu:500m`, as in YAML.
_LIKE_REQUESTS = re.compile(r"[\w./-]+:\s*[0-9.]+\w*(,.*)?")
_EXPECTED = "expected a file, or requests: cpu=500m,memory=1Gi"


@dataclass(frozen=True, slots=True)
class PodPattern:
    """A pod to make others of."""

    name: str  # as the user wrote it
    share: int  # of these for each of the others' share
    pod: Pod  # admitted, without a node
    claims: tuple[PersistentVolumeClaim, ...] = ()  # its own: each pod has another
    along: tuple[Object, ...] = ()  # what all of them need, once
    templates: Templates = field(default_factory=dict)

    def replica(self, number: int) -> tuple[Pod, list[Object]]:
        """The pod of this number, and what is made for it alone."""
        meta, spec = self.pod.metadata, self.pod.spec
        name = f"{meta.name}-{number}"
        made = Pod(metadata=_named(meta, name), spec=spec, status=self.pod.status)
        if not self.claims and not spec.resource_claims:
            return made, []
        claims = {claim.metadata.name: _renamed(claim, meta.name, name) for claim in self.claims}
        made.spec = replace(spec, volumes=[_with_claim(volume, claims) for volume in spec.volumes])
        made, resource_claims = with_claims_made(made, self.templates)
        return made, [*claims.values(), *resource_claims]


def patterns(
    cluster: Cluster,
    pods: Iterable[str | Mapping[str, Any]],
    workloads: Iterable[str],
    namespace: str = DEFAULT_NAMESPACE,
    *,
    option: str = "--pod",
) -> tuple[PodPattern, ...]:
    """What is to be counted, in the order given. Raises InvalidObject, which names the option if pods are wrong."""
    found = [_from_source(cluster, given, namespace, option) for given in pods]
    found += [_from_cluster(cluster, text, namespace) for text in workloads]
    if not found:
        raise InvalidObject([Fault("", "", "", "name a pod with --pod, or a workload of the cluster with --workload")])
    return tuple(_under_new_names(found, cluster))


# Where they come from.


def _from_source(cluster: Cluster, given: str | Mapping[str, Any], namespace: str, option: str) -> PodPattern:
    if not isinstance(given, str):
        return _from_objects(cluster, _in_namespace(from_dicts([given]), given, namespace), "pod", 1)
    what, share = _what_and_share(given, option)
    if "=" in what or not what:
        return _from_objects(cluster, _plain_pod(what, namespace, option), what, share)
    if _LIKE_REQUESTS.fullmatch(what) and not Path(what).exists():
        raise InvalidObject([Fault("", "", option, f"{what!r}: {_EXPECTED}")])
    return _from_objects(cluster, read([what]), what, share)


def _what_and_share(text: str, option: str) -> tuple[str, int]:
    """`web.yaml=2` is two of them; of `cpu=2` the number belongs to the pod."""
    shared = _SHARED.fullmatch(text)
    if shared is None or not (_FILE.fullmatch(shared[1]) or "=" in shared[1].rpartition(",")[2]):
        return text, 1
    if not 1 <= int(shared[2]) <= SHARE_MAX:
        raise InvalidObject([Fault("", "", option, f"{text!r}: the number after = must be from 1 to {SHARE_MAX:,}")])
    return shared[1], int(shared[2])


def _plain_pod(text: str, namespace: str, option: str) -> ReadResult:
    """`cpu=500m,memory=1Gi` as a pod with one container."""
    requests: dict[str, str] = {}
    for part in text.split(","):
        resource, _, amount = (piece.strip() for piece in part.partition("="))
        if not resource or not amount or resource in requests:
            raise InvalidObject([Fault("", "", option, f"{text!r}: {_EXPECTED}")])
        if fault := fault_in_amount(resource, amount):
            raise InvalidObject([Fault("", "", option, f"{resource}: {fault}")])
        requests[resource] = amount
    container = {"name": "main", "resources": {"requests": requests, "limits": _limits(requests)}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": namespace}}
    return from_dicts([{**pod, "spec": {"containers": [container]}}], source=f"{option} {text}")


def _limits(requests: Mapping[str, str]) -> dict[str, str]:
    """Resources of vendors cannot be requested without an equal limit."""
    return {resource: amount for resource, amount in requests.items() if "/" in resource}


def _in_namespace(result: ReadResult, given: Mapping[str, Any], namespace: str) -> ReadResult:
    if not (given.get("metadata") or {}).get("namespace"):
        for obj in result.objects:
            obj.metadata.namespace = obj.metadata.namespace and namespace
    return result


def _from_objects(cluster: Cluster, result: ReadResult, name: str, share: int) -> PodPattern:
    """The one pod or workload among them; everything else comes along, unless the cluster has it."""
    makers = [obj for obj in result.objects if isinstance(obj, (Pod, *WORKLOADS))]
    if len(makers) != 1:
        count = "none" if not makers else str(len(makers))
        raise InvalidObject([Fault(name, "", "", f"expected one pod or workload in this file, found {count}")])
    known = {(type(obj), object_key(obj)) for obj in cluster.objects}
    new = [obj for obj in result.objects if (type(obj), object_key(obj)) not in known or obj is makers[0]]
    admit(new, beside=cluster.objects)
    (maker,) = makers
    beside = [obj for obj in new if obj is not maker]
    together = [*cluster.objects, *new]
    if isinstance(maker, Pod):
        return _pattern(together, name, share, maker, beside)
    return _next_of(
        together, (type(maker).__name__, maker.metadata.namespace, maker.metadata.name), name, share, beside
    )


def _from_cluster(cluster: Cluster, text: str, namespace: str) -> PodPattern:
    shared = _SHARED.fullmatch(text)
    what, share = (shared[1], int(shared[2])) if shared else (text, 1)
    if not 1 <= share <= SHARE_MAX:
        raise InvalidObject(
            [Fault("", "", "--workload", f"{text!r}: the number after = must be from 1 to {SHARE_MAX:,}")]
        )
    reference = parse_reference(what, namespace)
    if reference.kind == POD:
        return _pattern(cluster.objects, what, share, cluster.find_pod(reference.key), ())
    return _next_of(cluster.objects, (reference.kind, reference.namespace, reference.name), what, share, ())


def _next_of(
    objects: Sequence[Object], which: tuple[str, str, str], name: str, share: int, beside: Sequence[Object]
) -> PodPattern:
    kind, namespace, own_name = which
    if kind == DaemonSet.__name__:
        raise not_found(f"{kind} {namespace}/{own_name}", "runs one pod on each node, so there is nothing to count")
    new = next_of(objects, kind, namespace, own_name)
    if new is None:
        raise not_found(f"{kind} {namespace}/{own_name}", "not found in the input")
    claims = [obj for obj in new.origin.along if isinstance(obj, PersistentVolumeClaim)]
    along = [obj for obj in new.origin.along if not isinstance(obj, PersistentVolumeClaim)]
    return _pattern(objects, name, share, new.pod, [*beside, *along], claims)


def _pattern(
    objects: Sequence[Object],
    name: str,
    share: int,
    pod: Pod,
    along: Sequence[Object],
    claims: Sequence[PersistentVolumeClaim] = (),
) -> PodPattern:
    meta = pod.metadata
    fresh = ObjectMeta(
        name=meta.name, namespace=meta.namespace, labels=meta.labels, owner_references=meta.owner_references
    )
    unbound = Pod(metadata=fresh, spec=replace(pod.spec, node_name=""), status=PodStatus())
    own = list(claims)
    if not own:
        own = ephemeral_claims(unbound)
        admit(list[Object](own), beside=objects)
    return PodPattern(name, share, unbound, tuple(own), tuple(along), templates_among(objects))


# Names.


def _under_new_names(found: Iterable[PodPattern], cluster: Cluster) -> Iterator[PodPattern]:
    """None of their replicas may have the name of a pod of the cluster, or of another pattern's."""
    taken: set[str] = set(cluster.pods)
    for pattern in found:
        meta = pattern.pod.metadata
        stem = f"{meta.namespace}/{meta.name}-"
        while any(key.startswith(stem) and key.removeprefix(stem).isdigit() for key in taken):
            stem = f"{stem}more-"
        taken.add(f"{stem}1")
        new_name = stem.removeprefix(f"{meta.namespace}/").removesuffix("-")
        yield pattern if new_name == meta.name else _called(pattern, new_name)


def _called(pattern: PodPattern, name: str) -> PodPattern:
    old = pattern.pod.metadata.name
    pod = replace(pattern.pod, metadata=_named(pattern.pod.metadata, name))
    claims = {claim.metadata.name: _renamed(claim, old, name) for claim in pattern.claims}
    pod.spec = replace(pod.spec, volumes=[_with_claim(volume, claims) for volume in pod.spec.volumes])
    return PodPattern(pattern.name, pattern.share, pod, tuple(claims.values()), pattern.along, pattern.templates)


def _named(meta: ObjectMeta, name: str) -> ObjectMeta:
    labels = meta.labels
    if POD_NAME_LABEL in labels:
        labels = {**labels, POD_NAME_LABEL: name}
    return replace(meta, name=name, labels=labels)


def _renamed(claim: PersistentVolumeClaim, old: str, new: str) -> PersistentVolumeClaim:
    """A claim of a pod has the pod's name in its own."""
    return replace(claim, metadata=replace(claim.metadata, name=claim.metadata.name.replace(old, new)))


def _with_claim(volume: Volume, claims: Mapping[str, PersistentVolumeClaim]) -> Volume:
    source = volume.persistent_volume_claim
    if source is None or source.claim_name not in claims:
        return volume
    renamed = claims[source.claim_name].metadata.name
    return replace(volume, persistent_volume_claim=replace(source, claim_name=renamed))
