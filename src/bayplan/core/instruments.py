"""Where those who measure a scheduler put something around its parts, as `serving/metrics/timed_plugins.py` does.

Nothing is measured in the core.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.deciding import Decider
from bayplan.core.framework.group_observer import NOBODY, GroupObserver
from bayplan.core.framework.profile import Profile
from bayplan.core.queue.hints import QueueProfile


class Instruments:
    """Leaves every part as it is."""

    def profile(self, profile: Profile) -> Profile:
        """The profile with other plugins, which must give the same answers."""
        return profile

    def queue_profile(self, scheduler_name: str, profile: QueueProfile) -> QueueProfile:  # noqa: ARG002
        """What the queue needs of a profile, with the scheduler's own gates."""
        return profile

    def decider(self, profiles: Mapping[str, Profile]) -> Decider:
        """One that decides on a new cache."""
        return Decider(profiles)

    def groups(self) -> GroupObserver:
        """Who is told how attempts on pod groups go on."""
        return NOBODY
