"""What was, for a page that is opened later: from the log, with times."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.support.dashboard import NOW, Served, node, pod, served

from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.log import DocumentLog
from bayplan.apiserver.storage.storage import Storage
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.store.errors import BadRequest
from bayplan.web.past import STEPS_MAX

AT = NOW // MILLISECOND


def _past(cluster: Served, version: int | None = None) -> Any:
    return asyncio.run(cluster.past.until(cluster.registry.storage.version if version is None else version))


def _pods(told: Any) -> list[dict[str, str]]:
    """Of each step the phases of pods; gone ones are marked."""
    steps = [batch["tables"].get("pods", {}) for batch in told["batches"]]
    return [{key: "gone" if value is None else value.get("phase", "") for key, value in step.items()} for step in steps]


def test_steps_have_their_times_and_how_things_ended_in_them() -> None:
    cluster = served()
    cluster.create(pod("web"))
    cluster.now += 50 * MILLISECOND
    cluster.change("Pod", "web", {"status": {"phase": "Running"}}, "status")
    cluster.now += SECOND
    cluster.change("Pod", "web", {"status": {"phase": "Failed"}}, "status")
    cluster.now += SECOND
    cluster.delete("pods", "web")
    told = _past(cluster)
    assert [batch["at"] - AT for batch in told["batches"]] == [0, 1050, 2050]
    assert _pods(told) == [{"default/web": "Running"}, {"default/web": "Failed"}, {"default/web": "gone"}]
    assert told["batches"][-1]["version"] == cluster.registry.storage.version


def test_the_base_has_what_changed_later_as_it_was_before() -> None:
    cluster = _short_memory(4)
    cluster.create(pod("old"))
    cluster.create(pod("untouched"))
    for phase in ("Running", "Failed", "Running", "Failed"):
        cluster.change("Pod", "old", {"status": {"phase": phase}}, "status")
        cluster.now += SECOND
    told = _past(cluster)
    assert told["base"]["pods"].keys() == {"default/old"}
    assert told["base"]["pods"]["default/old"]["phase"] == "Pending"
    assert [step["default/old"] for step in _pods(told)] == ["Running", "Failed", "Running", "Failed"]


def test_what_falls_off_the_log_is_gone() -> None:
    cluster = _short_memory(3)
    for number in range(10):
        cluster.create(pod(f"pod-{number}"))
        cluster.now += SECOND
    assert [list(step) for step in _pods(_past(cluster))] == [["default/pod-7"], ["default/pod-8"], ["default/pod-9"]]
    assert len(cluster.past._steps) <= 4


def test_more_steps_than_a_page_takes_leave_the_newest() -> None:
    cluster = served([node("node-1")])
    for number in range(STEPS_MAX + 5):
        cluster.now += SECOND
        cluster.change("Node", "node-1", {"spec": {"unschedulable": bool(number % 2)}})
    told = _past(cluster)
    assert len(told["batches"]) == STEPS_MAX
    assert told["batches"][-1]["at"] == cluster.now // MILLISECOND
    assert "/node-1" in told["base"]["nodes"]


def test_the_past_ends_where_the_page_began() -> None:
    cluster = served()
    cluster.create(pod("seen"))
    version = cluster.registry.storage.version
    cluster.create(pod("later"))
    assert _pods(_past(cluster, version)) == [{"default/seen": "Pending"}]


def test_a_cluster_in_which_nothing_happened_has_no_past() -> None:
    cluster = served()
    assert cluster.get("/dashboard/past?until=" + str(cluster.registry.storage.version)).json["batches"] == []


def test_resources_that_the_page_does_not_show_make_no_steps() -> None:
    cluster = served()
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}})
    assert _past(cluster) == {"base": {}, "batches": []}


@pytest.mark.parametrize("until", ["", "now", "-1", "\u0663", "99999999"])
def test_only_versions_that_were_are_asked_for(until: str) -> None:
    assert served().get(f"/dashboard/past?until={until}").status == 400


def test_versions_before_the_log_are_refused() -> None:
    cluster = _short_memory(3)
    for number in range(10):
        cluster.create(pod(f"pod-{number}"))
    with pytest.raises(BadRequest, match="expected a version from"):
        _past(cluster, 1)


def test_events_say_who_preempted_whom() -> None:
    cluster = served()
    about = {"kind": "Pod", "name": "low", "namespace": "default", "uid": "u-1"}
    message = "Preempted by pod 3dc29f3e-d896 on node node-7"
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about}
    cluster.create({**event, "reason": "Preempted", "message": message, "type": "Normal"})
    told = _past(cluster)["batches"][0]["tables"]["events"]["default/e"]
    assert (told["aboutUid"], told["by"], told["node"]) == ("u-1", "3dc29f3e-d896", "node-7")


def _short_memory(capacity: int) -> Served:
    """A cluster whose log keeps few writes; those that make a cluster are forgotten by then."""
    made = Served(Registry(Storage(), Catalogue()))
    short = DocumentLog(capacity)
    short.start_after(made.registry.storage.log.version)
    made.registry.storage.log = short
    return made
