"""A profile: the plugins of one scheduler name, in order, at each extension point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from bayplan.core.columns import IntArray, RowArray, row_array
from bayplan.core.columns.loops import Rule
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
from bayplan.core.framework.speed_hints import (
    CompiledFilter,
    CompiledScore,
    ForesightPlugin,
    GroupingScorePlugin,
    OneRowFilter,
    OneRowScore,
    OtherNodes,
    PodParts,
    SelectivePlugin,
)
from bayplan.core.framework.unprepared import UnpreparedFilter
from bayplan.core.snapshot import View

#: What a plugin says of one row.
OneRow: TypeAlias = Callable[[State, View, int], int]


class Scorer(NamedTuple):
    """A score plugin whose scores stand as they are."""

    plugin: ScorePlugin
    prepare: Callable[[PodInfo, View, RowArray], State]
    weight: int
    score_one: OneRow
    rule: Callable[[State], Rule | None]
    stays_in_range: bool


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
        return self.preempts and all(getattr(plugin, "sees_shape_only", False) for plugin in self.post_filter)

    @cached_property
    def normalizers(self) -> dict[str, NormalizePlugin]:
        return {plugin.name: plugin for plugin in self.score if isinstance(plugin, NormalizePlugin)}

    @cached_property
    def one_row_filters(self) -> dict[str, OneRow]:
        """What each filter says of a single row."""
        return {p.name: p.filter_one if isinstance(p, OneRowFilter) else _for_one_row(p.filter) for p in self.filter}

    @cached_property
    def one_row_scores(self) -> dict[str, OneRow]:
        return {p.name: p.score_one if isinstance(p, OneRowScore) else _for_one_row(p.score) for p in self.score}

    @cached_property
    def stays_in_range(self) -> frozenset[str]:
        """Score plugins that promise to."""
        return frozenset(plugin.name for plugin in self.score if getattr(plugin, "stays_in_range", False))

    @cached_property
    def compiled_filters(self) -> dict[str, Callable[[State], Rule | None]]:
        """The rules of filters, as far as the compiled loops know them."""
        return {p.name: p.filter_rule if isinstance(p, CompiledFilter) else _has_no_rule for p in self.filter}

    @cached_property
    def compiled_scores(self) -> dict[str, Callable[[State], Rule | None]]:
        return {p.name: p.score_rule if isinstance(p, CompiledScore) else _has_no_rule for p in self.score}

    @cached_property
    def local_filters(self) -> tuple[FilterPlugin, ...]:
        """The leading filters whose answers for a node last until that node or its pods change."""
        return self.filter[: next((i for i, p in enumerate(self.filter) if Reads.CLUSTER in p.reads), len(self.filter))]

    @cached_property
    def foresighted(self) -> frozenset[str]:
        """Filters that foresee what they say whichever pods leave a node."""
        return frozenset(plugin.name for plugin in self.filter if isinstance(plugin, ForesightPlugin))

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
        return tuple((it, it.concerns if isinstance(it, SelectivePlugin) else None) for it in self.later_pre_filters)

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
            self.one_row_scores[name],
            self.compiled_scores[name],
            stays_in_range=name in self.stays_in_range,
        )

    @cached_property
    def shares_grounds(self) -> bool:
        """Whether what is said of node objects alone depends on nothing but a pod's constraints."""
        lasting = (*self.local_filters[: self.lasting_filter_count], *self.lasting_scorers)
        return all(_parts_of(plugin) == PodParts.CONSTRAINTS for plugin in lasting)

    @cached_property
    def shares_standings(self) -> bool:
        """Whether what the local plugins say depends on nothing but a pod's constraints and requests."""
        return all(_parts_of(plugin) is not None for plugin in (*self.local_filters, *self.local_scorers))

    @cached_property
    def follows_nodes(self) -> bool:
        """Whether a changed node object changes nothing that local plugins say of other nodes, but for images."""
        return all(_other_nodes(plugin) is not None for plugin in (*self.local_filters, *self.local_scorers))

    @cached_property
    def follows_requests(self) -> bool:
        """Whether all local plugins that follow usage look at constraints alone, or promise `follows_requests`."""
        plugins = (*self.local_filters[self.lasting_filter_count :], *self.following_scorers)
        return all(_parts_of(it) == PodParts.CONSTRAINTS or getattr(it, "follows_requests", False) for it in plugins)

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
    def later_scorers(self) -> tuple[ScorePlugin, ...]:
        return tuple(plugin for plugin in self.score if Reads.CLUSTER in plugin.score_reads)

    @cached_property
    def grouping_scorers(self) -> dict[str, GroupingScorePlugin]:
        """Those that can score nodes by groups."""
        return {plugin.name: plugin for plugin in self.score if isinstance(plugin, GroupingScorePlugin)}

    @cached_property
    def pre_scorers(self) -> dict[str, PreScorePlugin]:
        return {plugin.name: plugin for plugin in self.pre_score}


def _parts_of(plugin: object) -> PodParts | None:
    """None: anything in its shape."""
    parts: PodParts | None = getattr(plugin, "pod_parts", None)
    return parts


def _other_nodes(plugin: object) -> OtherNodes | None:
    """None: anything."""
    other_nodes: OtherNodes | None = getattr(plugin, "other_nodes", None)
    return other_nodes


def _looks_at_images(plugin: object) -> bool:
    return OtherNodes.IMAGES in (_other_nodes(plugin) or OtherNodes.NOTHING)


def _as_it_is(pod: PodInfo, view: View, rows: RowArray) -> State:  # noqa: ARG001
    """What a plugin without PreScore gets."""
    return pod


def _has_no_rule(state: State) -> Rule | None:  # noqa: ARG001
    return None


def _for_one_row(ask: Callable[[State, View, RowArray], IntArray]) -> OneRow:
    return lambda state, view, row: ask(state, view, row_array([row])).item()
