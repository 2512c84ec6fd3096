"""Which pods are alike: those that want a node, and those that have one."""

from __future__ import annotations

import pytest

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns.resources import ResourceVocabulary
from bayplan.core.columns.shapes import SPECS_KNOWN_MAX, Shapes
from bayplan.model.meta import OwnerReference
from bayplan.model.structs import replace
from bayplan.model.volumes import Volume
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder


def test_token_volumes_make_no_difference() -> None:
    """Every pod of a real cluster has one, with a random name."""
    one, other = (pod("p").volume(Volume(name=f"kube-api-access-{suffix}")).obj() for suffix in ("x", "y"))
    shapes = Shapes(ResourceVocabulary(), gates=DEFAULT_GATES)
    assert shapes.of(one) is shapes.of(other)
    assert shapes.of(one).spec.volumes == []
    assert one.spec.volumes[0].name == "kube-api-access-x"  # the pod itself is left as it was


def test_claims_make_a_difference() -> None:
    shapes = Shapes(ResourceVocabulary(), gates=DEFAULT_GATES)
    assert shapes.of(pod("p").claim("a").obj()) is not shapes.of(pod("p").claim("b").obj())


def test_pods_with_one_spec_differ_in_namespace_labels_and_controller() -> None:
    """A spec that was seen before tells nothing of the rest."""
    shapes = Shapes(ResourceVocabulary(), gates=DEFAULT_GATES)
    first = pod("p").labels(app="x").obj()
    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", controller=True)
    others = [
        replace(first, metadata=replace(first.metadata, **changed))
        for changed in ({"namespace": "other"}, {"labels": {"app": "y"}}, {"owner_references": [owner]})
    ]
    found = [shapes.of(one) for one in (first, *others, *others)]
    assert len({shape.id for shape in found}) == 4
    assert shapes.of(replace(first, metadata=replace(first.metadata, name="q"))) is shapes.of(first)


def test_a_spec_that_takes_the_place_of_a_forgotten_one_is_not_taken_for_it() -> None:
    shapes = Shapes(ResourceVocabulary(), gates=DEFAULT_GATES)
    for number in range(3 * SPECS_KNOWN_MAX):
        assert shapes.of(pod("p").scheduler(f"mine-{number % 7}").obj()).spec.scheduler_name == f"mine-{number % 7}"


def on_own_node(name: str) -> PodBuilder:
    """As a DaemonSet makes them."""
    return pod("d").node_affinity(f"metadata.name in ({name})").tolerates("gone").running(name)


def test_pods_of_a_daemon_set_are_alike_once_they_run() -> None:
    one, other = on_own_node("n1").obj(), on_own_node("n2").obj()
    shapes = Shapes(ResourceVocabulary(), gates=DEFAULT_GATES)
    assert shapes.of(one) is not shapes.of(other)
    assert shapes.of_settled(one) is shapes.of_settled(other)
    assert one.spec.affinity is not None
    assert one.spec.affinity.node_affinity is not None  # the pod itself is left as it was


@pytest.mark.parametrize(
    "one",
    [
        pod("p").labels(app="x"),
        pod("p").cpu("1"),
        pod("p").port(80),
        pod("p").claim("data"),
        pod("p").pod_anti_affinity("kubernetes.io/hostname", "app=x"),
        pod("p", "other"),
    ],
    ids=["labels", "requests", "port", "claim", "anti-affinity", "namespace"],
)
def test_what_a_running_pod_takes_and_asks_of_others_counts(one: PodBuilder) -> None:
    shapes = Shapes(ResourceVocabulary(), gates=DEFAULT_GATES)
    assert shapes.of_settled(one.obj()) is not shapes.of_settled(pod("p").obj())


def test_running_pods_enter_the_cache_as_settled() -> None:
    cache = Cache(gates=DEFAULT_GATES)
    for name in ("n1", "n2"):
        cache.add(node(name).obj())
        running = on_own_node(name).obj()
        running.metadata.name = f"agent-{name}"
        cache.add(running)
    assert len(set(cache.pods.shape_ids[:2].tolist())) == 1
