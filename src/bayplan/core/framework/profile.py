"""A profile: the plugins of one scheduler name, in order, at each extension point."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import DEFAULT_PREEMPTION, DefaultPreemptionArgs
from bayplan.core.framework.contract import (
    BindPlugin,
    FilterPlugin,
    NormalizePlugin,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFlightPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    Reads,
    ReservePlugin,
    ScorePlugin,
    State,
)
from bayplan.core.framework.extender import Extender
from bayplan.core.framework.group_plugins import NO_GROUP_PLUGINS, GroupPlugins
from bayplan.core.framework.speed_hints import NodeGroups, OtherNodes, Signer, hint, sign_shape
from bayplan.core.framework.unprepared import UnpreparedFilter
from bayplan.core.snapshot import View

#: What plugins look at in a pod.
Signature: TypeAlias = Hashable


class Signatures(NamedTuple):
    """What a pod looks like; equal for pods that look alike."""

    of_nodes: Signature  # to local plugins that look at node objects alone
    of_all: Signature  # to all local plugins


class Scorer(NamedTuple):
    """A score plugin whose scores stand as they are."""

    plugin: ScorePlugin
    prepare: Callable[[PodInfo, View, RowArray], State]
    weight: int
    stays_in_range: bool


class LaterScorer(NamedTuple):
    """A score plugin that reads the cluster, with what it has of `SpeedHints`."""

    plugin: ScorePlugin
    tells_nodes_apart: Callable[[PodInfo], bool] | None
    speaks: Callable[[PodInfo, View], bool] | None
    group_nodes: Callable[[PodInfo, View, RowArray], NodeGroups | None] | None


@dataclass(frozen=True)
class Profile:
    """Plugins as a configuration orders them. What is asked of them again and again is worked out once."""

    scheduler_name: str
    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    pre_filter: tuple[PreFilterPlugin, ...]
    filter: tuple[FilterPlugin, ...]
    post_filter: tuple[PostFilterPlugin, ...]
    pre_score: tuple[PreScorePlugin, ...]
    score: tuple[ScorePlugin, ...]
    weights: dict[str, int]
    reserve: tuple[ReservePlugin, ...] = ()
    permit: tuple[PermitPlugin, ...] = ()
    pre_bind: tuple[PreBindPlugin, ...] = ()
    bind: BindPlugin | None = None  # None: to the node that was chosen
    post_bind: tuple[PostBindPlugin, ...] = ()
    queue_sort: QueueSortPlugin | None = None
    percentage_of_nodes_to_score: int | None = None  # None: look at every node
    preemption: DefaultPreemptionArgs | None = None  # None: every candidate is looked for
    extenders: tuple[Extender, ...] = ()  # those of all profiles, in the order in which they are asked
    groups: GroupPlugins = NO_GROUP_PLUGINS  # what is asked of pod groups

    @cached_property
    def _pre_flights(self) -> tuple[tuple[PreBindPlugin, Callable[[PodInfo], bool] | None], ...]:
        return tuple((p, p.pre_bind_pre_flight if isinstance(p, PreFlightPlugin) else None) for p in self.pre_bind)

    def pre_bind_for(self, pod: PodInfo) -> list[PreBindPlugin]:
        """The PreBind plugins that may have something to do for the pod."""
        return [plugin for plugin, is_needed in self._pre_flights if is_needed is None or is_needed(pod)]

    @cached_property
    def preempts(self) -> bool:
        """Whether pods of lower priority may have to leave."""
        return any(plugin.name == DEFAULT_PREEMPTION for plugin in self.post_filter)

    @cached_property
    def shares_post_filters(self) -> bool:
        """Whether candidates may be kept, and what PostFilter plugins say reused for identical pods."""
        return self.preempts and all(hint(plugin, "sees_shape_only") for plugin in self.post_filter)

    @cached_property
    def normalizers(self) -> dict[str, NormalizePlugin]:
        return {plugin.name: plugin for plugin in self.score if isinstance(plugin, NormalizePlugin)}

    @cached_property
    def in_group_trials(self) -> Profile:
        """The profile by which a group is placed when all that it may preempt is gone."""
        score = tuple(each for each in self.score if not getattr(each, "is_silent_in_group_trials", False))
        return replace(self, score=score)

    @cached_property
    def local_filters(self) -> tuple[FilterPlugin, ...]:
        """The leading filters whose answers for a node last until that node or its pods change."""
        return self.filter[: next((i for i, p in enumerate(self.filter) if Reads.CLUSTER in p.reads), len(self.filter))]

    @cached_property
    def foresighted(self) -> frozenset[str]:
        """Filters that foresee what they say whichever pods leave a node."""
        return frozenset(plugin.name for plugin in self.filter if hint(plugin, "foresee"))

    @cached_property
    def later_filters(self) -> tuple[FilterPlugin, ...]:
        """The filters behind the local ones."""
        return self.filter[len(self.local_filters) :]

    @cached_property
    def local_pre_filters(self) -> dict[str, PreFilterPlugin]:
        local = {plugin.name for plugin in self.local_filters}
        return {plugin.name: plugin for plugin in self.pre_filter if plugin.name in local}

    @cached_property
    def later_pre_filters(self) -> tuple[PreFilterPlugin, ...]:
        return tuple(plugin for plugin in self.pre_filter if plugin.name not in self.local_pre_filters)

    @cached_property
    def asks_later_about_each_pod(self) -> bool:
        """Whether a filter behind the local ones has no PreFilter, which could skip a pod."""
        prepared = {plugin.name for plugin in self.later_pre_filters}
        return any(plugin.name not in prepared for plugin in self.later_filters)

    @cached_property
    def _later_concerns(self) -> tuple[tuple[PreFilterPlugin, Callable[[PodInfo], bool] | None], ...]:
        return tuple((plugin, hint(plugin, "concerns")) for plugin in self.later_pre_filters)

    def later_pre_filters_for(self, pod: PodInfo) -> list[PreFilterPlugin]:
        """Those that may have something to do for such pods."""
        return [plugin for plugin, concerns in self._later_concerns if concerns is None or concerns(pod)]

    @cached_property
    def lacks_pre_filter(self) -> bool:
        """Whether a filter has a PreFilter that the profile leaves out."""
        prepared = {plugin.name for plugin in self.pre_filter}
        return any(
            plugin.name not in prepared and isinstance(plugin, PreFilterPlugin | UnpreparedFilter)
            for plugin in self.filter
        )

    @cached_property
    def local_scorers(self) -> tuple[ScorePlugin, ...]:
        """Score plugins whose raw scores last as local filters' answers do."""
        return tuple(plugin for plugin in self.score if Reads.CLUSTER not in plugin.score_reads)

    @cached_property
    def lasting_filter_count(self) -> int:
        """How many of the local filters come before the first one that follows usage."""
        filters = self.local_filters
        return next((i for i, plugin in enumerate(filters) if Reads.USAGE in plugin.reads), len(filters))

    @cached_property
    def lasting_scorers(self) -> tuple[ScorePlugin, ...]:
        """The local ones that look at node objects alone."""
        return tuple(plugin for plugin in self.local_scorers if Reads.USAGE not in plugin.score_reads)

    @cached_property
    def following_scorers(self) -> tuple[ScorePlugin, ...]:
        """The local ones that follow usage."""
        return tuple(plugin for plugin in self.local_scorers if Reads.USAGE in plugin.score_reads)

    @cached_property
    def followers(self) -> tuple[Scorer, ...]:
        """`following_scorers`, each with what is needed to ask it."""
        return tuple(map(self.scorer, self.following_scorers))

    def scorer(self, plugin: ScorePlugin) -> Scorer:
        """A score plugin that is not normalized, with what is needed to ask it."""
        name, pre = plugin.name, self.pre_scorers.get(plugin.name)
        assert name not in self.normalizers, f"{name}: scores are normalized"
        return Scorer(
            plugin,
            pre.pre_score if pre is not None else _as_it_is,
            self.weights[name],
            stays_in_range=bool(hint(plugin, "stays_in_range")),
        )

    @cached_property
    def _signers_of_nodes(self) -> tuple[Signer, ...]:
        return _signers((*self.local_filters[: self.lasting_filter_count], *self.lasting_scorers))

    @cached_property
    def _sign_for_nodes(self) -> Signer:
        return _as_one(self._signers_of_nodes)

    @cached_property
    def _sign_for_others(self) -> Signer:
        signers = _signers((*self.local_filters, *self.local_scorers))
        return _as_one([signer for signer in signers if signer not in self._signers_of_nodes])

    def signatures(self, pod: PodInfo) -> Signatures:
        """What the pod looks like to local plugins."""
        of_nodes = self._sign_for_nodes(pod)
        return Signatures(of_nodes, (of_nodes, self._sign_for_others(pod)))

    @cached_property
    def follows_nodes(self) -> bool:
        """Whether a changed node object changes nothing that local plugins say of other nodes, but for images."""
        return all(_other_nodes(plugin) is not None for plugin in (*self.local_filters, *self.local_scorers))

    @cached_property
    def follows_requests(self) -> bool:
        """Whether local plugins that follow usage look at no more than others do, or promise `follows_requests`."""
        plugins = (*self.local_filters[self.lasting_filter_count :], *self.following_scorers)
        others = [plugin for plugin in plugins if not hint(plugin, "follows_requests")]
        return set(_signers(others)) <= set(self._signers_of_nodes)

    @cached_property
    def looks_at_images(self) -> bool:
        """Whether what local plugins say of a node depends on the images of others."""
        return any(map(_looks_at_images, (*self.local_filters, *self.local_scorers)))

    @cached_property
    def only_plain_scores_look_at_images(self) -> bool:
        """Whether all of those are scores that do not follow usage and are not normalized."""
        scorers = [plugin for plugin in self.local_scorers if _looks_at_images(plugin)]
        plain = all(plugin in self.lasting_scorers and plugin.name not in self.normalizers for plugin in scorers)
        return plain and not any(map(_looks_at_images, self.local_filters))

    @cached_property
    def _later_scorers(self) -> tuple[LaterScorer, ...]:
        names = "tells_nodes_apart", "speaks", "group_nodes"
        later = [plugin for plugin in self.score if Reads.CLUSTER in plugin.score_reads]
        return tuple(LaterScorer(plugin, *(hint(plugin, name) for name in names)) for plugin in later)

    def later_scorers_for(self, pod: PodInfo) -> list[LaterScorer]:
        """Score plugins that read the cluster and may tell nodes apart for such pods."""
        return [it for it in self._later_scorers if it.tells_nodes_apart is None or it.tells_nodes_apart(pod)]

    @cached_property
    def pre_scorers(self) -> dict[str, PreScorePlugin]:
        return {plugin.name: plugin for plugin in self.pre_score}


def _signers(plugins: Iterable[object]) -> tuple[Signer, ...]:
    """One for each way of looking at pods; one that sees everything stands for all."""
    signers = dict.fromkeys(hint(plugin, "sign_pod") or sign_shape for plugin in plugins)
    return (sign_shape,) if sign_shape in signers else tuple(signers)


def _as_one(signers: Sequence[Signer]) -> Signer:
    """A single signer, which there mostly is, is asked without a detour."""
    return signers[0] if len(signers) == 1 else lambda pod: tuple([sign(pod) for sign in signers])


def _other_nodes(plugin: object) -> OtherNodes | None:
    """None: anything."""
    other_nodes: OtherNodes | None = hint(plugin, "other_nodes")
    return other_nodes


def _looks_at_images(plugin: object) -> bool:
    return OtherNodes.IMAGES in (_other_nodes(plugin) or OtherNodes.NOTHING)


def _as_it_is(pod: PodInfo, view: View, rows: RowArray) -> State:  # noqa: ARG001
    """What a plugin without PreScore gets."""
    return pod
