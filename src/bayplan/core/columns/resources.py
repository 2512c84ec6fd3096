"""What pods ask for and what nodes have, as whole numbers for each resource name.

Takes pods and maps of raw quantities; gives milli-cores for cpu and whole units (bytes, devices) for all
else. Quantities of one pod are added and compared exactly, in nano units, and rounded up once for each pod.
Every dictionary keeps a name that was written with the amount 0, as 0 and absent differ where defaults are
filled in. A key other than cpu, memory and ephemeral-storage is a scalar, so a pod without scalar requests is
one without such keys. Does not sum over pods, and knows nothing of device claims.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

from bayplan.core.columns.vocabulary import Vocabulary
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.release import Release
from bayplan.model.conditions import find_condition
from bayplan.model.meta import RawQuantity
from bayplan.model.pod import Container, Pod, PodSpec
from bayplan.model.quantity import milli_quantity, milli_value, parse_quantity, whole_quantity, whole_value
from bayplan.model.structs import Struct

CPU = 0
MEMORY = 1
EPHEMERAL_STORAGE = 2

CPU_NAME = "cpu"
MEMORY_NAME = "memory"
EPHEMERAL_STORAGE_NAME = "ephemeral-storage"
BASIC_NAMES = (CPU_NAME, MEMORY_NAME, EPHEMERAL_STORAGE_NAME)
PODS_NAME = "pods"

# What the scorers suppose of a container that does not say what it needs. Upstream: util/pod_resources.go.
DEFAULT_CPU_MILLI = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024

# The pods of a cluster come from few templates; this is far above the number of templates and far below the
# number of pods of the largest clusters, so that neither time nor memory is spent twice on the same requests.
_REMEMBERED_SHAPES = 1 << 10

_QUALIFIED_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

NanoAmounts: TypeAlias = dict[str, int]
RawItems: TypeAlias = tuple[tuple[str, RawQuantity], ...]

_DEFAULTS_NANO: NanoAmounts = {
    CPU_NAME: DEFAULT_CPU_MILLI * 10**6,
    MEMORY_NAME: DEFAULT_MEMORY_BYTES * 10**9,
}
_NO_DEFAULTS: NanoAmounts = {}


class ResourceVocabulary(Vocabulary[str]):
    """Resource names and their columns: the basic three first, then scalars in the order of first sight.

    Nodes use the names they offer, pods and shapes of pods those they ask for. The vocabulary owns the width of every
    table with a column for each resource: they are widened together. A column that no name has holds zeros.
    """

    __slots__ = ("_widen",)

    def __init__(self) -> None:
        super().__init__(blank="")
        self._widen: list[Callable[[int], None]] = []
        for name in BASIC_NAMES:
            self.take(name)

    def on_new_width(self, widen: Callable[[int], None]) -> None:
        """Call `widen` with the number of resources, now and whenever it grows."""
        self._widen.append(widen)
        widen(len(self))

    def take(self, value: str) -> int:
        width = len(self)
        resource = super().take(value)
        if len(self) > width:
            for widen in self._widen:
                widen(len(self))
        return resource


class PodRequests(Struct, frozen=True):
    """What one pod asks for, as each reader of it counts.

    The dictionaries are shared between pods with the same requests: read them, never write to them.

    Attributes:
        asked: what NodeResourcesFit looks for on a node: from the spec alone, with pod-level requests.
        used: what the pod takes from the node it is on: as `asked`, with what a resize in place reports.
        nonzero_cpu_milli: as `used`, with a default for each container that does not mention cpu; in a pod
            with pod-level requests only if cpu is mentioned nowhere.
        nonzero_memory_bytes: as `used`, with a default for each container that does not mention memory.
        scored: what the NodeResourcesFit score adds to a node: from the spec, blind to pod-level requests,
            with a default for each container that does not mention cpu or memory.
    """

    asked: dict[str, int]
    used: dict[str, int]
    nonzero_cpu_milli: int
    nonzero_memory_bytes: int
    scored: dict[str, int]

    def distinct(self) -> tuple[object, ...]:
        """All that it says; most pods say the same to every reader."""
        if self.used is self.asked is self.scored:
            return (self.asked,)
        return self.asked, self.used, self.nonzero_cpu_milli, self.nonzero_memory_bytes, self.scored


def pod_requests(pod: Pod, gates: FeatureGates) -> PodRequests:
    """The requests of `pod`, for every reader at once."""
    if status_agrees(pod, gates.release):
        return requests_of_spec(pod.spec, gates)
    return _requests_with_status(pod, _shape(pod.spec, gates), gates)


def requests_of_spec(spec: PodSpec, gates: FeatureGates) -> PodRequests:
    """The requests of a pod whose status says nothing else."""
    if len(spec.containers) == 1 and not (spec.init_containers or spec.resources or spec.overhead):
        return _requests_of_container(tuple(spec.containers[0].resources.requests.items()))
    return _requests_of_shape(_shape(spec, gates))


def allocatable_amounts(raw: Mapping[str, RawQuantity]) -> tuple[dict[str, int], int]:
    """The amounts of the resources that count, and how many pods a node admits (0 if it does not say)."""
    allowed_pods = whole_value(parse_quantity(raw[PODS_NAME])) if PODS_NAME in raw else 0
    return _rounded(_nano_amounts(raw.items())), allowed_pods


def amount(name: str, nano: int) -> int:
    """`nano` in the unit in which `name` is counted: milli-cores, or whole ones; rounded up."""
    return milli_value(nano) if name == CPU_NAME else whole_value(nano)


@lru_cache(maxsize=1024)
def is_scalar_resource(name: str) -> bool:
    """Whether `name` is counted beside cpu, memory and ephemeral-storage."""
    return (
        name.startswith(("hugepages-", "attachable-volumes-"))
        # Anywhere in the name, not only as its domain.
        or "kubernetes.io/" in name
        or is_extended_resource(name)
    )


@lru_cache(maxsize=1024)
def is_extended_resource(name: str) -> bool:
    """Whether `name` belongs to a vendor: it has a domain, and that is not one of Kubernetes itself."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    # A quota must be able to name it, hence the test of the name that a quota would use.
    return _is_qualified_name("requests." + name)


