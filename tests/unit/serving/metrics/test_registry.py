"""The page as a whole."""

from __future__ import annotations

import gc
import time

from tests.support.metered_scheduler import Watched, families, samples

from bayplan.core.events import ObjectAdded
from bayplan.serving.metrics.registry import Metrics
from bayplan.testing.builders import node, pod


def played() -> Watched:
    """Pods that are bound, wait, are shut out, preempt."""
    nodes = [node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10).obj() for number in range(3)]
    waiting = [pod(f"p{number}").cpu("1").obj() for number in range(12)]
    watched = Watched(*nodes, *waiting, pod("shut").gate("g").obj(), pod("large").cpu("9").obj())
    watched.run()
    watched.see(ObjectAdded(pod("high").cpu("2").priority(10).obj()))
    watched.run()
    return watched


def test_every_series_on_the_page_belongs_to_a_family_with_type_and_help() -> None:
    watched = played()
    known = {name: tally.family for name, tally in watched.metrics.tallies.items()}
    for found in families(watched.metrics.render()):
        name = found.name + ("_total" if found.type == "counter" and not found.name.endswith("_total") else "")
        assert found.documentation
        assert name in known or name.startswith(("process_", "python_")), name
        if name in known:
            assert found.type == known[name].type
            endings = {"le"} if found.type == "histogram" else set()
            assert {label for sample in found.samples for label in sample.labels} - endings == set(known[name].labels)


def test_no_series_says_when_it_was_made() -> None:
    assert b"_created" not in played().metrics.render()


def test_every_family_has_a_series_once_it_has_something_to_say() -> None:
    """All but those whose occasion does not come up here."""
    watched = played()
    quiet = {
        "bayplan_preemptions_withheld_total",
        "rest_client_request_duration_seconds",
        "rest_client_requests_total",
        "scheduler_permit_wait_duration_seconds",
        "scheduler_queueing_hint_execution_duration_seconds",
        "scheduler_volume_scheduling_stage_error_total",
    }
    page = watched.metrics.render().decode()
    assert {name for name in watched.metrics.tallies if f"# TYPE {name} " not in page} == quiet


def test_the_process_is_on_the_page() -> None:
    assert samples(Metrics().render(), "process_resident_memory_bytes")[()] > 0


def test_the_page_is_made_in_a_moment() -> None:
    """Far below what Prometheus notices, as no decision is made meanwhile: the best of three."""
    metrics = played().metrics
    times = []
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        metrics.render()
        times.append(time.process_time() - start)
    assert min(times) < 0.02
