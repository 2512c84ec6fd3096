"""How many more attempts it costs to sleep through nothing, in the random worlds.

Run as `PYTHONPATH=. python benchmarks/wakeup_attempts.py [SEEDS [FIRST]]`. Runs each seed's world twice, with `wakeups:
upstream` and with `complete`; what happens in it is the same, up to what pods placed earlier or later change.
Prints the attempts of all worlds. Worlds in which preemption goes in circles are left out.
"""

from __future__ import annotations

import sys

from tests.random_worlds.world import STARTED_AT, GoesInCircles, RandomWorld

from bayplan.core.decision import Decision
from bayplan.core.framework.requeue import Wakeups
from bayplan.model.time_units import SECOND

#: After the last change, as long as the tests of random worlds watch them.
CALM_SECONDS = 90


def attempts(seed: int, wakeups: Wakeups) -> int | None:
    """None for a world that goes in circles."""
    count = 0

    def decided(decision: Decision, now: int) -> None:  # noqa: ARG001
        nonlocal count
        count += bool(decision.pod)

    random_world = RandomWorld(seed, wakeups=wakeups, on_decision=decided)
    try:
        random_world.world.run_until(STARTED_AT + (random_world.seconds + CALM_SECONDS) * SECOND)
    except GoesInCircles:
        return None
    return count


def main(seeds: int = 60, first: int = 0) -> None:
    totals = dict.fromkeys(Wakeups, 0)
    left_out = 0
    for seed in range(first, first + seeds):
        counts = {wakeups: attempts(seed, wakeups) for wakeups in Wakeups}
        if None in counts.values():
            left_out += 1
            continue
        for wakeups, count in counts.items():
            totals[wakeups] += count or 0
    more = totals[Wakeups.COMPLETE] / totals[Wakeups.UPSTREAM] - 1
    print(f"{seeds} worlds, {left_out} left out: {totals[Wakeups.UPSTREAM]:,} attempts upstream, ", end="")
    print(f"{totals[Wakeups.COMPLETE]:,} complete ({more:+.1%})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
