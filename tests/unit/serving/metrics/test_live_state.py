"""What the running parts show. They are stood in for by what is asked of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.metering import samples

from bayplan.serving.metrics.registry import Metrics


class World:
    unanswered = 7
    is_synced = False

    def troubles(self) -> dict[str, str]:
        return {"Pod": "", "Node": "missing permission"}


class Writer:
    outcomes: Counter[tuple[str, ...]] = Counter({("Bind", "written"): 5, ("Emit", "dropped"): 2})


class Elector:
    leads = False

    def is_leading(self) -> bool:
        return self.leads


def shown(elector: Any = None) -> Metrics:
    metrics = Metrics()
    world: Any = World()
    writer: Any = Writer()
    metrics.show(world, writer, elector, "kube-scheduler")
    return metrics


def test_the_world_is_shown_as_it_is() -> None:
    page = shown().render()
    assert samples(page, "bayplan_bindings_unanswered") == {(): 7}
    assert samples(page, "bayplan_synced") == {(): 0}
    assert samples(page, "bayplan_watch_broken") == {("Pod",): 0, ("Node",): 1}
    assert samples(page, "bayplan_writes_total") == {("Bind", "written"): 5, ("Emit", "dropped"): 2}


def test_who_leads_is_asked_for_each_page() -> None:
    elector = Elector()
    metrics = shown(elector)
    assert samples(metrics.render(), "leader_election_master_status") == {("kube-scheduler",): 0}
    elector.leads = True
    assert samples(metrics.render(), "leader_election_master_status") == {("kube-scheduler",): 1}


def test_without_election_nobody_is_said_to_lead_or_not() -> None:
    assert samples(shown().render(), "leader_election_master_status") == {}
