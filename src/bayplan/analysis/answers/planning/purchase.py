"""How many nodes of which type are needed at least, by resources and node objects: an integer program.

Takes kinds of pods with their numbers, and nodes to put them on: types to buy, each as often as needed, and existing
nodes, which are there once and cost nothing. With failures, everything must fit as well when a node of any type, or a
zone, is gone. Pods are not cut to pieces, but rules other than resources and node objects are left out, and so is how
pods share a node; so the price is a lower bound, and the nodes are a proposal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from bayplan.analysis.answers.planning.catalog import NodeType
from bayplan.analysis.integer_program import IntegerProgram
from bayplan.core.columns import IntArray

#: Of a price in units of the lowest one; a solver is no more exact.
_DECIMALS = 5


@dataclass(frozen=True, slots=True)
class Batch:
    """Pods of one kind."""

    number: int
    demand: IntArray  # (dimensions,)
    on_types: frozenset[int]  # positions of the types whose nodes they may run on
    on_existing: frozenset[int]  # and of existing nodes


@dataclass(frozen=True, slots=True)
class Market:
    """Where pods can go."""

    types: Sequence[NodeType]
    room: Sequence[IntArray]  # for each type (dimensions,): what a new node has left beside its daemons
    existing: Sequence[IntArray]  # for each existing node what is free


@dataclass(frozen=True, slots=True)
class Purchase:
    """Nodes to buy."""

    counts: tuple[int, ...] | None  # by type; None: none were found
    price: float  # no nodes for less; infinite if there are none


def cheapest(
    market: Market, batches: Sequence[Batch], survive: str, seconds: float, *, usable: float = 1.0
) -> Purchase:
    """`survive` is "", "node" or "zone"; `usable` is the share of a new node's room that may be used."""
    program = IntegerProgram()
    # Counted in the lowest price, as a solver takes differences of a millionth for none.
    unit = min((each.price for each in market.types if each.price), default=1.0)
    bought = [program.variable(each.most, cost=each.price / unit) for each in market.types]
    _limit_entries(program, market, bought)
    lost = {at: program.variable(1) for at in range(len(bought))} if survive == "node" else {}
    for at, variable in lost.items():
        # One of them is lost where there is one.
        program.at_most([(bought[at], 1.0), (variable, -float(market.types[at].most))], 0)
    for gone in _failures(market, survive):
        _place(program, market, batches, bought, _Loss(frozenset(gone), lost), usable)
    solved = program.minimize(seconds)
    counts = tuple(solved.values[variable] for variable in bought) if solved.values is not None else None
    return Purchase(counts, solved.bound if solved.is_impossible else max(0.0, round(solved.bound, _DECIMALS) * unit))


@dataclass(frozen=True, slots=True)
class _Loss:
    """What is gone: a node of one type, or all nodes of several."""

    types: frozenset[int]
    lost: Mapping[int, int]  # type -> variable: whether there is one to lose; empty where all of a type are gone


def _failures(market: Market, survive: str) -> list[list[int]]:
    """For each failure the types that it concerns; the first is none at all."""
    if survive == "node":
        return [[], *([at] for at in range(len(market.types)))]
    if survive == "zone":
        zones = sorted({each.zone for each in market.types})
        return [[], *([at for at, each in enumerate(market.types) if each.zone == zone] for zone in zones)]
    return [[]]


def _limit_entries(program: IntegerProgram, market: Market, bought: Sequence[int]) -> None:
    """`max` counts in all zones together."""
    for name in {each.name for each in market.types}:
        own = [at for at, each in enumerate(market.types) if each.name == name]
        if len(own) > 1:
            program.at_most([(bought[at], 1.0) for at in own], market.types[own[0]].most)


def _place(
    program: IntegerProgram,
    market: Market,
    batches: Sequence[Batch],
    bought: Sequence[int],
    loss: _Loss,
    usable: float,
) -> None:
    """Every pod is somewhere."""
    new: list[list[tuple[Batch, int]]] = [[] for _ in market.types]
    old: list[list[tuple[Batch, int]]] = [[] for _ in market.existing]
    for batch in batches:
        somewhere = []
        for at in sorted(batch.on_types):
            if at not in loss.types or loss.lost:
                somewhere.append(program.variable(batch.number))
                new[at].append((batch, somewhere[-1]))
        for at in sorted(batch.on_existing):
            somewhere.append(program.variable(batch.number))
            old[at].append((batch, somewhere[-1]))
        program.exactly([(variable, 1.0) for variable in somewhere], batch.number)
    for at, placed in enumerate(new):
        nodes = [(bought[at], -1.0), *([(loss.lost[at], 1.0)] if at in loss.types and at in loss.lost else [])]
        _keep_within(program, placed, market.room[at], nodes, usable)
    for at, placed in enumerate(old):
        _keep_within_one(program, placed, market.existing[at])


def _keep_within(
    program: IntegerProgram,
    placed: Sequence[tuple[Batch, int]],
    room: IntArray,
    nodes: Sequence[tuple[int, float]],
    usable: float,
) -> None:
    """All nodes of a type together, and no more pods of a kind on each than fit."""
    for dimension, free in enumerate(room.tolist()):
        terms = [(variable, float(batch.demand[dimension])) for batch, variable in placed if batch.demand[dimension]]
        if terms:
            program.at_most([*terms, *((variable, weight * free * usable) for variable, weight in nodes)], 0)
    for batch, variable in placed:
        fits = fitting(batch, room)
        if fits < inf:
            program.at_most([(variable, 1.0), *((each, weight * fits) for each, weight in nodes)], 0)


def _keep_within_one(program: IntegerProgram, placed: Sequence[tuple[Batch, int]], free: IntArray) -> None:
    for dimension, left in enumerate(np.maximum(free, 0).tolist()):
        terms = [(variable, float(batch.demand[dimension])) for batch, variable in placed if batch.demand[dimension]]
        if terms:
            program.at_most(terms, left)


def fitting(batch: Batch, room: IntArray) -> float:
    """How many pods of a batch fit on one empty node."""
    needed = np.flatnonzero(batch.demand)
    return float((np.maximum(room[needed], 0) // batch.demand[needed]).min()) if len(needed) else inf