def _is_qualified_name(name: str) -> bool:
    prefix, slash, last = name.rpartition("/")
    if slash and (len(prefix) > 253 or not _QUALIFIED_PREFIX.fullmatch(prefix)):
        return False
    return len(last) <= 63 and _QUALIFIED_NAME.fullmatch(last) is not None


# ---------------------------------------------------------------- from the spec, and from the status


class _Shape(NamedTuple):
    """All that a spec says of resources, as written; equal for pods of one template."""

    containers: tuple[RawItems, ...]
    init_containers: tuple[tuple[bool, RawItems], ...]  # (restartable, requests)
    pod_level: RawItems
    overhead: RawItems


class _Demand(NamedTuple):
    """The parts a total is made of, before any default."""

    containers: list[NanoAmounts]
    init_containers: list[tuple[bool, NanoAmounts]]  # (restartable, amounts), in the order of the spec
    pod_level: NanoAmounts


def _shape(spec: PodSpec, gates: FeatureGates) -> _Shape:
    pod_level = spec.resources.requests if spec.resources is not None and gates.pod_level_resources else {}
    return _Shape(
        tuple([tuple(container.resources.requests.items()) for container in spec.containers]),
        tuple([(_is_restartable(c), tuple(c.resources.requests.items())) for c in spec.init_containers]),
        tuple(pod_level.items()),
        tuple(spec.overhead.items()),
    )


