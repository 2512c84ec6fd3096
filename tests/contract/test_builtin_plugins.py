"""Every plugin of the default profile keeps the contract, on clusters with what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from tests.support.devices import DRIVER, asks, asks_first_of, claim_of, device, device_class, held, slice_of

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.registry import PLAIN, WITH_ARGS, WITH_GATES
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import PodResourceClaim
from bayplan.model.well_known import HOSTNAME, ZONE
from bayplan.testing import check_plugin
from bayplan.testing.check_plugin import RULES
from bayplan.testing.clusters import GPU, IMAGE, NODE_PATTERNS, POD_PATTERNS, ObjectChange, Scene, small_scene
from bayplan.testing.pods import PodBuilder

SEEDS = range(10)
FEATURE = "UserNamespacesHostNetworkSupport"


def needs_feature(made: PodBuilder) -> PodBuilder:
    made.host_network()._object.spec.host_users = False
    return made


def claims(name: str) -> Callable[[PodBuilder], PodBuilder]:
    def dress(made: PodBuilder) -> PodBuilder:
        made._object.spec.resource_claims.append(PodResourceClaim(name="device", resource_claim_name=name))
        return made

    return dress


def scene_with_devices(seed: int, **patterns: Any) -> Scene:
    """Nodes with devices of two models, claims for one or two of them, some of which come later."""
    scene, rng = small_scene(seed, **patterns), Random(seed)
    names = [thing.metadata.name for thing in scene.objects if isinstance(thing, Node)]
    slices = [
        slice_of(name, *(device(f"d{place}", model=rng.choice("ab")) for place in range(rng.randint(0, 3))))
        for name in names
    ]
    model_a = f'device.attributes["{DRIVER}"].model == "a"'
    wanted = {
        "one": claim_of("one", asks("r")),
        "two": claim_of("two", asks("r", count=2)),
        "first": claim_of("first", asks_first_of("r", asks("a", model_a), asks("any"))),
    }
    taken = held(claim_of("taken", asks("r")), names[0], "d0")
    larger = slice_of(names[0], *(device(f"d{place}", model="a") for place in range(5)))
    changes: list[ObjectChange] = [
        (slices[0], larger),
        (taken, claim_of("taken", asks("r"))),
    ]
    if rng.random() < 0.5:
        changes.append((None, wanted["two"]))
    missing = [new for old, new in changes if old is None]
    everything: list[Object] = [*slices, *wanted.values(), taken]
    present = [thing for thing in everything if thing not in missing]
    return replace(scene, objects=(*scene.objects, device_class(), *present), changes=(*scene.changes, *changes))


def plain(made: PodBuilder) -> PodBuilder:
    return made.cpu("100m").labels(app="x")


#: What pods are like that a plugin has something to do for; any other plugin gets pods of all kinds.
PATTERNS: dict[str, Sequence[Any]] = {
    "SchedulingGates": [plain, lambda p: p.gate("g")],
    "NodeName": [plain, lambda p: p.node("n1")],
    "TaintToleration": [plain, lambda p: p.cpu("100m").tolerates("soft"), lambda p: p.cpu("100m").tolerates("hard")],
    "NodeAffinity": [
        lambda p: p.cpu("100m").node_affinity("disk in (ssd)"),
        lambda p: p.cpu("100m").node_affinity("disk in (ssd)", weight=5).node_affinity("disk", weight=2),
        lambda p: p.node_selector(disk="hdd"),
    ],
    "NodePorts": [lambda p: p.port(80), lambda p: p.port(80, ip="10.0.0.1"), lambda p: p.port(81)],
    "NodeResourcesFit": [
        *POD_PATTERNS[:2],
        plain,
        lambda p: p.cpu("64"),
        lambda p: p.request({"cpu": "1", GPU: 1}),
        lambda p: p.request({GPU: 2}),
    ],
    "VolumeRestrictions": [lambda p: p.claim("c0"), lambda p: p.claim("c1"), lambda p: p.claim("c2")],
    "NodeVolumeLimits": [lambda p: p.claim("c0"), lambda p: p.claim("c1")],
    "VolumeBinding": [lambda p: p.claim("c0"), lambda p: p.claim("c2")],
    "VolumeZone": [lambda p: p.claim("c0"), lambda p: p.claim("c2")],
    "PodTopologySpread": [
        plain,
        lambda p: p.labels(app="x").spread(ZONE, "app=x"),
        lambda p: p.labels(app="x").spread(HOSTNAME, "app=x", min_domains=3, node_taints_policy="Honor"),
        lambda p: p.labels(app="x").spread(HOSTNAME, "app=x", when="ScheduleAnyway"),
    ],
    "InterPodAffinity": [
        plain,
        lambda p: p.cpu("100m").labels(app="x").pod_affinity(ZONE, "app=x"),
        lambda p: p.cpu("100m").labels(app="y").pod_anti_affinity(HOSTNAME, "app=y"),
        lambda p: p.labels(app="z").pod_affinity(ZONE, "app=x", weight=3).pod_anti_affinity(HOSTNAME, "app", weight=2),
    ],
    "DynamicResources": [plain, claims("one"), claims("two"), claims("first"), claims("nobody's")],
    "NodeResourcesBalancedAllocation": [*POD_PATTERNS[:2], lambda p: p.memory("4Gi"), lambda p: p.cpu("2")],
    "ImageLocality": [lambda p: p.image(IMAGE)],
    "NodeDeclaredFeatures": [plain, needs_feature],
}

#: Clusters with more than what is there for all.
SCENES = {"DynamicResources": scene_with_devices}

#: Rules that a plugin breaks as upstream's does, and why that is known.
WAIVED = {
    # It gives every node the same score, unless a gate is on.
    "VolumeBinding": {"exercised"},
}


def maker_of(plugin: Any) -> Callable[[], Any]:
    return partial(plugin, gates=DEFAULT_GATES) if plugin in WITH_GATES else plugin


@pytest.mark.parametrize("plugin", [*PLAIN, *WITH_ARGS], ids=lambda plugin: plugin.name)
def test_keeps_the_contract(plugin: Any) -> None:
    scenes = partial(
        SCENES.get(plugin.name, small_scene),
        pod_patterns=PATTERNS.get(plugin.name, POD_PATTERNS),
        node_patterns=[*NODE_PATTERNS, lambda n: n.declares(FEATURE)],
    )
    check_plugin(maker_of(plugin), seeds=SEEDS, scenes=scenes, waived=WAIVED.get(plugin.name, ()))


def test_waivers_name_plugins_and_rules() -> None:
    names = {plugin.name for plugin in (*PLAIN, *WITH_ARGS)}  # type: ignore[attr-defined]
    assert set(WAIVED) <= names
    assert set(PATTERNS) <= names
    assert set().union(*WAIVED.values()) <= set(RULES)
