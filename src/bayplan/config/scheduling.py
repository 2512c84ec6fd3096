"""A scheduler as a configuration describes it: its profiles, the order of its queue, its backoff, its wake-ups."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.config.loading import Configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.core.framework.extender import Extender
from bayplan.core.groups.scheduling import AttemptObserver
from bayplan.core.instruments import Instruments
from bayplan.core.scheduler import ChoiceObserver, Scheduler
from bayplan.model.time_units import SECOND


def build_scheduler(
    configuration: Configuration,
    *,
    started_at: int,
    on_choice: ChoiceObserver | None = None,
    extenders: Sequence[Extender] = (),
    instruments: Instruments | None = None,
    on_group_attempt: AttemptObserver | None = None,
) -> Scheduler:
    """A fresh scheduler; `on_choice` is called with each choice before it changes anything, `on_group_attempt` with
    each attempt on a group.
    """
    profiles = build_profiles(configuration, extenders)
    return Scheduler(
        profiles,
        queue_order(profiles),
        started_at=started_at,
        initial_backoff_ns=configuration.pod_initial_backoff_seconds * SECOND,
        max_backoff_ns=configuration.pod_max_backoff_seconds * SECOND,
        parked_max_ns=configuration.parked_max_ns,
        wakeups=configuration.wakeups,
        on_choice=on_choice,
        gates=configuration.gates,
        safety=configuration.safety,
        instruments=instruments,
        on_group_attempt=on_group_attempt,
    )
