"""Which profile of a configuration decides on a pod, and whose pods may be preempted."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.config.loading import Configuration
from bayplan.config.own_settings import with_settings
from bayplan.core.framework.profile import Profile
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod


def own_schedulers_of(configuration: Configuration, foreign_victims: str | None) -> frozenset[str] | None:
    """Those whose pods may be preempted, None: all. Raises ValueError for a setting that does not exist."""
    safety = with_settings(
        configuration.safety, None if foreign_victims is None else {"foreign_victims": foreign_victims}
    )
    return safety.own_schedulers(spec.scheduler_name for spec in configuration.profiles)


def profile_of(profiles: Mapping[str, Profile], pod: Pod) -> Profile:
    name = pod.spec.scheduler_name
    if name not in profiles:
        message = f"no profile for scheduler {name!r}; known profiles: {', '.join(sorted(profiles))}"
        raise fault_of(pod, "spec.schedulerName", message)
    return profiles[name]


def fault_of(pod: Pod, field_path: str, message: str) -> InvalidObject:
    """What is wrong with a pod that somebody asked about."""
    return InvalidObject([Fault("", f"Pod {object_key(pod)}", field_path, message)])
