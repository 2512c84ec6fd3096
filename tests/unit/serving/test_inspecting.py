"""The cache and the queue, as pages and in the log."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from bayplan.config.loading import load_configuration
from bayplan.config.releases import release_named
from bayplan.config.scheduling import build_scheduler
from bayplan.core.events import ObjectAdded
from bayplan.model.kinds import Object, object_key
from bayplan.serving.inspecting import Inspector, cache_text, queue_text
from bayplan.testing.builders import node, pod

NODE = node("n1").capacity(cpu=4, memory="8Gi", pods=110).obj()
RUNNING = pod("web").cpu("500m").running("n1").uid("u-web").obj()
BIG = pod("big").cpu(9).phase("Pending").uid("u-big").obj()
GATED = pod("gated").gate("wait").uid("u-gated").obj()
FOREIGN = pod("foreign").scheduler("other").uid("u-foreign").obj()
ALL: tuple[Object, ...] = (NODE, RUNNING, BIG, GATED, FOREIGN)


def inspector_of(observed: tuple[Object, ...], shown: tuple[Object, ...], version: str = "1.36") -> Inspector:
    scheduler = build_scheduler(load_configuration(release=release_named(version)), started_at=0)
    for obj in observed:
        scheduler.observe(ObjectAdded(obj), 0)
    while scheduler.decide(0) is not None:
        pass

    def known(kind: str) -> Mapping[str, Object]:
        return {object_key(obj): obj for obj in shown if type(obj).__name__ == kind}

    return Inspector(scheduler, known)


def test_the_cache_shows_what_nodes_have_and_pods_take() -> None:
    document = inspector_of(ALL, ALL).cache_document()
    (shown,) = document["nodes"]
    assert (shown["name"], shown["deleted"], shown["pods"]) == ("n1", False, ["default/web"])
    assert shown["requested"] == {"cpu": 500}
    assert shown["allocatable"] == {"cpu": 4000, "memory": 8 * 2**30}
    text = cache_text(document)
    assert "1 nodes; 0 pods have a node and are not known to be bound." in text
    assert "1/110" in text


def test_a_pod_on_its_way_is_listed() -> None:
    document = inspector_of((NODE, pod("small").obj()), ()).cache_document()
    assert document["podsOnTheWay"] == ["default/small"]


def test_the_queue_shows_where_pods_wait_and_for_what() -> None:
    document = inspector_of(ALL, ALL).queue_document()
    assert document["summary"] == "activeQ:0; backoffQ:0; unschedulablePods:2"
    shown = {queued["pod"]: queued for queued in document["pods"]}
    assert shown["default/big"]["state"] == "unschedulable"
    assert shown["default/big"]["rejectedBy"] == ["NodeResourcesFit"]
    assert (shown["default/gated"]["state"], shown["default/gated"]["gatedBy"]) == ("gated", "SchedulingGates")
    assert "NodeResourcesFit" in queue_text(document)


def test_the_dump_has_upstreams_words() -> None:
    with capture_logs() as logs:
        inspector_of(ALL, ALL).dump()
    nodes, queue = (entry for entry in logs if "v" not in entry)
    assert nodes["event"] == "Dump of cached NodeInfo"
    assert nodes["nodes"].startswith("Node name: n1\nDeleted: false\nRequested Resources: ")
    line = "name: web, namespace: default, uid: u-web, phase: Running, nominated node: \n"
    assert f"Scheduled Pods(number: 1):\n{line}" in nodes["nodes"]
    assert (queue["event"], queue["summary"]) == (
        "Dump of scheduling queue",
        "activeQ:0; backoffQ:0; unschedulablePods:2",
    )
    assert "name: big, namespace: default, uid: u-big, phase: Pending, nominated node: \n" in queue["pods"]


@pytest.mark.parametrize(("version", "said"), [("1.36", "unschedulablePods:2"), ("1.37", "unschedulableEntities:2")])
def test_the_dump_has_the_words_of_the_version(version: str, said: str) -> None:
    assert inspector_of(ALL, ALL, version).queue_document()["summary"] == f"activeQ:0; backoffQ:0; {said}"


def test_what_does_not_agree_with_the_api_server_is_named() -> None:
    unseen = pod("unseen").uid("u-unseen").obj()
    with capture_logs() as logs:
        inspector_of(ALL, (BIG, GATED, FOREIGN, unseen, node("n2").obj())).dump()
    mismatches = [entry for entry in logs if entry["event"] == "Cache mismatch"]
    assert [entry.get("missedNodes") for entry in mismatches] == [["n2"], None]
    assert [entry.get("redundantNodes") for entry in mismatches] == [["n1"], None]
    assert (mismatches[1]["missedPods"], mismatches[1]["redundantPods"]) == (["u-unseen"], ["u-web"])
