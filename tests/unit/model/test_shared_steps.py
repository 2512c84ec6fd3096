"""Objects that take the same step share what becomes of them."""

from __future__ import annotations

from bayplan.model.pod import PodStatus
from bayplan.model.shared_steps import REMEMBERED_MAX, shared_step
from bayplan.model.structs import replace


@shared_step
def started(status: PodStatus, time: str) -> PodStatus:
    return replace(status, phase="Running", start_time=time)


def test_the_same_step_from_the_same_status_gives_the_same_status() -> None:
    before = PodStatus()
    assert started(before, "noon") is started(before, "noon")
    assert started(before, "noon") == PodStatus(phase="Running", start_time="noon")
    assert before == PodStatus(), "what was stored stays as it was"


def test_another_time_or_another_status_gives_another() -> None:
    before, other = PodStatus(), PodStatus(nominated_node_name="n")
    assert started(before, "noon") != started(before, "night")
    assert started(other, "noon").nominated_node_name == "n"


def test_a_status_that_takes_the_place_of_a_forgotten_one_is_not_taken_for_it() -> None:
    """Structs are told apart by where they are in memory; those that are gone leave their place to others."""
    for number in range(3 * REMEMBERED_MAX):
        name = f"node-{number}"
        assert started(PodStatus(nominated_node_name=name), "noon").nominated_node_name == name
