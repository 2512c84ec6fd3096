"""The pod table: a row tells nothing of the pod that had it before, and what a pod took is given back whole."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns.pods import NOT_STARTED
from bayplan.model.meta import OwnerReference
from bayplan.model.pod import ContainerStatus, Pod, ReportedResources
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

OURS = frozenset({"default-scheduler"})


def small(name: str = "small") -> PodBuilder:
    return pod(name).cpu("1").memory("1Gi")


def leaving(reason: str) -> Pod:
    built = small("before").running("n").condition("DisruptionTarget", "True", reason).obj()
    built.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    return built


def resized() -> Pod:
    built = small("before").running("n").obj()
    held = ReportedResources(requests={"cpu": "3", "memory": "1Gi"})
    built.status.container_statuses = [ContainerStatus(name=built.spec.containers[0].name, resources=held)]
    return built


def owned() -> Pod:
    built = small("before").node("n").obj()
    built.metadata.owner_references = [OwnerReference(kind="ReplicaSet", name="web", controller=True)]
    return built


BEFORE = {
    "started": small("before").running("n", since=1).priority(7).obj(),
    "terminating": leaving("DeletionByPodGC"),
    "preempted": leaving("PreemptionByScheduler"),
    "foreign": small("before").scheduler("theirs").node("n").obj(),
    "with volumes": small("before").claim("data").node("n").obj(),
    "resized": resized(),
    "owned": owned(),
    "nothing unusual": small("before").node("n").obj(),
}


def cache_with_node(own_schedulers: frozenset[str] | None = None) -> Cache:
    cache = Cache(own_schedulers=own_schedulers, gates=DEFAULT_GATES)
    cache.add(node("n").capacity(cpu="8", memory="8Gi", pods=10).obj())
    return cache


def told(cache: Cache, key: str) -> dict[str, object]:
    """What the columns, and accounts of its node, say of the only pod there is."""
    row = cache.pods.rows_by_key[key]
    columns = {name: column[row].tolist() for name, column in cache.pods.arrays().items()}
    return columns | {"owner": cache.pods.owner(row), "taken": cache.nodes.taken.tolist()}


@pytest.mark.parametrize("own_schedulers", [OURS, None], ids=["ours", "all"])
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_a_row_is_as_new_for_the_next_pod(before: Pod, own_schedulers: frozenset[str] | None) -> None:
    fresh, used = cache_with_node(own_schedulers), cache_with_node(own_schedulers)
    for cache in (fresh, used):
        cache.info(before)  # its shape has its number in both
    used.add_pod(before)
    assert used.pods.rows_by_key == {"default/before": 0}
    used.remove_pod("default/before")
    assert not used.nodes.taken.any()
    for cache in (fresh, used):
        cache.add_pod(small().obj(), "n")
    assert used.pods.rows_by_key == {"default/small": 0}
    ids = ("shape_ids", "identity_ids")
    assert {k: v for k, v in told(used, "default/small").items() if k not in ids} == {
        k: v for k, v in told(fresh, "default/small").items() if k not in ids
    }


def test_what_is_unusual_of_a_pod_is_told() -> None:
    cache = cache_with_node(OURS)
    for pods in ("started", "preempted", "foreign", "with volumes", "resized", "owned"):
        cache.add_pod(BEFORE[pods])
        said = told(cache, "default/before")
        cache.remove_pod("default/before")
        assert said["priorities"] == (7 if pods == "started" else 0)
        assert said["started_at"] == (SECOND if pods == "started" else NOT_STARTED)
        assert said["terminating"] is said["preempted"] is (pods == "preempted")
        assert said["foreign"] is (pods == "foreign")
        assert said["attachable_volumes"] == (pods == "with volumes")
        assert said["requests"] == [3000 if pods == "resized" else 1000, 1 << 30, 0]
        assert said["owner"] == ("ReplicaSet default/web" if pods == "owned" else "Pod default/before")


def test_a_pod_gives_back_what_it_took_when_more_resources_have_become_known() -> None:
    cache = cache_of(node("n").capacity(cpu="8", memory="8Gi", pods=10).obj())
    cache.add_pod(small().obj(), "n")
    waiting = cache.info(pod("asks").request({"example.com/gpu": 1}).obj())  # no node has room for it yet
    cache.add_pod(small("other").obj(), "n")
    cache.add(node("m").capacity({"example.com/fpga": 2}, cpu="8", memory="8Gi", pods=10).obj())
    assert cache.nodes.requested[0].tolist() == [2000, 2 << 30, 0, 0, 0]
    assert cache.nodes.nonzero_requested[0].tolist() == [2000, 2 << 30]
    assert cache.nodes.pod_counts.tolist() == [2, 0]
    cache.remove_pod("default/small")
    cache.remove_pod("default/other")
    assert not cache.nodes.taken.any()
    assert waiting.shape.requests.asked["example.com/gpu"] == 1


def test_a_resized_pod_is_followed() -> None:
    """What it takes changes with its status, and another change of that is as good as a new pod."""
    cache = cache_with_node()
    before, after = small("before").running("n").obj(), resized()
    cache.add_pod(before)
    for new, old, milli in ((after, before, 3000), (before, after, 1000)):
        cache.update_pod(new, old)
        assert cache.nodes.requested[0, 0] == milli
    cache.remove_pod("default/before")
    assert not cache.nodes.taken.any()


def test_another_priority_of_a_pod_that_was_assumed_is_seen() -> None:
    cache, waiting = cache_with_node(), small().obj()
    cache.add_pod(waiting, "n")
    bound = replace(waiting, spec=replace(waiting.spec, node_name="n"))
    cache.update_pod(bound, waiting)
    cache.update_pod(replace(bound, spec=replace(bound.spec, priority=7)), bound)
    assert cache.pods.priorities[cache.pods.rows_by_key["default/small"]] == 7


def test_nobody_names_the_resources_of_a_resized_pod_that_is_gone() -> None:
    cache, grown = cache_with_node(), resized()
    for asked in (grown.spec.containers[0].resources, grown.status.container_statuses[0].resources):
        assert asked is not None
        assert asked.requests is not None
        asked.requests["example.com/gpu"] = 1
    cache.add_pod(grown)
    assert "example.com/gpu" in cache.resources
    cache.remove_pod("default/before")
    cache.view()  # where what is gone is forgotten
    assert "example.com/gpu" not in cache.resources


def test_a_pod_that_changed_is_the_last_of_its_node() -> None:
    """As upstream, which takes it out and puts it back; the order decides between victims that are otherwise equal."""
    cache = cache_with_node()
    before = {name: small(name).running("n").obj() for name in "abc"}
    for old in before.values():
        cache.add_pod(old)
    orders = []
    for name in "abb":
        old = before[name]
        cache.update_pod(replace(old, status=replace(old.status, start_time="2026-01-01T00:00:00Z")), old)
        orders.append([cache.pods.keys[row] for row in cache.nodes.pod_rows[0]])
        assert cache.pods.slots[cache.nodes.pod_rows[0]].tolist() == [0, 1, 2]
    assert orders == [[f"default/{name}" for name in order] for order in ("cba", "cab", "cab")]


def test_a_row_of_a_node_that_is_gone_is_as_new_for_the_next() -> None:
    cache = cache_with_node()
    cache.add_pod(small().obj(), "n")
    cache.remove_node("n")
    cache.remove_pod("default/small")
    assert cache.nodes.row_for("ghost") == 0
    for name, column in cache.nodes.arrays().items():
        assert not column.any(), name


def test_a_pod_that_is_read_anew_keeps_its_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owners are equal, though not the very list that was read before: the shape need not be worked out again."""
    cache, before = cache_with_node(), owned()
    cache.add_pod(before)
    after = replace(owned(), spec=before.spec)
    monkeypatch.delattr(cache.shapes.__class__, "of")
    cache.update_pod(after, before)
    assert cache.pods.shape(cache.pods.rows_by_key["default/before"]).labels == after.metadata.labels
