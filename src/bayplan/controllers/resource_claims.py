"""Resource claims of pods and groups: made from templates, given back when nobody uses them, gone with their owner.

Watches pods, groups, claims and templates. Makes the claims that a pod or a group asks for by template and writes their
names into its status; an entry of a pod that its group has, too, stands for the group's claim. Takes pods that have
ended, and pods and groups that are gone, off the claims they used; a claim that its last user left loses its devices,
and one made for a pod that will not run is deleted. Giving claims devices is the scheduler's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from bayplan.controllers.ownership import controller_reference, is_terminal
from bayplan.controllers.work_queue import Reconciler
from bayplan.model.groups import (
    POD_GROUPS,
    SCHEDULING_GROUP,
    PodGroup,
    PodGroupResourceClaim,
    PodGroupResourceClaimStatus,
)
from bayplan.model.kinds import KINDS, object_key
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus, group_key
from bayplan.model.resource_claims import (
    CLAIM_FINALIZER,
    POD_CLAIM_NAME_ANNOTATION,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
    left_to,
)
from bayplan.model.structs import replace
from bayplan.model.watch_types import DELETED
from bayplan.store import Store, WatchEvent

#: Longest base of a generated name: a hyphen and five characters come after it.
BASE_LENGTH_MAX = 57


class Key(NamedTuple):
    kind: str  # Pod or ResourceClaim
    namespace: str
    name: str


class ResourceClaimController(Reconciler[Key]):
    """Makes, releases and deletes resource claims."""

    # Upstream: pkg/controller/resourceclaim/controller.go (v1.36).
    name: ClassVar[str] = "resourceclaim-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", "PodGroup", "ResourceClaim", "ResourceClaimTemplate"})

    def __init__(self, *, makes_group_claims: bool = False) -> None:
        super().__init__()
        self._makes_group_claims = makes_group_claims
        self._waiting: dict[tuple[str, str], dict[Key, None]] = {}  # template -> pods that wait for it

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        changed = change.new
        namespace, name = changed.metadata.namespace, changed.metadata.name
        if isinstance(changed, Pod):
            self._observe_pod(changed, change.type == DELETED)
        elif isinstance(changed, PodGroup):
            self._observe_group(changed, change.type == DELETED)
        elif isinstance(changed, ResourceClaim):
            self._queue.add(Key("ResourceClaim", namespace, name))
            owner = controller_reference(changed.metadata)
            if change.type == DELETED and owner is not None and owner.kind in ("Pod", "PodGroup"):
                self._queue.add(Key(owner.kind, namespace, owner.name))
        elif isinstance(changed, ResourceClaimTemplate) and change.type != DELETED:
            for key in self._waiting.pop((namespace, name), ()):
                self._queue.add(key)

    def _observe_pod(self, pod: Pod, is_deleted: bool) -> None:
        if not pod.spec.resource_claims and pod.status.extended_resource_claim_status is None:
            return
        namespace = pod.metadata.namespace
        if is_deleted or not may_run(pod):
            for name in claim_names(pod):
                self._queue.add(Key("ResourceClaim", namespace, name))
        elif any(entry.resource_claim_template_name is not None for entry in pod.spec.resource_claims):
            self._queue.add(Key("Pod", namespace, pod.metadata.name))

    def _observe_group(self, group: PodGroup, is_deleted: bool) -> None:
        if not self._makes_group_claims or not group.spec.resource_claims:
            return
        namespace, name = group.metadata.namespace, group.metadata.name
        if is_deleted:
            for claim in names_for_group(group):
                self._queue.add(Key("ResourceClaim", namespace, claim))
        else:
            self._queue.add(Key("PodGroup", namespace, name))

    def _sync(self, store: Store, key: Key, now: int) -> None:
        if key.kind == "Pod":
            self._sync_pod(store, key, now)
        elif key.kind == "PodGroup":
            self._sync_group(store, key, now)
        else:
            _sync_claim(store, key, now)

    # ---------------------------------------------------------------- claims from templates

    def _sync_pod(self, store: Store, key: Key, now: int) -> None:
        pod = store.find(Pod, key.namespace, key.name)
        if pod is None or not may_run(pod) or pod.metadata.deletion_timestamp is not None:
            return
        group = group_of(store, pod)
        made = {
            entry.name: name
            for entry in pod.spec.resource_claims
            if entry.resource_claim_template_name is not None
            and (name := self._claim_for(store, pod, group, entry, key, now)) is not None
        }
        if made:
            store.modify_status(Pod, key.namespace, key.name, lambda stored: _told(stored, made), now)

    def _sync_group(self, store: Store, key: Key, now: int) -> None:
        group = store.find(PodGroup, key.namespace, key.name)
        if group is None or group.metadata.deletion_timestamp is not None:
            return
        made = {
            entry.name: name
            for entry in group.spec.resource_claims
            if entry.resource_claim_template_name is not None
            and (name := self._claim_for_group(store, group, entry, key, now)) is not None
        }
        if made:
            store.modify_status(PodGroup, key.namespace, key.name, lambda stored: _group_told(stored, made), now)
        for pod in store.list(Pod, key.namespace):
            if group_key(pod) == object_key(group):
                self._observe_pod(pod, is_deleted=False)

    def _claim_for_group(
        self, store: Store, group: PodGroup, entry: PodGroupResourceClaim, key: Key, now: int
    ) -> str | None:
        """As `_claim_for`, for an entry of a group."""
        known = next((s for s in group.status.resource_claim_statuses if s.name == entry.name), None)
        if known is not None:
            if known.resource_claim_name is None:
                return None
            claim = store.find(ResourceClaim, key.namespace, known.resource_claim_name)
            if claim is not None and _owner_uid(claim) == group.metadata.uid:
                return None
        existing = _claim_owned_by(store, group, entry.name)
        if existing is not None:
            return existing
        template = self._template(store, key, entry.resource_claim_template_name or "")
        return None if template is None else store.create(claim_from(template, group, entry.name), now).metadata.name

    def _template(self, store: Store, key: Key, name: str) -> ResourceClaimTemplate | None:
        """None: who asked is told when it comes."""
        template = store.find(ResourceClaimTemplate, key.namespace, name)
        if template is None:
            self._waiting.setdefault((key.namespace, name), {})[key] = None
        return template

    def _claim_for(
        self, store: Store, pod: Pod, group: PodGroup | None, entry: PodResourceClaim, key: Key, now: int
    ) -> str | None:
        """The name of a claim the pod has not been told of yet; None when there is nothing to tell."""
        known = next((s for s in pod.status.resource_claim_statuses if s.name == entry.name), None)
        if known is not None:
            if known.resource_claim_name is None:
                return None
            claim = store.find(ResourceClaim, key.namespace, known.resource_claim_name)
            if claim is not None and (is_made_for(claim, pod) or _is_made_for_group(claim, group)):
                return None
        if group is not None and has_entry(group, entry):
            # The controller of groups makes it, or nobody, as upstream, where the gate is off.
            return _claim_owned_by(store, group, entry.name) if self._makes_group_claims else None
        existing = _claim_owned_by(store, pod, entry.name)
        if existing is not None:
            return existing
        template = self._template(store, key, entry.resource_claim_template_name or "")
        return None if template is None else store.create(claim_from(template, pod, entry.name), now).metadata.name


def group_of(store: Store, pod: Pod) -> PodGroup | None:
    grouping = pod.spec.scheduling_group
    return None if grouping is None else store.find(PodGroup, pod.metadata.namespace, grouping.pod_group_name)


def names_for_group(group: PodGroup) -> list[str]:
    """The claims that a group uses, as far as they are known."""
    names = [entry.resource_claim_name for entry in group.spec.resource_claims]
    names += [status.resource_claim_name for status in group.status.resource_claim_statuses]
    return [name for name in names if name]


def has_entry(group: PodGroup, entry: PodResourceClaim) -> bool:
    """Whether the group has a claim of that name from the same template."""
    return any(
        (each.name, each.resource_claim_template_name) == (entry.name, entry.resource_claim_template_name)
        for each in group.spec.resource_claims
    )


def _is_made_for_group(claim: ResourceClaim, group: PodGroup | None) -> bool:
    return group is not None and _owner_uid(claim) == group.metadata.uid


def _claim_owned_by(store: Store, owner: Pod | PodGroup, entry_name: str) -> str | None:
    """The claim that was made for an entry of the owner, which may not have been told of it yet."""
    for owned in store.owned_by(owner.metadata.uid):
        if isinstance(owned, ResourceClaim) and owned.metadata.annotations.get(POD_CLAIM_NAME_ANNOTATION) == entry_name:
            return owned.metadata.name
    return None


def claim_from(template: ResourceClaimTemplate, for_whom: Pod | PodGroup, entry_name: str) -> ResourceClaim:
    """The claim that stands for an entry of the pod or group, without a name yet."""
    meta, info = template.spec.metadata, KINDS[type(for_whom).__name__]
    owner = OwnerReference(
        api_version=info.api_version,
        kind=info.kind,
        name=for_whom.metadata.name,
        uid=for_whom.metadata.uid,
        controller=True,
    )
    return ResourceClaim(
        metadata=ObjectMeta(
            generate_name=_base_name(for_whom.metadata.name, entry_name),
            namespace=for_whom.metadata.namespace,
            labels=dict(meta.labels),
            annotations={**meta.annotations, POD_CLAIM_NAME_ANNOTATION: entry_name},
            owner_references=[owner],
        ),
        spec=template.spec.spec,
    )


def _base_name(pod_name: str, entry_name: str) -> str:
    whole = f"{pod_name}-{entry_name}-"
    if len(whole) <= BASE_LENGTH_MAX:
        return whole
    # Both parts are cut, so that something is left of either.
    pod_part = pod_name[: len(pod_name) * BASE_LENGTH_MAX // len(whole)]
    return f"{pod_part}-{entry_name[: len(entry_name) * BASE_LENGTH_MAX // len(whole)]}"


def _told(pod: Pod, made: dict[str, str]) -> Pod:
    kept = [status for status in pod.status.resource_claim_statuses if status.name not in made]
    told = [PodResourceClaimStatus(name=name, resource_claim_name=claim) for name, claim in made.items()]
    return replace(pod, status=replace(pod.status, resource_claim_statuses=[*kept, *told]))


def _group_told(group: PodGroup, made: dict[str, str]) -> PodGroup:
    kept = [status for status in group.status.resource_claim_statuses if status.name not in made]
    told = [PodGroupResourceClaimStatus(name=name, resource_claim_name=claim) for name, claim in made.items()]
    return replace(group, status=replace(group.status, resource_claim_statuses=[*kept, *told]))


def claim_names(pod: Pod) -> list[str]:
    """The claims a pod uses, as far as they are known."""
    names = [entry.resource_claim_name for entry in pod.spec.resource_claims]
    names += [status.resource_claim_name for status in pod.status.resource_claim_statuses]
    if pod.status.extended_resource_claim_status is not None:
        names.append(pod.status.extended_resource_claim_status.resource_claim_name)
    return [name for name in names if name]


def names_in_use(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The claims that entries of the pod stand for, as far as they are known, and whether they were made for it."""
    told = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        name = entry.resource_claim_name
        if name is not None:
            yield name, False
        elif (generated := told.get(entry.name)) is not None:
            yield generated, True


