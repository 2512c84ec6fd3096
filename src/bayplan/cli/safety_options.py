"""Options that limit preemption: whom it may evict, how many pods in a minute, and when it is a loop.

Each is unset unless it is given, so that the configuration, or the command's own default, decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from bayplan.cli.options import Callback, foreign_victims_option
from bayplan.config.own_settings import SafetySettings
from bayplan.core.preemption.safety import PreemptionSafety

_LIMITS = {
    "evictions_per_minute": "Pods that may be evicted in any minute.",
    "evictions_per_minute_per_namespace": "Pods of one namespace that may be evicted in any minute.",
    "preemption_loop_rounds": "How often pods of one workload may be evicted for those of another, and recreated, "
    "before this counts as a loop and is paused.",
}


def safety_options(otherwise: PreemptionSafety) -> Callable[[Callback], Callback]:
    """The options of a command for which that holds where nobody says anything."""

    def add(command: Callback) -> Callback:
        for name, text in reversed(_LIMITS.items()):
            about = f"{text} 0: no limit. Default: the configuration's, else {getattr(otherwise, name)}."
            option = click.option(f"--{name.replace('_', '-')}", type=click.IntRange(min=0), metavar="N", help=about)
            command = option(command)
        return foreign_victims_option(otherwise.foreign_victims)(command)

    return add


def safety_given(options: Mapping[str, Any]) -> tuple[SafetySettings, dict[str, Any]]:
    """Those that were given, by the names of `PreemptionSafety`, and the options of others."""
    names = ("foreign_victims", *_LIMITS)
    safety = {name: options[name] for name in names if options[name] is not None}
    return safety, {name: value for name, value in options.items() if name not in names}
