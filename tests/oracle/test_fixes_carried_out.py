"""Fixes for Deployments, carried out in a simulated world with real controllers, kubelets and scheduler.

The world runs until nothing happens, `fix` is asked about it, and each change that it prints is made to a copy of the
world: the template is patched, or the node uncordoned. When the copy is quiet again, as many pods run as the fix said.
"""

from __future__ import annotations

import json
import random
import shlex
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from bayplan.analysis.answers.fixing.answer import Fix, RemedyKind
from bayplan.analysis.cluster import Cluster
from bayplan.apiserver.patching.json_patch import apply_json_patch
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.standard import standard_controllers
from bayplan.model.kinds import KINDS, Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.time_units import MINUTE
from bayplan.model.workloads import Deployment
from bayplan.store import Store
from bayplan.testing.builders import deployment, node, pod, priority_class
from bayplan.testing.building import Builder
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000_000_000_000
HOST = "kubernetes.io/hostname"
QUIET_AFTER = 10 * MINUTE


def settled_world(seed: int) -> SimulatedWorld:
    """A world in which nothing happens any more; for one seed always the same."""
    store = Store()
    for obj in random_cluster(seed):
        store.create(obj, STARTED_AT)
    draws = Draws(1, Latencies())
    configuration = load_configuration(None, release=DEFAULT_RELEASE)
    scheduler = build_scheduler(configuration, started_at=STARTED_AT)
    controllers = [*standard_controllers(draws, configuration.gates)]
    world = SimulatedWorld(store, scheduler, controllers, draws, started_at=STARTED_AT)
    world.run_until(STARTED_AT + QUIET_AFTER)
    return world


def objects_in(world: SimulatedWorld) -> list[Object]:
    return [deepcopy(obj) for info in KINDS.values() for obj in world.store.list(info.struct)]


def random_cluster(seed: int) -> list[Object]:
    draw = random.Random(seed)
    things: list[Builder[Any]] = [priority_class("low", 10), priority_class("high", 1000)]
    for number in range(draw.randint(1, 3)):
        made = node(f"n{number}").capacity(cpu=str(draw.randint(2, 6)), memory="16Gi", pods="20")
        made.label(HOST, f"n{number}").label("pool", "general")
        if draw.random() < 0.4:
            made.unschedulable()
        if draw.random() < 0.2:
            made.taint("dedicated", "batch")
        things.append(made)
    for name, replicas in (("w", draw.randint(1, 4)), ("other", draw.randint(0, 3))):
        template = pod("pattern").labels(app=name).cpu(str(draw.randint(1, 3)))
        if draw.random() < 0.3:
            template.node_selector(pool="generall" if name == "w" else "general")
        if draw.random() < 0.3:
            template.pod_anti_affinity(HOST, f"app={name}")
        # Of pods of equal priority, it is chance who is retried first.
        if name == "other" or draw.random() < 0.5:
            template.priority_class("low" if name == "other" else "high")
        things.append(deployment(name).replicas(replicas).template(template))
    return [thing.obj() for thing in things]


def carry_out(world: SimulatedWorld, fix: Fix) -> bool:
    """Do what the fix says; False if it is not one that is carried out here."""
    if any(change.kind in (RemedyKind.FREE, RemedyKind.ADD_NODE) for change in fix.changes):
        return False
    for patch in fix.patches:
        words = shlex.split(patch.command)
        if words[:3] == ["kubectl", "patch", "deployment"]:
            operations = json.loads(words[words.index("--patch") + 1])
            found = world.store.get(Deployment, "default", words[3])
            patched = apply_json_patch(msgspec.to_builtins(found), operations)
            put(world, msgspec.convert(patched, Deployment))
        elif words[:2] == ["kubectl", "uncordon"]:
            cordoned = deepcopy(world.store.get(Node, "", words[2]))
            cordoned.spec.unschedulable = False
            put(world, cordoned)
        else:
            return False
    return True


def put(world: SimulatedWorld, obj: Object) -> None:
    def replace(now: int) -> None:
        world.store.replace(obj, now)

    world.at(world.now, replace)


def running(world: SimulatedWorld) -> int:
    own = [obj for obj in world.store.list(Pod) if obj.metadata.labels.get("app") == "w"]
    return sum(obj.spec.node_name != "" for obj in own)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_as_many_pods_run_as_the_fix_says(seed: int) -> None:
    world = settled_world(seed)
    before = running(world)
    if before == world.store.get(Deployment, "default", "w").spec.replicas:
        return  # the answer would be about one more pod
    for fix in Cluster(objects_in(world)).fix("deployment/w").fixes:
        changed = settled_world(seed)
        if carry_out(changed, fix):
            changed.run_until(changed.now + QUIET_AFTER)
            assert running(changed) == before + fix.fixed, fix.changes
