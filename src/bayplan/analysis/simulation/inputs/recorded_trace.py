"""A trace as it was recorded: which pods arrived when and how long they ran, in a few bytes for each arrival.

Readers of formats add patterns (what pods look like, shared by identical pods) and arrivals (a time, a name and a
pattern). Pods are created on demand, so that a day of arrivals is never in memory as objects. Nothing here reads files
or changes times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from bayplan.controllers.nodes.kubelet import RUN_SECONDS
from bayplan.model.cluster import PriorityClass
from bayplan.model.meta import ObjectMeta, RawQuantity
from bayplan.model.node import Node
from bayplan.model.pod import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from bayplan.model.structs import replace

NAMESPACE: Final = "trace"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NAME_MAX: Final = 253


class RecordedArrival(NamedTuple):
    """A pod that will arrive."""

    seconds: float
    run_seconds: float | None  # None: until it is deleted
    name: str
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Pattern:
    """What identical pods share."""

    spec: PodSpec
    namespace: str = NAMESPACE
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    def pod(self, name: str, run_seconds: float | None) -> Pod:
        """A pod of this pattern, as a client would send it to an API server."""
        annotations = dict(self.annotations)
        if run_seconds is not None:
            annotations[RUN_SECONDS] = str(run_seconds).removesuffix(".0")
        meta = ObjectMeta(name=name, namespace=self.namespace, labels=dict(self.labels), annotations=annotations)
        # The parts of the spec may be shared: defaulting always completes them in the same way.
        return Pod(metadata=meta, spec=replace(self.spec))


@dataclass(slots=True)
class Recording:
    """All of a trace, in the order of its file."""

    nodes: list[Node] = field(default_factory=list)
    arrivals: list[RecordedArrival] = field(default_factory=list)
    classes: list[PriorityClass] = field(default_factory=list)
    classes_elsewhere: dict[str, str] = field(default_factory=dict)  # used but not defined here -> file:line of a use
    _patterns: dict[Hashable, Pattern] = field(default_factory=dict)

    def pattern(self, key: Hashable, make: Callable[[], Pattern]) -> Pattern:
        """The pattern of this key, which is what a format takes for identical; made when the key is new."""
        if key not in self._patterns:
            self._patterns[key] = make()
        return self._patterns[key]


def pod_spec(
    requests: Mapping[str, RawQuantity], class_name: str = "", models: tuple[str, list[str]] | None = None
) -> PodSpec:
    """A pod of one container; `models` is a node label and the values of it that will do."""
    # Kubernetes demands that extended resources have a limit and that it equals the request.
    limits = {name: amount for name, amount in requests.items() if "/" in name}
    resources = ResourceRequirements(requests=dict(requests), limits=limits)
    container = Container(name="main", resources=resources)
    spec = PodSpec(containers=[container], priority_class_name=class_name, restart_policy="Never")
    if models is not None:
        key, values = models
        term = NodeSelectorTerm(match_expressions=[NodeSelectorRequirement(key=key, operator="In", values=values)])
        spec.affinity = Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=[term])))
    return spec


def is_object_name(text: str) -> bool:
    """Whether Kubernetes takes it for the name of a pod or a class."""
    return len(text) <= _NAME_MAX and _NAME.fullmatch(text) is not None and ".." not in text
