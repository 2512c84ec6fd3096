"""bayplan's own settings in a KubeSchedulerConfiguration: the args of a plugin that nobody enables.

The format refuses fields it does not know, but for one place: `pluginConfig` may hold args for plugins that are not
built in, and kube-scheduler leaves those alone. So an entry named `bayplan` says what only bayplan understands, and the
real scheduler starts with the same file. See docs/decisions/0015-no-pod-slept-through.md. Takes the profiles as read
from the file; gives the settings. They are the whole scheduler's: profiles that name them must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bayplan.config.decoding import decode_struct
from bayplan.config.faults import Faults
from bayplan.config.schema import Part, Profile
from bayplan.core.framework.requeue import Wakeups

OWN_ENTRY: Final = "bayplan"


class OwnSettings(Part, frozen=True):
    """What the entry may say."""

    wakeups: str = Wakeups.UPSTREAM.value


def read_own_settings(profiles: Sequence[Profile], faults: Faults) -> Wakeups:
    """Which wake-ups the configuration asks for; without an entry those of kube-scheduler."""
    found: Wakeups | None = None
    for position, profile in enumerate(profiles):
        for place, entry in enumerate(profile.plugin_config):
            if entry.name != OWN_ENTRY or entry.args is None:
                continue
            path = f"profiles[{position}].pluginConfig[{place}].args"
            given = decode_struct(OwnSettings, entry.args, path, faults).wakeups
            if given not in [wakeups.value for wakeups in Wakeups]:
                faults.unsupported(f"{path}.wakeups", given, [wakeups.value for wakeups in Wakeups])
            elif found is not None and found is not Wakeups(given):
                faults.add(f"{path}.wakeups", "must be the same for all profiles")
            else:
                found = Wakeups(given)
    return found or Wakeups.UPSTREAM
