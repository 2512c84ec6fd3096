"""HorizontalPodAutoscalers: every 15 seconds, as many replicas as the use of CPU and memory asks for.

Scaling up is at once, at most to twice the replicas or four; down only to the highest number of the last five minutes,
or of the time that `behavior` says. The policies of `behavior` and other metrics than resources are not simulated.
Upstream: pkg/controller/podautoscaler/horizontal.go (v1.36).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.registry.scaling import ScalePaths, scale_of, scaled
from bayplan.apiserver.schema.resources import RESOURCES, Resource
from bayplan.apiserver.selecting.label_selectors import parse_label_selector
from bayplan.apiserver.statuses.autoscaling import MetricProposal, NoMetricError, proposal_of
from bayplan.apiserver.statuses.pods import dated
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.conditions import FALSE, TRUE
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError

AUTOSCALERS: Final = next(one for one in RESOURCES if one.api_version == "autoscaling/v2")
_PERIOD_NS: Final = 15 * SECOND
_DOWN_SECONDS: Final = 300
_ABLE, _ACTIVE, _LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"
_WITHIN_RANGE: Final = (FALSE, "DesiredWithinRange", "the desired count is within the acceptable range")
_HELD_DOWN: Final = (
    *(TRUE, "ScaleDownStabilized"),
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_HELD_UP: Final = (
    *(TRUE, "ScaleUpStabilized"),
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)


class _Target(NamedTuple):
    """What is scaled."""

    resource: Resource
    document: Document
    paths: ScalePaths

    @property
    def scale(self) -> Document:
        return scale_of(self.document, self.paths)


class _Conclusion(NamedTuple):
    """How many replicas there are to be, None if that cannot be told, and what is said about it."""

    replicas: int | None
    said: dict[str, tuple[str, str, str]]
    measured: tuple[Document, ...] = ()


class PodAutoscaling:
    """Scales what autoscalers name."""

    def __init__(self) -> None:
        self._autoscalers: dict[tuple[str, str], None] = {}
        self._recent: dict[str, list[tuple[int, int]]] = {}
        """By uid, proposals of the last minutes, with their times."""
        self._due_at = 0

    def observe(self, change: DocumentChange) -> None:
        if change.resource != AUTOSCALERS.qualified_resource:
            return
        key = (change.new.namespace, change.new.name)
        if change.type == DELETED:
            self._autoscalers.pop(key, None)
            self._recent.pop(change.new.document["metadata"]["uid"], None)
        else:
            self._autoscalers[key] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        if now < self._due_at or not self._autoscalers:
            return
        self._due_at = now + _PERIOD_NS
        for namespace, name in self._autoscalers:
            autoscaler = registry.find(AUTOSCALERS, namespace, name)
            if autoscaler is not None:
                with suppress(ApiError):
                    self._sync(registry, autoscaler, now)

    def _sync(self, registry: Registry, autoscaler: Document, now: int) -> None:
        target = _target_of(registry, autoscaler)
        if isinstance(target, str):
            why = f"the HPA controller was unable to get the target's current scale: {target}"
            _report(registry, autoscaler, _Conclusion(None, {_ABLE: (FALSE, "FailedGetScale", why)}), None, now)
            return
        replicas = target.scale["spec"].get("replicas", 0)
        conclusion = self._concluded(registry, autoscaler, target, replicas, now)
        wished = conclusion.replicas
        if wished is not None and wished != replicas:
            meta = target.document["metadata"]
            scale = {"spec": {"replicas": wished}}
            registry.update(
                target.resource,
                meta["namespace"],
                meta["name"],
                lambda stored: scaled(stored, scale, target.paths),
                OPTIONS,
                now,
            )
        _report(registry, autoscaler, conclusion, replicas, now)

    def _concluded(
        self, registry: Registry, autoscaler: Document, target: _Target, replicas: int, now: int
    ) -> _Conclusion:
        spec = autoscaler["spec"]
        least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
        able = (TRUE, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
        if replicas == 0 and least:
            why = "scaling is disabled since the replica count of the target is zero"
            return _Conclusion(None, {_ABLE: able, _ACTIVE: (FALSE, "ScalingDisabled", why)})
        if not least <= replicas <= most:
            return _Conclusion(*_rescaled(max(least, min(replicas, most)), {_ABLE: able}))
        try:
            best, measured = _proposed(registry, autoscaler, target, replicas)
        except NoMetricError as error:
            reason, message = error.args
            why = f"the HPA was unable to compute the replica count: {message}"
            return _Conclusion(None, {_ABLE: able, _ACTIVE: (FALSE, reason, why)})
        found = f"the HPA was able to successfully calculate a replica count from {best.metric}"
        said = {_ABLE: (TRUE, "ReadyForNewScale", "recommended size matches current size")}
        said[_ACTIVE] = (TRUE, "ValidMetricFound", found)
        stable = self._stabilized(autoscaler, best.replicas, replicas, now)
        if stable != best.replicas:
            said[_ABLE] = _HELD_DOWN if stable > best.replicas else _HELD_UP
        wished, said[_LIMITED] = _limited(stable, replicas, least, most)
        made, said = _rescaled(wished, said) if wished != replicas else (wished, said)
        return _Conclusion(made, said, measured)

    def _stabilized(self, autoscaler: Document, wished: int, replicas: int, now: int) -> int:
        """Not below the highest, nor above the lowest number that was proposed of late."""
        behavior = autoscaler["spec"].get("behavior") or {}
        down, up = behavior.get("scaleDown") or {}, behavior.get("scaleUp") or {}
        down_ns = (_DOWN_SECONDS if (seconds := down.get("stabilizationWindowSeconds")) is None else seconds) * SECOND
        up_ns = (up.get("stabilizationWindowSeconds") or 0) * SECOND
        uid = autoscaler["metadata"]["uid"]
        recent = [(at, number) for at, number in self._recent.get(uid, []) if at > now - max(down_ns, up_ns)]
        self._recent[uid] = [*recent, (now, wished)]
        floor = max([wished, *(number for at, number in recent if at > now - down_ns)])
        ceiling = min([wished, *(number for at, number in recent if at > now - up_ns)])
        if wished < replicas:
            return replicas if down.get("selectPolicy") == "Disabled" else min(replicas, floor)
        return replicas if up.get("selectPolicy") == "Disabled" else max(replicas, ceiling)


def _rescaled(wished: int, said: dict[str, tuple[str, str, str]]) -> tuple[int, dict[str, tuple[str, str, str]]]:
    why = f"the HPA controller was able to update the target scale to {wished}"
    return wished, {**said, _ABLE: (TRUE, "SucceededRescale", why)}


def _target_of(registry: Registry, autoscaler: Document) -> _Target | str:
    """What is scaled, or why it cannot be."""
    reference, namespace = autoscaler["spec"]["scaleTargetRef"], autoscaler["metadata"]["namespace"]
    resource = registry.catalogue.of_kind(reference.get("apiVersion", "v1"), reference["kind"])
    if resource is None or resource.subresource("scale") is None:
        return f'no matches for kind "{reference["kind"]}" in version "{reference.get("apiVersion", "")}"'
    document = registry.find(resource, namespace, reference["name"])
    if document is None:
        return f'{resource.qualified_resource} "{reference["name"]}" not found'
    return _Target(resource, document, registry.definitions.scale_paths(resource))


def _proposed(
    registry: Registry, autoscaler: Document, target: _Target, replicas: int
) -> tuple[MetricProposal, tuple[Document, ...]]:
    """The highest proposal of all metrics; one that cannot be had is no reason to scale down."""
    selector = parse_label_selector(target.scale["status"].get("selector", ""))
    listed = registry.list(PODS, autoscaler["metadata"]["namespace"])
    pods = [pod for pod in listed if selector.matches(pod["metadata"].get("labels") or {})]
    proposals, failures = [], []
    for metric in autoscaler["spec"].get("metrics") or ():
        try:
            proposals.append(proposal_of(metric, pods, replicas))
        except NoMetricError as error:
            failures.append(error)
    best = max(proposals, key=lambda proposal: proposal.replicas, default=None)
    if best is None or (failures and best.replicas < replicas):
        raise failures[0] if failures else NoMetricError("InvalidMetricSourceType", "no metrics")
    return best, tuple(proposal.current for proposal in proposals)


def _limited(wished: int, replicas: int, least: int, most: int) -> tuple[int, tuple[str, str, str]]:
    """As much of it as may be at once, and what keeps it from more."""
    fastest = max(2 * replicas, 4)
    if wished > min(most, fastest):
        if fastest < most:
            why = "the desired replica count is increasing faster than the maximum scale rate"
            return fastest, (TRUE, "ScaleUpLimit", why)
        return most, (TRUE, "TooManyReplicas", "the desired replica count is more than the maximum replica count")
    if wished < least:
        return least, (TRUE, "TooFewReplicas", "the desired replica count is less than the minimum replica count")
    return wished, _WITHIN_RANGE


def _report(registry: Registry, autoscaler: Document, conclusion: _Conclusion, replicas: int | None, now: int) -> None:
    meta, time = autoscaler["metadata"], format_time(now)

    def wish(stored: Document) -> Document:
        status = stored.get("status") or {}
        standing = {known["type"]: known for known in status.get("conditions") or ()}
        for kind, (value, reason, message) in conclusion.said.items():
            said = {"type": kind, "status": value, "reason": reason, "message": message}
            made = dated(said, standing.get(kind), time)
            made.pop("lastProbeTime")
            standing[kind] = made
        changes: Document = {"conditions": [*standing.values()]}
        if "generation" in meta:
            changes["observedGeneration"] = meta["generation"]
        if replicas is not None:
            desired = replicas if conclusion.replicas is None else conclusion.replicas
            changes |= {"currentReplicas": replicas, "desiredReplicas": desired}
            if desired != replicas:
                changes["lastScaleTime"] = time
        if conclusion.measured:
            changes["currentMetrics"] = [*conclusion.measured]
        return {**stored, "status": {**status, **changes}}

    registry.update(AUTOSCALERS, meta["namespace"], meta["name"], wish, OPTIONS, now, subresource="status")
