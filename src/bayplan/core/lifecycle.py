"""The states of a pod in the eyes of one scheduler, and the moves between them. Nothing else decides them.

Theory of operation. A pod that waits for a node is in exactly one state at any time. Between two steps of the
scheduler it rests in one of these places of the queue: *active* (to be tried next), *backoff* (to be tried when its
penalty is over, or earlier when nothing else is active), *unschedulable* (nothing known has changed since it was
rejected) or *gated* (a plugin keeps it from the queue altogether). To be tried it is popped and is then *in flight*.
An attempt that finds a node makes it *assumed*: its room is taken in the cache before the API knows of it. Perhaps it
then stands *waiting* at Permit; after that it is *binding*, and at the end *bound*. Any failure on the way sends it
back to one of these places. What is deleted, or bound by somebody else, is *gone* from wherever it was.

Two rules. A pod never returns to *unschedulable* once it is binding: what happened in the cluster is no longer
recorded for it, so that it could wait for something that has already happened. And nothing leaves *active* but by being
tried or by being gone: a pod that is about to be tried needs no cluster event, no gate and no penalty.

Members of a pod group are moved together. They are *incomplete* as long as nothing is known of their PodGroup. To them
the second rule does not apply: a group that waits to be tried becomes gated when a member joins that is.
"""

from __future__ import annotations

from enum import Enum


class PodState(Enum):
    """Where a pod is; the places of the queue have the names that metrics give them."""

    NEW = "new"
    GATED = "gated"
    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    INCOMPLETE = "incomplete"
    IN_FLIGHT = "in flight"
    ASSUMED = "assumed"
    WAITING = "waiting"
    BINDING = "binding"
    BOUND = "bound"
    GONE = "gone"

    __hash__ = object.__hash__  # the usual one of enums is written in Python, and asked a million times a day


_S = PodState

#: The places of the queue, in the order in which a pod has a chance to be tried.
PLACES = (_S.ACTIVE, _S.BACKOFF, _S.UNSCHEDULABLE, _S.GATED, _S.INCOMPLETE)
#: Popped, and what happens in the cluster is recorded for it.
FLYING = (_S.IN_FLIGHT, _S.ASSUMED, _S.WAITING)

#: From each state to all that may follow.
LEGAL_MOVES: dict[PodState, tuple[PodState, ...]] = {
    _S.NEW: (_S.ACTIVE, _S.GATED, _S.INCOMPLETE, _S.BACKOFF, _S.BINDING),  # the last two where a scheduler starts over
    _S.GATED: (_S.ACTIVE, _S.BACKOFF, _S.INCOMPLETE, _S.GONE),
    _S.ACTIVE: (_S.IN_FLIGHT, _S.GATED, _S.INCOMPLETE, _S.GONE),  # those in the middle with their group
    _S.BACKOFF: (_S.ACTIVE, _S.IN_FLIGHT, _S.GATED, _S.INCOMPLETE, _S.GONE),
    _S.UNSCHEDULABLE: (_S.ACTIVE, _S.BACKOFF, _S.GATED, _S.GONE),
    _S.INCOMPLETE: (_S.ACTIVE, _S.BACKOFF, _S.GATED, _S.GONE),
    _S.IN_FLIGHT: (_S.ASSUMED, *PLACES, _S.GONE),
    _S.ASSUMED: (_S.WAITING, _S.BINDING, *PLACES, _S.GONE),
    _S.WAITING: (_S.BINDING, *PLACES, _S.GONE),
    _S.BINDING: (_S.BOUND, _S.ACTIVE, _S.BACKOFF, _S.GATED, _S.INCOMPLETE, _S.GONE),
    _S.BOUND: (_S.GONE,),
    _S.GONE: (),
}


def assert_move(before: PodState, after: PodState) -> None:
    """Refuse a move that is not in the table; staying is no move."""
    assert before is after or after in LEGAL_MOVES[before], f"a pod cannot go from {before.value} to {after.value}"
