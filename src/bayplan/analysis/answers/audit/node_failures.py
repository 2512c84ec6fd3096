"""What happens if a node fails, tried for every node: does everything that ran there find another place?

The node goes with all its pods. Those that a controller creates again, on any node, are placed anew in the order of the
queue, and so are pods that they evict, until everybody is settled (see `cascade`); then all is put back. Nodes whose
pods certainly fit elsewhere (see `certain_fits`), or nowhere (see `certain_misfits`), need no trial. Daemons and pods
that nobody creates again are gone with their node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from bayplan.analysis.answers.audit.audited import TIED_TO_NODES, Audited, is_recreated, name_of
from bayplan.analysis.answers.audit.cascade import Cascade, Settled, UnplacedPod, can_be_decided, renewed
from bayplan.analysis.answers.audit.certain_fits import CertainFits
from bayplan.analysis.answers.audit.certain_misfits import CertainMisfits
from bayplan.analysis.answers.audit.processes import in_processes
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.controllers.ownership import controller_reference, is_active
from bayplan.core.diagnosis import without_preemption
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod

_EXAMPLES_MAX = 3


@dataclass(slots=True)
class _Loss:
    """What the failure of some nodes means for one workload."""

    nodes: list[str] = field(default_factory=list)
    pods: int = 0  # at the first of them
    message: str = ""  # of the first pod
    victims: list[str] = field(default_factory=list)  # at the first of them


@dataclass(frozen=True, slots=True)
class _Failure:
    """What comes of the failure of one node."""

    node: str
    stranded: list[tuple[str, str]] = field(default_factory=list)  # the owner of a pod, and why it fits nowhere
    evictions: list[tuple[str, str]] = field(default_factory=list)  # the owner of a preemptor, and its victim


def node_failure_findings(audited: Audited) -> Iterator[Finding]:
    """Needs at least two nodes: with one there is no other place."""
    yield from _alone(audited)
    yield from _all_on_one(audited)
    if len(audited.nodes) > 1:
        yield from _tried(audited)


def _alone(audited: Audited) -> Iterator[Finding]:
    for pod in audited.pods:
        if controller_reference(pod.metadata) is None and pod.spec.node_name:
            yield Finding("pod-without-controller", name_of(pod), f"it runs on {pod.spec.node_name} and has no owner")


def _all_on_one(audited: Audited) -> Iterator[Finding]:
    on_nodes: defaultdict[str, list[str]] = defaultdict(list)
    for pod in audited.pods:
        reference = controller_reference(pod.metadata)
        if reference is not None and reference.kind not in TIED_TO_NODES and pod.spec.node_name and is_active(pod):
            on_nodes[audited.owner_name(pod)].append(pod.spec.node_name)
    for owner, nodes in on_nodes.items():
        if len(nodes) > 1 and len(set(nodes)) == 1 and len(audited.nodes) > 1:
            why = f"its {len(nodes)} pods all run on {nodes[0]}"
            yield Finding("one-node-holds-all", owner, why, (nodes[0],))


def _tried(audited: Audited) -> Iterator[Finding]:
    trial = _Trial(audited)
    stranded: defaultdict[str, _Loss] = defaultdict(_Loss)  # by owner
    evicting: defaultdict[str, _Loss] = defaultdict(_Loss)
    nodes = list(audited.nodes)
    for number, failure in enumerate(in_processes(trial.fail, nodes, audited.processes, len(audited.pods))):
        audited.asking.tell("node failures tried", number + 1, len(nodes))
        _note(failure, stranded, evicting)
    for owner, loss in stranded.items():
        fitting = "1 of its pods fits" if loss.pods == 1 else f"{loss.pods:,} of its pods fit"
        effect = f"{fitting} nowhere: {loss.message}"
        yield _finding("node-failure-strands", owner, loss, effect)
    for owner, loss in evicting.items():
        if owner not in stranded:
            yield _finding("node-failure-evicts", owner, loss, f"it gets a node by evicting {_some(loss.victims)}")


def _finding(rule: str, owner: str, loss: _Loss, effect: str) -> Finding:
    return Finding(rule, owner, f"if {_some(loss.nodes)} fails, {effect}", tuple(loss.nodes), effect=effect)


class _Trial:
    """Lets one node after another fail."""

    def __init__(self, audited: Audited) -> None:
        self._audited = audited
        self._cache = audited.cache
        self._certain_misfits = CertainMisfits(audited.asking, self._cache)
        self._cascade = Cascade(audited, self._cache, renewed, self._certain_misfits)
        self._certain_fits = CertainFits(audited.asking, self._cache)
        self._explained: set[str] = set()  # workloads of which it was said why a pod of theirs fits nowhere

    def fail(self, node: str) -> _Failure:
        """Let the node fail, and put everything back."""
        pods = self._to_be_placed(node)
        if all(self._is_stranded_for_sure(new, node) for new in pods):
            return self._failure(node, Settled([(new.pod, "") for new in pods]))
        infos = sorted([new.info for new in pods], key=lambda info: -info.priority)
        may_be_sure = self._certain_fits.may_be_sure(infos)
        sure = self._certain_fits.is_sure_before(node, infos) if may_be_sure else False
        if sure:
            return _Failure(node)
        cache = self._cache
        with cache.trial():
            for key in reversed(self._on_node(node)):
                cache.remove_pod(key)
            cache.remove_node(node)
            if sure is None and self._certain_fits.is_sure_after(infos):
                return _Failure(node)
            settled = self._cascade.settle(pods, self._is_first_of_its_workload)
        return self._failure(node, settled)

    def _is_stranded_for_sure(self, new: UnplacedPod, node: str) -> bool:
        """Whether no other node would take the pod, and nobody has to say why."""
        return self._audited.owner_name(new.pod) in self._explained and self._certain_misfits.is_sure(new.info, node)

    def _is_first_of_its_workload(self, pod: Pod) -> bool:
        """One message for each workload is enough."""
        owner = self._audited.owner_name(pod)
        if owner in self._explained:
            return False
        self._explained.add(owner)
        return True

    def _on_node(self, node: str) -> list[str]:
        """Keys of its pods, in its own order."""
        nodes, keys = self._cache.nodes, self._cache.pods.keys
        return [keys[row] for row in nodes.pod_rows[nodes.rows_by_name[node]]]

    def _to_be_placed(self, node: str) -> list[UnplacedPod]:
        pods = (self._audited.cluster.pods[key] for key in self._on_node(node))
        return [
            self._cascade.new(pod) for pod in pods if is_recreated(pod) and can_be_decided(self._audited.asking, pod)
        ]

    def _failure(self, node: str, settled: Settled) -> _Failure:
        owner_name = self._audited.owner_name
        stranded = [(owner_name(pod), without_preemption(message)) for pod, message in settled.stranded]
        return _Failure(node, stranded, [(owner_name(one), object_key(other)) for one, other in settled.evictions])


def _note(failure: _Failure, stranded: defaultdict[str, _Loss], evicting: defaultdict[str, _Loss]) -> None:
    for owner, message in failure.stranded:
        loss = stranded[owner]
        _count(loss, failure.node)
        loss.pods += len(loss.nodes) == 1
        loss.message = loss.message or message
    for owner, victim in failure.evictions:
        loss = evicting[owner]
        _count(loss, failure.node)
        if len(loss.nodes) == 1:
            loss.victims.append(victim)


def _count(loss: _Loss, node: str) -> None:
    if not loss.nodes or loss.nodes[-1] != node:
        loss.nodes.append(node)


def _some(names: list[str]) -> str:
    """`a`, `a or b`, `a, b, c or d`, `a, b, c or any of 9 others`."""
    if len(names) > _EXAMPLES_MAX + 1:
        return f"{', '.join(names[:_EXAMPLES_MAX])} or any of {len(names) - _EXAMPLES_MAX:,} others"
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