@lru_cache(maxsize=_REMEMBERED_SHAPES)
def _requests_of_container(items: RawItems) -> PodRequests:
    """Of a pod with one container and nothing else that counts."""
    asked = {
        name: milli_quantity(raw) if name == CPU_NAME else whole_quantity(raw)
        for name, raw in items
        if name in BASIC_NAMES or is_scalar_resource(name)
    }
    if CPU_NAME in asked and MEMORY_NAME in asked:  # no default can show, so all count the same
        return PodRequests(asked, asked, asked[CPU_NAME], asked[MEMORY_NAME], asked)
    return _requests_of_shape(_Shape((items,), (), (), ()))


@lru_cache(maxsize=_REMEMBERED_SHAPES)
def _requests_of_shape(shape: _Shape) -> PodRequests:
    return _requests(_specified_demand(shape), _few_nano_amounts(shape.overhead))


def _requests_with_status(pod: Pod, shape: _Shape, gates: FeatureGates) -> PodRequests:
    specified, overhead = _specified_demand(shape), _nano_amounts(shape.overhead)
    if gates.release.counts_resize_by_pod:
        return _requests(specified, overhead, partial(_largest_total, pod, specified, overhead, gates))
    return _requests(specified, overhead, partial(_total, _reported_demand(pod, specified, gates), overhead))


def _specified_demand(shape: _Shape) -> _Demand:
    return _Demand(
        [_nano_amounts(items) for items in shape.containers],
        [(restartable, _nano_amounts(items)) for restartable, items in shape.init_containers],
        _pod_level_amounts(_few_nano_amounts(shape.pod_level)),
    )


def _reported_demand(pod: Pod, specified: _Demand, gates: FeatureGates) -> _Demand:
    """`specified`, raised to what the status says the node holds for the pod while a resize is under way.

    Container by container, as up to v1.36.
    """
    spec, status = pod.spec, pod.status
    statuses = {s.name: s for s in (*status.container_statuses, *status.init_container_statuses)}
    infeasible = _is_resize_infeasible(pod)

    def reported(container: Container, amounts: NanoAmounts) -> NanoAmounts:
        found = statuses.get(container.name)
        if found is None or found.resources is None:
            return amounts
        return _held(amounts, found.resources.requests, found.allocated_resources, infeasible)

    pod_level = specified.pod_level
    if pod_level and status.resources is not None and gates.in_place_pod_level_resources_vertical_scaling:
        held = _held(pod_level, status.resources.requests, status.allocated_resources, infeasible)
        # The status adds nothing that the spec does not name, and what it lacks counts as 0.
        pod_level = {name: held.get(name, 0) for name in pod_level}
    return _Demand(
        [reported(c, amounts) for c, amounts in zip(spec.containers, specified.containers, strict=True)],
        [
            # An ordinary init container cannot be resized: for it the spec is the truth.
            (restartable, reported(c, amounts) if restartable else amounts)
            for c, (restartable, amounts) in zip(spec.init_containers, specified.init_containers, strict=True)
        ],
        pod_level,
    )


def _largest_total(
    pod: Pod, specified: _Demand, overhead: NanoAmounts, gates: FeatureGates, defaults: NanoAmounts
) -> NanoAmounts:
    """The largest of what a pod in resize wants, was promised and has, each for the whole pod (since v1.37)."""
    status, infeasible = pod.status, _is_resize_infeasible(pod)
    follows_pod = gates.in_place_pod_level_resources_vertical_scaling
    promised, actual = status.allocated_resources, status.resources.requests if status.resources is not None else None
    if follows_pod and promised is not None and actual is not None:
        totals = [_nano_amounts(promised.items()), _nano_amounts(actual.items())]
    else:
        totals = [_of_containers(demand, defaults) for demand in _promised_and_actual(pod, specified, infeasible)]
    if not infeasible:
        totals.append(_of_containers(specified, defaults))
    pod_level = specified.pod_level
    if pod_level and status.resources is not None and follows_pod:
        pod_level = _held(pod_level, status.resources.requests, status.allocated_resources, infeasible)
    return _with_pod_level(_largest(totals), _pod_level_amounts(pod_level), overhead)


