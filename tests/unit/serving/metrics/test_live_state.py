"""What the running parts show."""

from __future__ import annotations

import pytest
from tests.support.metered_scheduler import Elector, samples, shown_parts

from bayplan.config.releases import RELEASES
from bayplan.serving.metrics.registry import Metrics


def test_the_world_is_shown_as_it_is() -> None:
    page = shown_parts(Metrics()).render()
    assert samples(page, "bayplan_bindings_unanswered") == {(): 7}
    assert samples(page, "bayplan_synced") == {(): 0}
    assert samples(page, "bayplan_watch_broken") == {("Pod",): 0, ("Node",): 1}
    assert samples(page, "bayplan_writes_total") == {("Bind", "written"): 5, ("Emit", "dropped"): 2}


def test_who_leads_is_asked_for_each_page() -> None:
    elector = Elector()
    metrics = shown_parts(Metrics(), elector)
    assert samples(metrics.render(), "leader_election_master_status") == {("kube-scheduler",): 0}
    elector.leads = True
    assert samples(metrics.render(), "leader_election_master_status") == {("kube-scheduler",): 1}


def test_without_election_nobody_is_said_to_lead_or_not() -> None:
    assert samples(shown_parts(Metrics()).render(), "leader_election_master_status") == {}


def test_the_shadow_shows_how_often_it_agrees() -> None:
    page = shown_parts(Metrics()).render()
    assert samples(page, "bayplan_shadow_decisions_total") == {(): 9}
    assert samples(page, "bayplan_shadow_placements_total") == {("same",): 6, ("different",): 1}
    assert samples(page, "bayplan_shadow_preemptions_total") == {}


@pytest.mark.parametrize(
    ("version", "family", "owner"),
    [
        ("1.36", "scheduler_resourceclaim_creates_total", ()),
        ("1.37", "dynamic_resource_allocation_resourceclaim_creates_total", ("false", "", "Pod")),
    ],
)
def test_claims_for_extended_resources_are_counted_under_the_name_of_the_version(
    version: str, family: str, owner: tuple[str, ...]
) -> None:
    metrics = Metrics()
    created = {("ResourceClaim", True): 2, ("ResourceClaim", False): 1, ("Pod", True): 5}
    metrics.show_creations(created, RELEASES[version])
    assert samples(metrics.render(), family) == {("success", *owner): 2, ("failure", *owner): 1}