def is_made_for(claim: ResourceClaim, pod: Pod) -> bool:
    return _owner_uid(claim) == pod.metadata.uid


def may_run(pod: Pod) -> bool:
    """Whether the pod still needs its claims."""
    return not is_terminal(pod) and (pod.metadata.deletion_timestamp is None or bool(pod.spec.node_name))


# ---------------------------------------------------------------- claims that are not used any more


def _sync_claim(store: Store, key: Key, now: int) -> None:
    claim = store.find(ResourceClaim, key.namespace, key.name)
    if claim is None:
        return
    remaining = [user for user in claim.status.reserved_for if _is_using(store, claim, user)]
    if len(remaining) < len(claim.status.reserved_for):
        left = left_to(claim, remaining)
        claim = store.modify_status(ResourceClaim, key.namespace, key.name, lambda _: left, now)
        if claim.status.allocation is None:
            claim = _unprotect(store, claim, now)
    elif _is_protected(claim) and claim.metadata.deletion_timestamp is not None and not remaining:
        if claim.status.allocation is not None:
            status = replace(claim.status, allocation=None)
            claim = store.modify_status(
                ResourceClaim, key.namespace, key.name, lambda stored: replace(stored, status=status), now
            )
        _unprotect(store, claim, now)
        return
    if not remaining and claim.metadata.deletion_timestamp is None:
        _delete_if_pointless(store, claim, now)