def _promised_and_actual(pod: Pod, specified: _Demand, infeasible: bool) -> tuple[_Demand, _Demand]:
    """What the status says of containers; of one it does not mention, what the spec says, if that can come true."""
    statuses = {s.name: s for s in (*pod.status.init_container_statuses, *pod.status.container_statuses)}

    def promised(container: Container, amounts: NanoAmounts) -> NanoAmounts:
        found = statuses.get(container.name)
        if found is not None and found.allocated_resources is not None:
            return _nano_amounts(found.allocated_resources.items())
        return {} if infeasible else amounts

    def actual(container: Container, amounts: NanoAmounts) -> NanoAmounts:
        found = statuses.get(container.name)
        if found is not None and found.resources is not None and found.resources.requests is not None:
            return _nano_amounts(found.resources.requests.items())
        return promised(container, amounts)

    def demand(of: Callable[[Container, NanoAmounts], NanoAmounts]) -> _Demand:
        containers = zip(pod.spec.containers, specified.containers, strict=True)
        starting = zip(pod.spec.init_containers, specified.init_containers, strict=True)
        return _Demand(
            [of(container, amounts) for container, amounts in containers],
            [(restartable, of(container, amounts)) for container, (restartable, amounts) in starting],
            {},
        )

    return demand(promised), demand(actual)


def _held(
    specified: NanoAmounts,
    actual: Mapping[str, RawQuantity] | None,
    allocated: Mapping[str, RawQuantity] | None,
    infeasible: bool,
) -> NanoAmounts:
    reported = [_nano_amounts((amounts or {}).items()) for amounts in (actual, allocated)]
    # A resize that will never happen does not reserve what it wants.
    return _largest(reported if infeasible else [specified, *reported])


def status_agrees(pod: Pod, release: Release) -> bool:
    """Whether the status repeats the spec to the letter, which is how almost every running pod looks.

    False does not mean that the amounts differ, only that the long way is needed to know.
    """
    spec, status = pod.spec, pod.status
    by_pod = release.counts_resize_by_pod
    if by_pod and (
        status.resources is not None or status.allocated_resources is not None or _is_resize_infeasible(pod)
    ):
        return False
    if (
        status.resources is not None
        and spec.resources is not None
        and not _repeats(spec.resources.requests, status.resources.requests, status.allocated_resources)
    ):
        return False
    statuses = status.container_statuses
    if status.init_container_statuses:
        statuses = statuses + status.init_container_statuses
    if not statuses:
        return True
    specified = {c.name: c.resources.requests for c in spec.containers}
    specified.update((c.name, c.resources.requests) for c in spec.init_containers)
    return all(
        (s.resources is None and (not by_pod or s.allocated_resources is None))
        or s.name not in specified
        or _repeats(specified[s.name], s.resources.requests if s.resources else None, s.allocated_resources)
        for s in statuses
    )


def _repeats(
    specified: Mapping[str, RawQuantity],
    actual: Mapping[str, RawQuantity] | None,
    allocated: Mapping[str, RawQuantity] | None,
) -> bool:
    # Whether empty means "nothing reported" depends on the version, so an empty one agrees with nothing but itself.
    return actual == specified and (allocated is None or allocated == specified)


def _is_resize_infeasible(pod: Pod) -> bool:
    # The first condition of the type decides. Upstream: component-helpers/resource IsPodResizeInfeasible.
    condition = find_condition(pod.status.conditions, "PodResizePending")
    return condition is not None and condition.reason == "Infeasible"


def _is_restartable(init_container: Container) -> bool:
    return init_container.restart_policy == "Always"


# ---------------------------------------------------------------- totals


