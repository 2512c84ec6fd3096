"""Ctrl-C in a run: the first ends it with what there is, whole rows only; the second ends everything."""

from __future__ import annotations

import signal

import pytest
from tests.unit.analysis.simulation.worlds import MINUTE, cluster, nodes, pattern, workload

from bayplan.analysis.simulation.results.run_format import PodRow
from bayplan.analysis.simulation.running import Options, Simulation


def test_an_interrupt_gives_what_there_is() -> None:
    simulation = Simulation(cluster(*nodes(1), pattern("a", "1", "low")), options=Options(until_ns=60 * MINUTE))

    def interrupt(passed: int, _: int) -> None:
        if passed > MINUTE:
            signal.raise_signal(signal.SIGINT)

    result = simulation.run(interrupt)
    assert (result.run.partial, result.interrupted) == (True, True)
    assert repr(result).startswith("<SimulationResult (partial): ")
    assert 60 < result.run.seconds < 120
    assert result.summary.pods.placed == 1


def test_an_interrupt_in_the_midst_of_things_leaves_whole_rows() -> None:
    """It comes when a pod is just being entered into the ledger, and takes effect at the next decision."""
    simulation = Simulation(cluster(*nodes(1), workload("web", 3, "1", "low")), options=Options(until_ns=60 * MINUTE))
    ledger = simulation.listener.pods

    class Interrupting(list[PodRow]):
        def append(self, value: PodRow) -> None:
            signal.raise_signal(signal.SIGINT)
            super().append(value)
            ledger.pods = list(self)  # once is enough

    ledger.pods = Interrupting()
    result = simulation.run()
    assert result.interrupted
    assert {len(ledger.created_at), len(ledger.bound_at), len(ledger.rows)} == {result.pods.rows}
    assert result.pods.rows == result.summary.pods.created > 0


def test_a_second_interrupt_is_raised() -> None:
    simulation = Simulation(cluster(*nodes(1)), options=Options(until_ns=60 * MINUTE))

    def interrupt_twice(*_: int) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        simulation.run(interrupt_twice)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_somebody_elses_handler_is_left_alone() -> None:
    heard: list[int] = []
    earlier = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        simulation = Simulation(cluster(*nodes(1)), options=Options(until_ns=60 * MINUTE))
        result = simulation.run(lambda passed, _: signal.raise_signal(signal.SIGINT) if passed < MINUTE else None)
    finally:
        signal.signal(signal.SIGINT, earlier)
    assert heard
    assert not result.run.partial
