"""A profile: the plugins of one scheduler name, in order, at each extension point."""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.core.framework.args import DefaultPreemptionArgs
from bayplan.core.framework.contract import (
    FilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)


@dataclass(frozen=True, slots=True)
class Profile:
    """Plugins as a configuration orders them."""

    scheduler_name: str
    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    pre_filter: tuple[PreFilterPlugin, ...]
    filter: tuple[FilterPlugin, ...]
    post_filter: tuple[str, ...]  # names: preemption is a stage of the core, not a call back from a plugin
    pre_score: tuple[PreScorePlugin, ...]
    score: tuple[ScorePlugin, ...]
    weights: dict[str, int]
    percentage_of_nodes_to_score: int | None = None  # None: look at every node
    preemption: DefaultPreemptionArgs | None = None  # None: every candidate is looked for
