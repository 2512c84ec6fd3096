"""What must have come of it all, read from a proxy's log and from the objects in the end.

Each check raises AssertionError with the exchanges that are wrong. Those of the log hold whatever happened on the way;
`check_nobody_waits_in_vain` holds once nothing goes wrong any more and everything is at rest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf

from tests.live.records import BindingRequest, Deletion, Exchange, Log

from bayplan.client.sending import ANSWER_WITHIN_S
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.model.kinds import object_key
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.store import Store

#: An answer that takes longer comes too late, as clients begin to wait before their requests arrive.
_STILL_AWAITED_S = ANSWER_WITHIN_S / 2
_STATUS = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/status$")


def check_bound_once(log: Log, *, one_process: bool = True) -> None:
    """The server agreed to at most one binding of each pod.

    A single process besides never asks for another node than the one that its pod is bound to; after a restart or
    another's lease it may not know better, and is refused.
    """
    by_uid: dict[str, list[BindingRequest]] = defaultdict(list)
    for binding in log.bindings():
        by_uid[binding.uid].append(binding)
    for bindings in by_uid.values():
        agreed = [each for each in bindings for answer in each.exchange.answers if answer.ok]
        assert len(agreed) <= 1, f"bound {len(agreed)} times:\n{_shown(each.exchange for each in bindings)}"
        if agreed and one_process:
            elsewhere = {each.node for each in bindings if each.exchange.at > agreed[0].exchange.at} - {agreed[0].node}
            assert not elsewhere, f"bound, and wanted on {elsewhere} too:\n{_shown(b.exchange for b in bindings)}"


def check_bound_where_asked(log: Log, store: Store) -> None:
    """What the objects say is what the server agreed to."""
    nodes = {binding.uid: binding.node for binding in log.bindings() if binding.exchange.took_effect}
    for pod in store.list(Pod):
        wanted = nodes.get(pod.metadata.uid)
        assert wanted in (None, pod.spec.node_name), f"{object_key(pod)}: on {pod.spec.node_name}, asked for {wanted}"


def check_evicted_once(log: Log) -> None:
    """Every deletion names the uid it means, and none is asked for again by one who knows that it was done."""
    by_uid: dict[str, list[Deletion]] = defaultdict(list)
    for deletion in log.deletions():
        assert deletion.uid, f"without a uid: {deletion.exchange}"
        by_uid[deletion.uid].append(deletion)
    for deletions in by_uid.values():
        known_from: dict[str, float] = {}
        for each in (deletion.exchange for deletion in deletions):
            again = f"evicted, and asked for again:\n{_shown(deletion.exchange for deletion in deletions)}"
            assert each.at <= known_from.get(each.who, inf), again
            if each.returned is not None and each.returned < 300 and each.ended_at - each.at < _STILL_AWAITED_S:
                known_from[each.who] = each.ended_at


def check_victims_matter_less(log: Log, priorities: Mapping[str, int]) -> None:
    """By uid: every victim had a lower priority than the pod for whose sake it went."""
    for victim, preemptors in log.preemptors().items():
        for preemptor in preemptors & priorities.keys():
            assert priorities[victim] < priorities[preemptor], (
                f"{victim} with {priorities[victim]} went for {preemptor} with {priorities[preemptor]}"
            )


def check_no_nomination_left(log: Log, store: Store) -> None:
    """No pod waits for the room that was made for it; those that a user nominated do not count."""
    nominated = {
        "/".join(found.groups())
        for exchange in log.of("PATCH", "/status")
        if b"nominatedNodeName" in exchange.body and (found := _STATUS.search(exchange.path))
    }
    waiting = {object_key(pod): pod.status.nominated_node_name for pod in waiting_pods(store)}
    left = {pod: node for pod, node in waiting.items() if node and pod in nominated}
    assert not left, f"nominated and not bound: {left}"


def check_nobody_waits_in_vain(
    store: Store, profiles: Mapping[str, Profile], gates: FeatureGates = DEFAULT_GATES
) -> None:
    """No pod that waits fits anywhere, judged from scratch by the objects alone."""
    parked = waiting_in_vain(store, profiles, gates)
    assert not parked, f"waiting though they fit: {parked}"


def waiting_in_vain(store: Store, profiles: Mapping[str, Profile], gates: FeatureGates) -> dict[str, str]:
    """Pods that wait, and where they would fit."""
    cache = Cache(gates)
    for obj in sorted(store.list_and_watch().objects, key=lambda obj: not isinstance(obj, Node)):
        cache.add(obj)
    decider = Decider(profiles, reuse=False)
    parked = {}
    for pod in waiting_pods(store):
        info = cache.info(pod)
        profile = profiles.get(info.scheduler_name)
        if profile is None or not run_pre_enqueue(profile.pre_enqueue, info).ok:
            continue
        try:
            choice = decider.decide(info, cache.view())
        except CycleError:
            continue  # an attempt that ends in an error places nothing
        if isinstance(choice, Fits):
            parked[object_key(pod)] = cache.nodes.names[choice.row]
    return parked


def waiting_pods(store: Store) -> list[Pod]:
    """Those that a scheduler should look after."""
    return [
        pod
        for pod in store.list(Pod)
        if not pod.spec.node_name and pod.status.phase not in FINISHED_PHASES and not pod.metadata.deletion_timestamp
    ]


def _shown(exchanges: Iterable[Exchange]) -> str:
    return "\n".join(map(str, exchanges))
