"""One pod and a cache to try it in: as it is, edited, and with things around it changed for a moment.

Whatever is changed in the cache is put back as it was, down to the order of the pods on a node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy

from bayplan.analysis.answers.exposure.probing import ProbeOutcome, decided
from bayplan.analysis.answers.fixing.edits import Edit
from bayplan.core.cache import Cache
from bayplan.core.cycle import attempt
from bayplan.core.filtering import filter_pod
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodSpec


class Trying:
    """Tries one pod."""

    def __init__(
        self,
        cache: Cache,
        profile: Profile,
        pod: Pod,
        nodes: Iterable[Node],
        pods: Mapping[str, Pod],
        pending: int = 1,
    ) -> None:
        """`pending` is how many pods like this one wait for a node, itself included."""
        self.cache = cache
        self.pod = pod
        self.nodes = {node.metadata.name: node for node in nodes}
        self._profile = profile
        self._pods = pods
        self.pending = pending

    def fits(self, edits: Iterable[Edit]) -> bool:
        """Whether some node takes the pod with these edits, without anybody going."""
        info = self.cache.info(self._edited(edits))
        try:
            return len(filter_pod(self._profile, info, self.cache.view()).feasible_rows) > 0
        except CycleError:
            return False

    def all_fit(self, edits: Sequence[Edit], count: int) -> bool:
        """Whether this many pods with these edits get a node, one after another, without anybody going."""
        placed: list[str] = []
        try:
            for number in range(count):
                outcome = self.decide(edits)
                if not outcome.node or outcome.victims:
                    return False
                placed.append(self._add_copy(edits, outcome.node, number))
        finally:
            for key in reversed(placed):
                self.cache.remove_pod(key)
        return True

    def _add_copy(self, edits: Iterable[Edit], node: str, number: int) -> str:
        made = deepcopy(self._edited(edits))
        made.metadata.name = f"{made.metadata.name}-copy-{number}"
        made.metadata.uid = ""
        made.spec.node_name = node
        return self.cache.add_pod(made).key

    def decide(self, edits: Iterable[Edit]) -> ProbeOutcome:
        """Where the scheduler puts the pod with these edits, and who goes for it."""
        return decided(self.cache, self._profile, self.cache.info(self._edited(edits)))

    def held_back(self, edits: Iterable[Edit]) -> str:
        """Why the pod is not even tried; "" if it is."""
        return run_pre_enqueue(self._profile.pre_enqueue, self.cache.info(self._edited(edits))).message

    def message(self, edits: Iterable[Edit]) -> str:
        """Why the pod fits nowhere."""
        return attempt(self._profile, self.cache.info(self._edited(edits)), self.cache.view()).message

    def spec(self, edits: Iterable[Edit]) -> PodSpec:
        return edited_spec(self.pod.spec, edits)

    def _edited(self, edits: Iterable[Edit]) -> Pod:
        changed = copy(self.pod)
        changed.spec = self.spec(edits)
        return changed

    @contextmanager
    def changed_node(self, node: Node) -> Iterator[None]:
        """While a node is another one."""
        self.cache.add_node(node)
        try:
            yield
        finally:
            self.cache.add_node(self.nodes[node.metadata.name])

    @contextmanager
    def new_node(self, node: Node, pods: Iterable[Pod]) -> Iterator[None]:
        """While there is one more node, with these pods on it."""
        self.cache.add_node(node)
        infos = [self.cache.add_pod(pod) for pod in pods]
        try:
            yield
        finally:
            for info in infos:
                self.cache.remove_pod(info.key)
            self.cache.remove_node(node.metadata.name)

    @contextmanager
    def objects_there(self, objects: Sequence[Object]) -> Iterator[None]:
        """While there are these objects, whatever is there in their place otherwise."""
        held = self.cache.objects
        before = [(obj, held.find(obj)) for obj in objects]
        for obj in objects:
            held.put(obj)
        try:
            yield
        finally:
            for obj, old in before:
                held.put(old) if old is not None else held.remove(obj)

    @contextmanager
    def pods_gone(self, node: str, gone: Collection[str]) -> Iterator[None]:
        """While some pods are not on their node."""
        before = self.pods_on(node)
        self._replace_pods(before, [key for key in before if key not in gone])
        try:
            yield
        finally:
            self._replace_pods([key for key in before if key not in gone], before)

    def pods_on(self, node: str) -> list[str]:
        """Keys, in the node's order."""
        return [self.cache.pods.keys[row] for row in self.cache.nodes.pod_rows[self.cache.nodes.rows_by_name[node]]]

    def _replace_pods(self, old: list[str], new: list[str]) -> None:
        for key in reversed(old):  # the last one leaves the places of the others as they are
            self.cache.remove_pod(key)
        for key in new:
            self.cache.add_pod(self._pods[key])

    def stored_pod(self, key: str) -> Pod:
        return self._pods[key]


def edited_spec(spec: PodSpec, edits: Iterable[Edit]) -> PodSpec:
    """The later edit first: each names what it changes by its position before any change."""
    for edit in reversed(list(edits)):
        spec = edit.applied(spec)
    return spec
