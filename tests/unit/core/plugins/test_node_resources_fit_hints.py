"""What helps a pod that found no room."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.args import NodeResourcesFitArgs
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.plugins.node_resources_fit_hints import after_device_class, after_node_change
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import ContainerStatus, Pod, ReportedResources
from bayplan.model.resource_claims import DeviceClass, DeviceClassSpec
from bayplan.testing.builders import node, pod

GPU = "nvidia.com/gpu"
POD = pod("p").cpu("2").request({GPU: 1}).obj()
ROOMY = node("n").capacity({GPU: 1})


def resized(asked: str, held: str) -> Pod:
    """A pod on a node that asks for so much cpu while the node still holds so much for it."""
    made = pod("q").cpu(asked).node("n").obj()
    holding = ReportedResources(requests={"cpu": held})
    made.status.container_statuses = [ContainerStatus(name="main", resources=holding)]
    return made


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(pod("q").node("n").obj(), None, True, id="gone"),
        pytest.param(pod("q").nominated("n").obj(), None, True, id="nominated-gone"),
        pytest.param(pod("q").obj(), None, False, id="it-had-no-place"),
        pytest.param(None, pod("q").node("n").obj(), False, id="added"),
        pytest.param(pod("q").cpu("2").node("n").obj(), pod("q").cpu("1").node("n").obj(), True, id="scaled-down"),
        pytest.param(pod("q").cpu("1").node("n").obj(), pod("q").cpu("2").node("n").obj(), False, id="scaled-up"),
        pytest.param(resized("1", "2"), resized("1", "1"), True, id="resize-done"),
        pytest.param(resized("2", "2"), resized("1", "2"), False, id="resize-asked-for"),
        pytest.param(
            pod("q").memory("2Gi").node("n").obj(),
            pod("q").memory("1Gi").node("n").obj(),
            False,
            id="in-what-nobody-asks",
        ),
        pytest.param(pod("q").cpu("2").obj(), pod("q").cpu("1").obj(), False, id="scaled-down-while-waiting"),
        pytest.param(POD, pod("p").cpu("1").request({GPU: 1}).obj(), True, id="scaled-down-itself"),
        pytest.param(pod("q").node("n").obj(), pod("q").node("n").labels(a="1").obj(), False, id="labels"),
    ],
)
def test_pod_changes(old: Pod | None, new: Pod | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(NodeResourcesFit(gates=DEFAULT_GATES), POD, old, new) == worth_it


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, ROOMY.obj(), True, id="new"),
        pytest.param(None, node("n").obj(), False, id="new-without-the-device"),
        pytest.param(None, node("n").capacity({GPU: 1}, cpu="1").obj(), False, id="new-too-small"),
        pytest.param(None, node("n").capacity({GPU: 1}, pods=0).obj(), False, id="new-takes-no-pods"),
        pytest.param(node("n").obj(), ROOMY.obj(), True, id="got-the-device"),
        pytest.param(node("n").capacity({GPU: 1}, cpu="1").obj(), ROOMY.obj(), True, id="grew"),
        pytest.param(ROOMY.obj(), node("n").capacity({GPU: 1}, cpu="3").obj(), False, id="shrank"),
        pytest.param(ROOMY.obj(), node("n").capacity({GPU: 1}, memory="64Gi").obj(), False, id="grew-elsewhere"),
        pytest.param(ROOMY.obj(), node("n").capacity({GPU: 1}, pods=111).obj(), True, id="more-pods"),
        pytest.param(node("n").obj(), node("n").capacity(cpu="9").obj(), False, id="grew-but-lacks-the-device"),
        pytest.param(ROOMY.obj(), node("n").capacity({GPU: 1}).label("a").obj(), False, id="labels"),
        pytest.param(ROOMY.obj(), None, False, id="gone"),
    ],
)
def test_node_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """The empty node must fit, and have more than before of what the pod asks for."""
    assert is_worth_it(NodeResourcesFit(gates=DEFAULT_GATES), POD, old, new) == worth_it


@pytest.mark.parametrize(("pods", "worth_it"), [(110, False), (111, True)])
def test_a_pod_without_requests_waits_for_a_place(pods: int, worth_it: bool) -> None:
    """More cpu does not help it."""
    new = node("n").capacity(cpu="9", pods=pods).obj()
    assert is_worth_it(NodeResourcesFit(gates=DEFAULT_GATES), pod("p").cpu(0).obj(), node("n").obj(), new) == worth_it


def test_ignored_resources_must_be_there_all_the_same() -> None:
    """Upstream's hint does not know what the profile ignores: here a wake-up is missed."""
    plugin = NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=frozenset({GPU})), gates=DEFAULT_GATES)
    assert not is_worth_it(plugin, POD, None, node("n").obj())


def standing_for(resource: str | None, name: str = "gpus") -> DeviceClass:
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(extended_resource_name=resource))


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        (None, standing_for(GPU), True),
        (None, standing_for("example.com/other"), False),
        (None, standing_for(None), False),
        (standing_for(None), standing_for(GPU), True),
        (standing_for(GPU), standing_for(GPU), False),
        (standing_for(GPU), standing_for(None), False),
    ],
)
def test_device_classes(old: DeviceClass | None, new: DeviceClass, worth_it: bool) -> None:
    """A class helps when it has come to stand for what the pod asks for."""
    assert after_device_class(cache_of().info(POD), old, new) == worth_it


def test_a_new_class_stands_for_the_resource_of_its_own_name() -> None:
    """Every class does; an update changes nothing about that."""
    implicit = pod("p").request({"deviceclass.resource.kubernetes.io/gpus": 1}).obj()
    info = cache_of().info(implicit)
    assert after_device_class(info, None, standing_for(None))
    assert not after_device_class(info, standing_for("example.com/x"), standing_for(None))


def test_a_node_without_the_resource_may_have_it_as_devices() -> None:
    """What a class stands for need not be among the node's own resources; then every change of amounts is news."""
    cache = cache_of(standing_for(GPU))
    info = cache.info(POD)
    assert after_node_change(info, None, node("n").obj())
    assert after_node_change(info, node("n").obj(), node("n").capacity(memory="1Gi").obj())
    assert not after_node_change(cache_of().info(POD), None, node("n").obj())


def test_registers() -> None:
    """As upstream."""
    assert registered(NodeResourcesFit(gates=DEFAULT_GATES)) == {
        EventResource.POD: ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN,
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE,
        EventResource.DEVICE_CLASS: ActionType.ADD | ActionType.UPDATE,
    }
