"""The builder of pods, which is also that of pod templates.

Requests, limits, ports and the image belong to the first container, called `main`; `container` and `init` add
others. A pod starts out as an API server would have stored it: default scheduler, priority 0, 30 s of grace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from bayplan.model.meta import Condition, RawQuantity
from bayplan.model.pod import (
    Affinity,
    Container,
    ContainerPort,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodResourceClaim,
    PodSchedulingGate,
    PodSchedulingGroup,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from bayplan.model.volumes import (
    EphemeralVolumeSource,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
from bayplan.testing.building import Builder, Time, format_time
from bayplan.testing.selecting import Labels, Selecting, node_term, selector


class PodBuilder(Builder[Pod]):
    """A pod; also the template of a workload."""

    def __init__(self, name: str, namespace: str = "default") -> None:
        super().__init__(Pod(), name, namespace)
        spec = self._object.spec
        spec.scheduler_name = "default-scheduler"
        spec.priority = 0
        spec.preemption_policy = "PreemptLowerPriority"
        spec.termination_grace_period_seconds = 30
        spec.containers = [Container(name="main")]

    def manifest(self) -> Self:
        """As in a file nobody has applied yet; a priority given before this call is taken away as well."""
        spec = self._object.spec
        spec.scheduler_name = ""
        spec.priority = None
        spec.preemption_policy = None
        spec.termination_grace_period_seconds = None
        return super().manifest()

    def in_group(self, name: str) -> Self:
        """A member of the PodGroup of that name."""
        self._object.spec.scheduling_group = PodSchedulingGroup(pod_group_name=name)
        return self

    # What it asks for. These act on the first container; `container` adds others.

    def request(self, given: Mapping[str, RawQuantity] | None = None, /, **quantities: RawQuantity) -> Self:
        self._object.spec.containers[0].resources.requests.update({**(given or {}), **quantities})
        return self

    def limit(self, given: Mapping[str, RawQuantity] | None = None, /, **quantities: RawQuantity) -> Self:
        self._object.spec.containers[0].resources.limits.update({**(given or {}), **quantities})
        return self

    def cpu(self, quantity: RawQuantity) -> Self:
        return self.request(cpu=quantity)

    def memory(self, quantity: RawQuantity) -> Self:
        return self.request(memory=quantity)

    def image(self, name: str) -> Self:
        self._object.spec.containers[0].image = name
        return self

    def port(self, host: int = 0, *, container: int = 0, protocol: str = "TCP", ip: str = "") -> Self:
        opened = ContainerPort(container_port=container or host, host_port=host, protocol=protocol, host_ip=ip)
        self._object.spec.containers[0].ports.append(opened)
        return self

    def container(self, name: str = "", *, image: str = "", **requests: RawQuantity) -> Self:
        containers = self._object.spec.containers
        containers.append(_container(name or f"container-{len(containers)}", image, requests))
        return self

    def init(self, name: str = "", *, image: str = "", sidecar: bool = False, **requests: RawQuantity) -> Self:
        containers = self._object.spec.init_containers
        added = _container(name or f"init-{len(containers)}", image, requests)
        added.restart_policy = "Always" if sidecar else None
        containers.append(added)
        return self

    def overhead(self, **quantities: RawQuantity) -> Self:
        self._object.spec.overhead.update(quantities)
        return self

    def pod_request(self, **quantities: RawQuantity) -> Self:
        self._pod_level().requests.update(quantities)
        return self

    def pod_limit(self, **quantities: RawQuantity) -> Self:
        self._pod_level().limits.update(quantities)
        return self

    def _pod_level(self) -> ResourceRequirements:
        spec = self._object.spec
        spec.resources = spec.resources or ResourceRequirements()
        return spec.resources

    # Where it may go.

    def node_selector(self, given: Labels | None = None, /, **labels: str) -> Self:
        self._object.spec.node_selector.update(given or {}, **labels)
        return self

    def node_affinity(self, *terms: str | NodeSelectorTerm, weight: int | None = None) -> Self:
        """Terms, any of which will do; with a weight, each is a preference."""
        affinity = self._affinity()
        affinity.node_affinity = affinity.node_affinity or NodeAffinity()
        parsed = [node_term(term) if isinstance(term, str) else term for term in terms]
        if weight is None:
            required = affinity.node_affinity.required or NodeSelector()
            required.node_selector_terms.extend(parsed)
            affinity.node_affinity.required = required
        else:
            affinity.node_affinity.preferred.extend(
                PreferredSchedulingTerm(weight=weight, preference=term) for term in parsed
            )
        return self

    def pod_affinity(
        self, topology_key: str, selecting: Selecting | None = None, *, weight: int | None = None, **more: Any
    ) -> Self:
        """Near pods of the selector; with a weight, a preference. `more` are fields of PodAffinityTerm."""
        affinity = self._affinity()
        affinity.pod_affinity = affinity.pod_affinity or PodAffinity()
        _add_term(affinity.pod_affinity, topology_key, selecting, weight, more)
        return self

    def pod_anti_affinity(
        self, topology_key: str, selecting: Selecting | None = None, *, weight: int | None = None, **more: Any
    ) -> Self:
        """Away from pods of the selector; otherwise as `pod_affinity`."""
        affinity = self._affinity()
        affinity.pod_anti_affinity = affinity.pod_anti_affinity or PodAntiAffinity()
        _add_term(affinity.pod_anti_affinity, topology_key, selecting, weight, more)
        return self

    def spread(
        self,
        topology_key: str,
        selecting: Selecting | None = None,
        *,
        max_skew: int = 1,
        when: str = "DoNotSchedule",
        **more: Any,
    ) -> Self:
        """A topology spread constraint; `more` are its other fields (min_domains, match_label_keys, …)."""
        self._object.spec.topology_spread_constraints.append(
            TopologySpreadConstraint(
                max_skew=max_skew,
                topology_key=topology_key,
                when_unsatisfiable=when,
                label_selector=None if selecting is None else selector(selecting),
                **more,
            )
        )
        return self

    def tolerates(
        self,
        key: str = "",
        value: str | None = None,
        effect: str = "",
        *,
        operator: str = "",
        seconds: int | None = None,
    ) -> Self:
        """Without a value, whatever the value."""
        self._object.spec.tolerations.append(
            Toleration(
                key=key,
                operator=operator or ("Exists" if value is None else "Equal"),
                value=value or "",
                effect=effect,
                toleration_seconds=seconds,
            )
        )
        return self

    def resource_claim(self, entry: str, claim: str | None = None, *, template: str | None = None) -> Self:
        """Uses devices by a claim, or by one to be made from a template."""
        used = PodResourceClaim(name=entry, resource_claim_name=claim, resource_claim_template_name=template)
        self._object.spec.resource_claims.append(used)
        return self

    def gate(self, *names: str) -> Self:
        self._object.spec.scheduling_gates.extend(PodSchedulingGate(name=name) for name in names)
        return self

    def host_network(self) -> Self:
        self._object.spec.host_network = True
        return self

    def host_users(self, wanted: bool) -> Self:
        self._object.spec.host_users = wanted
        return self

    def _affinity(self) -> Affinity:
        spec = self._object.spec
        spec.affinity = spec.affinity or Affinity()
        return spec.affinity

    # Storage.

    def volume(self, volume: Volume) -> Self:
        self._object.spec.volumes.append(volume)
        return self

    def claim(self, name: str, *, read_only: bool = False) -> Self:
        source = PersistentVolumeClaimVolumeSource(claim_name=name, read_only=read_only)
        return self.volume(Volume(name=name, persistent_volume_claim=source))

    def ephemeral(self, volume_name: str, template: PersistentVolumeClaimSpec | None = None) -> Self:
        """A generic ephemeral volume; its claim is called `<pod>-<volume>`."""
        made = PersistentVolumeClaimTemplate(spec=template or PersistentVolumeClaimSpec())
        source = EphemeralVolumeSource(volume_claim_template=made)
        return self.volume(Volume(name=volume_name, ephemeral=source))

    # Its importance, and what has become of it.

    def scheduler(self, name: str) -> Self:
        self._object.spec.scheduler_name = name
        return self

    def priority(self, value: int | None, *, class_name: str = "", policy: str | None = None) -> Self:
        spec = self._object.spec
        spec.priority = value
        spec.priority_class_name = class_name or spec.priority_class_name
        spec.preemption_policy = policy or spec.preemption_policy
        return self

    def priority_class(self, name: str) -> Self:
        self._object.spec.priority_class_name = name
        return self

    def never_preempts(self) -> Self:
        self._object.spec.preemption_policy = "Never"
        return self

    def grace(self, seconds: int) -> Self:
        self._object.spec.termination_grace_period_seconds = seconds
        return self

    def node(self, name: str) -> Self:
        """Bound to a node."""
        self._object.spec.node_name = name
        return self

    def running(self, node_name: str, since: Time | None = None) -> Self:
        """Bound, started and ready."""
        self.node(node_name).phase("Running").condition("Ready", "True")
        return self if since is None else self.started(since)

    def started(self, time: Time) -> Self:
        self._object.status.start_time = format_time(time)
        return self

    def nominated(self, node_name: str) -> Self:
        self._object.status.nominated_node_name = node_name
        return self

    def phase(self, phase: str) -> Self:
        self._object.status.phase = phase
        return self

    def condition(self, kind: str, status: str = "True", reason: str = "", message: str = "") -> Self:
        self._object.status.conditions.append(Condition(type=kind, status=status, reason=reason, message=message))
        return self


def _container(name: str, image: str, requests: Mapping[str, RawQuantity]) -> Container:
    return Container(name=name, image=image, resources=ResourceRequirements(requests=dict(requests)))


def _add_term(
    affinity: PodAffinity | PodAntiAffinity,
    topology_key: str,
    selecting: Selecting | None,
    weight: int | None,
    more: Mapping[str, Any],
) -> None:
    fields = dict(more)
    if "namespace_selector" in fields:
        fields["namespace_selector"] = selector(fields["namespace_selector"])
    term = PodAffinityTerm(
        topology_key=topology_key, label_selector=None if selecting is None else selector(selecting), **fields
    )
    if weight is None:
        affinity.required.append(term)
    else:
        affinity.preferred.append(WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term))
