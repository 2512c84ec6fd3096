"""Clusters of builders, changed: shared by the tests of `whatif`, `drain` and what they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from bayplan import Cluster
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course
from bayplan.analysis.answers.whatif import WhatIf
from bayplan.model.workloads import ReplicaSet
from bayplan.report.answers.parts import Details, Part
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

SOMEBODY: Builder[ReplicaSet] = make.replica_set("somebody")


def cluster_of(*things: Builder[Any]) -> Cluster:
    return Cluster([deepcopy(thing.obj()) for thing in things])


def course_of(*things: Builder[Any]) -> Course:
    return Course(Asking.about(cluster_of(*things)))


def owned(name: str, owner: Builder[Any] = SOMEBODY) -> PodBuilder:
    """A pod that somebody makes again; the owner need not be among the objects."""
    return make.pod(name).owner(owner)


def whatif(cluster: Cluster, *applied: Builder[Any], **rest: Any) -> WhatIf:
    return cluster.whatif([thing.dict() for thing in applied], **rest)


def unfolded(parts: Iterable[Part]) -> list[Part]:
    """An answer with what is in its details."""
    return [each for part in parts for each in (part.parts if isinstance(part, Details) else [part])]
