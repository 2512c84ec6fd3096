"""A shadow beside the scheduler of a simulated world, in virtual time."""

from __future__ import annotations

from bayplan.config.loading import Configuration
from bayplan.config.registry import build_profiles
from bayplan.config.scheduling import build_scheduler
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.worlds.journal import JournalWriter
from bayplan.worlds.shadow import Shadow


class VirtualShadow:
    """Hears what the other scheduler hears, and decides at once."""

    def __init__(self, configuration: Configuration, started_at: int, journal: JournalWriter | None = None) -> None:
        profiles = build_profiles(configuration)
        self.shadow = Shadow(profiles, configuration.gates, started_at=started_at)
        self.scheduler = build_scheduler(
            configuration,
            started_at=started_at,
            on_choice=self.shadow.chosen,
            on_group_attempt=self.shadow.tried_group,
        )
        self.shadow.answer_to(self._observe)
        self._now = started_at
        self._journal = journal

    def event(self, event: Event, now: int) -> None:
        """To be given to a world as `on_event`; answers are not for the shadow."""
        self._now = now
        if isinstance(event, ObjectAdded | ObjectChanged | ObjectRemoved):
            for passed in self.shadow.incoming(event, now):
                self._observe(passed)
        self.decide(now)

    def decide(self, now: int) -> None:
        self._now = now
        for event in self.shadow.overdue(now):
            self._observe(event)
        while (due := self.scheduler.due_at(now)) is not None and due <= now:
            decision = self.scheduler.decide(now)
            if decision is not None:
                if self._journal is not None:
                    self._journal.decision(decision, now)
                self.shadow.decided(decision, now, 0)
                self.shadow.perform_all(decision.actions, now)

    def _observe(self, event: Event) -> None:
        if self._journal is not None:
            self._journal.event(event, self._now)
        self.scheduler.observe(event, self._now)
