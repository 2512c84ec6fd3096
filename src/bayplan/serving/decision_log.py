"""Decisions in the log, in the words and at the levels of kube-scheduler.

Looks on in the live world: attempts and what becomes of them at level 2 and 3, changes of nodes and pods at 3 and 4.
Below the level that `-v` asks for nothing is put into words.
"""

from __future__ import annotations

from bayplan.client.loggers import structlog
from bayplan.core.actions import Action, Bind, Evict, SetGroupCondition
from bayplan.core.decision import Decision, Outcome
from bayplan.core.diagnosis import NO_NODES
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod

_log = structlog.get_logger("scheduler")
_OUTCOMES, _ATTEMPTS, _UPDATES = 2, 3, 4


class DecisionLog:
    """Writes what happens to the log.

    Args:
        verbosity: as `-v` has it.
    """

    def __init__(self, verbosity: int) -> None:
        self._verbosity = verbosity

    def observed(self, event: Event, now: int) -> None:  # noqa: ARG002
        if self._verbosity < _ATTEMPTS:
            return
        match event:
            case ObjectAdded(new):
                _moved("Add", new, _ATTEMPTS)
            case ObjectChanged(_, new):
                _moved("Update", new, _UPDATES)
            case ObjectRemoved(old):
                _moved("Delete", old, _ATTEMPTS)

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:  # noqa: ARG002
        if decision.outcome is Outcome.ERROR:
            what = {"podGroup": decision.group} if decision.group else {"pod": decision.pod}
            _log.error(
                f"Error scheduling {'pod group' if decision.group else 'pod'}; retrying", err=decision.message, **what
            )
        if self._verbosity < _OUTCOMES or not (decision.pod or decision.group):
            return
        if decision.group:
            _log.info("Attempting to schedule pod group", podGroup=decision.group, v=_ATTEMPTS)
            for member in decision.members:
                if member.outcome is Outcome.UNSCHEDULABLE:
                    _unable(member)
            return
        if decision.outcome is Outcome.SKIPPED:
            _log.info("Skip schedule deleting pod", pod=decision.pod, v=_ATTEMPTS)
            return
        _log.info("Attempting to schedule pod", pod=decision.pod, v=_ATTEMPTS)
        if decision.outcome in (Outcome.UNSCHEDULABLE, Outcome.NOMINATED):
            _unable(decision)

    def wrote(self, action: Action, took_ns: int, error: str) -> None:  # noqa: ARG002
        if not error and self._verbosity < _OUTCOMES:
            return
        match action:
            case Bind(pod, _, node) if error:
                _log.error("Failed to bind pod", err=error, pod=pod, node=node)
            case Bind(pod, _, node):
                _log.info("Successfully bound pod to node", pod=pod, node=node, v=_OUTCOMES)
            case Evict(pod, _, node) if error:
                _log.error("Failed to preempt victim Pod", err=error, victim=pod, node=node)
            case Evict(pod, _, node):
                _log.info("Preemptor Pod preempted victim Pod", victim=pod, node=node, v=_OUTCOMES)
            case SetGroupCondition(group) if error:
                _log.error("SetGroupCondition failed", err=error, podGroup=group)
            case _ if error and not isinstance(action, SetGroupCondition):
                _log.error(f"{type(action).__name__} failed", err=error, pod=action.pod)


def _unable(decision: Decision) -> None:
    if decision.message == NO_NODES:
        text = "Unable to schedule pod; no nodes are registered to the cluster; waiting"
        _log.info(text, pod=decision.pod, v=_OUTCOMES)
    else:
        _log.info("Unable to schedule pod; no fit; waiting", pod=decision.pod, err=decision.message, v=_OUTCOMES)


def _moved(what: str, obj: Object, level: int) -> None:
    if isinstance(obj, Node):
        _log.info(f"{what} event for node", node=obj.metadata.name, v=level)
    elif isinstance(obj, Pod):
        kind = "scheduled" if obj.spec.node_name else "unscheduled"
        _log.info(f"{what} event for {kind} pod", pod=object_key(obj), v=level)