def _is_using(store: Store, claim: ResourceClaim, user: ResourceClaimConsumerReference) -> bool:
    if user.api_group == SCHEDULING_GROUP and user.resource == POD_GROUPS:
        group = store.find(PodGroup, claim.metadata.namespace, user.name)
        return group is not None and group.metadata.uid == user.uid
    if user.api_group or user.resource != "pods":
        return True  # nothing is known about others
    pod = store.find(Pod, claim.metadata.namespace, user.name)
    return pod is not None and pod.metadata.uid == user.uid and may_run(pod)


def _is_protected(claim: ResourceClaim) -> bool:
    return CLAIM_FINALIZER in claim.metadata.finalizers


def _unprotect(store: Store, claim: ResourceClaim, now: int) -> ResourceClaim:
    if not _is_protected(claim):
        return claim
    finalizers = [name for name in claim.metadata.finalizers if name != CLAIM_FINALIZER]
    meta = claim.metadata
    return store.modify(
        ResourceClaim,
        meta.namespace,
        meta.name,
        lambda stored: replace(stored, metadata=replace(stored.metadata, finalizers=finalizers)),
        now,
    )


def _delete_if_pointless(store: Store, claim: ResourceClaim, now: int) -> None:
    """A claim that was made for a pod which has been replaced or will not run."""
    owner = controller_reference(claim.metadata)
    if owner is None or owner.kind != "Pod":
        return
    pod = store.find(Pod, claim.metadata.namespace, owner.name)
    if pod is not None and (pod.metadata.uid != owner.uid or not may_run(pod)):
        store.delete(ResourceClaim, claim.metadata.namespace, claim.metadata.name, now)


def _owner_uid(claim: ResourceClaim) -> str:
    owner = controller_reference(claim.metadata)
    return owner.uid if owner is not None else ""
