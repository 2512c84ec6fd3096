"""A cluster to ask questions of: files or objects in, explanations and placements out.

The objects go through admission as an API server would take them; workloads without pods count as the pods they would
create. Nothing is written anywhere, and a question leaves the cluster as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayplan.admission import admit
from bayplan.analysis.placement import Placement, place_pods
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.controllers.disruption import fill_budget_status
from bayplan.core.cache import FINISHED_PHASES, Cache
from bayplan.core.choosing import tie_break
from bayplan.core.cycle import attempt, pre_enqueue
from bayplan.core.explain import Explanation
from bayplan.core.framework.profile import Profile
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.reading import ReadResult, from_dicts, read

ConfigSource = str | Path | Mapping[str, Any] | None


class Cluster:
    """Nodes, pods and everything else a scheduler looks at."""

    def __init__(self, objects: list[Object], skipped: Counter[str] | None = None) -> None:
        self.objects = admit(objects)
        self.skipped: Counter[str] = skipped or Counter()  # kinds that were passed over
        fill_budget_status(self.objects)
        self.pods: dict[str, Pod] = {_key(thing): thing for thing in self.objects if isinstance(thing, Pod)}

    @classmethod
    def load(cls, *paths: str | Path) -> Cluster:
        """From files and folders, YAML or JSON; `-` is standard input. Raises InvalidObject."""
        return cls._from(read(paths))

    @classmethod
    def from_objects(cls, objects: Iterable[Mapping[str, Any]]) -> Cluster:
        """From Kubernetes objects as plain dicts. Raises InvalidObject."""
        return cls._from(from_dicts(list(objects)))

    @classmethod
    def _from(cls, result: ReadResult) -> Cluster:
        return cls(result.objects, result.skipped)

    def explain(self, pod: str, config: ConfigSource = None) -> Explanation:
        """Where could this pod go, why not elsewhere, and who would have to make room?"""
        wanted = self.find_pod(pod)
        profile = self._profile_for(wanted, config)
        cache = self.build_cache(without=pod)
        info = cache.info(wanted)
        view = cache.view()
        return Explanation(attempt(profile, info, view), view, pre_enqueue(profile, info))

    def place(self, pods: Sequence[str], config: ConfigSource = None, ties: str = "name") -> Placement:
        """Place these pending pods one after another, preempting where it must."""
        profiles = build_profiles(load_configuration(config))
        pending = [self.find_pod(key) for key in pods]
        return place_pods(self.build_cache(), profiles, pending, tie_break(ties))

    def pending_pods(self) -> list[str]:
        """Keys of the pods that wait for a node, in order of arrival."""
        return [
            key for key, pod in self.pods.items() if not pod.spec.node_name and pod.status.phase not in FINISHED_PHASES
        ]

    def find_pod(self, key: str) -> Pod:
        pod = self.pods.get(key)
        if pod is None:
            raise InvalidObject([Fault("", f"Pod {key}", "", "not found among the objects given")])
        return pod

    def build_cache(self, without: str = "") -> Cache:
        """The cluster as the scheduler sees it, leaving one pod out."""
        cache = Cache()
        for thing in self.objects:
            if not (isinstance(thing, Pod) and _key(thing) == without):
                cache.add(thing)
        return cache

    def _profile_for(self, pod: Pod, config: ConfigSource) -> Profile:
        profiles = build_profiles(load_configuration(config))
        return profile_of(profiles, pod)


def profile_of(profiles: Mapping[str, Profile], pod: Pod) -> Profile:
    name = pod.spec.scheduler_name
    if name not in profiles:
        message = f"no profile for scheduler {name!r}; there are: {', '.join(sorted(profiles))}"
        raise InvalidObject([Fault("", f"Pod {_key(pod)}", "spec.schedulerName", message)])
    return profiles[name]


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