def _requests(
    specified: _Demand, overhead: NanoAmounts, held: Callable[[NanoAmounts], NanoAmounts] | None = None
) -> PodRequests:
    """Every reader's count; `held` gives the total that the node holds, None where that is what the spec says."""
    asked = _rounded(_total(specified, overhead, _NO_DEFAULTS))
    used = asked if held is None else _rounded(held(_NO_DEFAULTS))
    if not specified.pod_level and _is_complete(specified):
        scored = asked
    else:
        scored = _rounded(_total(specified._replace(pod_level={}), overhead, _DEFAULTS_NANO))
    if held is None and not specified.pod_level:
        nonzero = scored
    else:
        defaults = _armed_defaults(used) if specified.pod_level else _DEFAULTS_NANO
        nonzero = _rounded(_total(specified, overhead, defaults) if held is None else held(defaults))
    return PodRequests(asked, used, nonzero.get(CPU_NAME, 0), nonzero.get(MEMORY_NAME, 0), scored)


def _is_complete(demand: _Demand) -> bool:
    """Whether every container says what it needs, so that no default can show."""
    every = [*demand.containers, *(amounts for _, amounts in demand.init_containers)]
    return all(CPU_NAME in amounts and MEMORY_NAME in amounts for amounts in every)


def _armed_defaults(used: Mapping[str, int]) -> NanoAmounts:
    # A pod that states its needs as a whole gets a default only for what nobody in it mentions.
    # Upstream: pkg/scheduler/framework/types.go getNonMissingContainerRequests.
    return {name: nano for name, nano in _DEFAULTS_NANO.items() if name not in used}


def _total(demand: _Demand, overhead: NanoAmounts, defaults: NanoAmounts) -> NanoAmounts:
    """The need at the greediest moment, replaced by what is set for the pod as a whole, plus overhead."""
    return _with_pod_level(_of_containers(demand, defaults), demand.pod_level, overhead)


def _with_pod_level(of_containers: NanoAmounts, pod_level: NanoAmounts, overhead: NanoAmounts) -> NanoAmounts:
    of_containers.update(pod_level)
    _add(of_containers, overhead, _NO_DEFAULTS)
    return of_containers


def _of_containers(demand: _Demand, defaults: NanoAmounts) -> NanoAmounts:
    """The need of all containers at the greediest moment."""
    running: NanoAmounts = {}
    for amounts in demand.containers:
        _add(running, amounts, defaults)
    if demand.init_containers:
        sidecars: NanoAmounts = {}
        # The start of a sidecar is no such moment: all sidecars beside the containers need no less.
        starts: list[NanoAmounts] = []
        for restartable, amounts in demand.init_containers:
            if restartable:
                _add(running, amounts, defaults)
                _add(sidecars, amounts, defaults)
            else:
                starts.append(dict(sidecars))
                _add(starts[-1], amounts, defaults)
        running = _largest([running, *starts])
    return running


def _add(total: NanoAmounts, amounts: NanoAmounts, defaults: NanoAmounts) -> None:
    for name, nano in amounts.items():
        total[name] = total.get(name, 0) + nano
    for name, nano in defaults.items():
        if name not in amounts:
            total[name] = total.get(name, 0) + nano


def _largest(alternatives: Iterable[NanoAmounts]) -> NanoAmounts:
    largest: NanoAmounts = {}
    for amounts in alternatives:
        for name, nano in amounts.items():
            if name not in largest or nano > largest[name]:
                largest[name] = nano
    return largest


def _pod_level_amounts(amounts: NanoAmounts) -> NanoAmounts:
    """The part of `amounts` that may be set for a pod as a whole."""
    return {
        name: nano for name, nano in amounts.items() if name in (CPU_NAME, MEMORY_NAME) or name.startswith("hugepages-")
    }


def _nano_amounts(items: Iterable[tuple[str, RawQuantity]]) -> NanoAmounts:
    """The exact amounts of the resources that count; upstream drops all others without a word, too."""
    return {name: parse_quantity(raw) for name, raw in items if name in BASIC_NAMES or is_scalar_resource(name)}


def _few_nano_amounts(items: RawItems) -> NanoAmounts:
    """As `_nano_amounts`, for a field that is mostly empty."""
    return _nano_amounts(items) if items else {}


def _rounded(amounts: NanoAmounts) -> dict[str, int]:
    return {name: amount(name, nano) for name, nano in amounts.items()}
