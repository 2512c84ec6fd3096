"""Checks a plugin against its contract, on clusters generated from seeds.

Takes a plugin or, preferably, its class or a factory; returns nothing, or raises AssertionError with the plugin, the
rule, the seed and the problem. A rule can be waived by name, for a plugin that breaks it on purpose. A plugin that
never did anything is reported instead of passing: give it scenes with something it reacts to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

from bayplan.config.plugin_loading import PluginError, checked_points
from bayplan.core.framework.verdict import CycleError
from bayplan.testing import (
    change_rules,
    compiled_rules,
    foresight_rules,
    group_rules,
    other_node_rules,
    plugin_rules,
    signature_rules,
)
from bayplan.testing.asking import Breach
from bayplan.testing.clusters import Scene, small_scene
from bayplan.testing.plugin_rules import Seen, Trial

SEEDS: Final = range(30)

#: Every rule, in the order in which they are tried.
RULES: Final = MappingProxyType(
    {
        "form": "it implements its extension points in full, returns int64 arrays and statuses, and never raises",
        "untouched": "it does not modify the snapshot",
        "reasons": "every failure code has reasons, and is Unschedulable or UnschedulableAndUnresolvable",
        "repeat": "the same question always gets the same answer, byte for byte",
        "rows": "any selection of rows, in any order, gets the answers for those rows",
        "order": "the order in which nodes were added does not matter",
        "empty": "it works with no nodes, and with one",
        "range": "final scores are 0 to 100",
        "counts": "a plugin that `sees_counts_only` scores placements the same wherever the members are",
        "concerns": "it skips pods that `concerns` rules out",
        "reads": "reusable answers change only as declared by `reads` and `score_reads`",
        "signature": "pods that `sign_pod` signs alike get the same answers",
        "other nodes": "changes to other nodes affect a node's answer only as declared by `other_nodes`",
        "what-if": "each node has its own what-if world, and changing a fork does not affect the original",
        "moved pods": "a what-if world gives the same answer as actually moving the pods",
        "foresight": "what `foresee` predicts for a node holds whichever pods leave it, for all pods of the shape",
        "compiled": "`filter_rule` and `score_rule` stand for what `filter` and `score` say of every row",
        "wakes": "it registers for every event that can make a rejected pod fit",
        "exercised": "the test clusters make it pass and reject nodes, give different scores, or divide nodes",
    }
)

_CHECKS: Final[tuple[tuple[str, Callable[[Trial], None]], ...]] = (
    ("untouched", plugin_rules.leaves_the_snapshot_alone),  # before anything is asked that could leave its marks
    ("reasons", plugin_rules.gives_reasons),
    ("repeat", plugin_rules.says_the_same_twice),
    ("rows", plugin_rules.answers_row_by_row),
    ("order", plugin_rules.does_not_care_in_which_order_nodes_came),
    ("empty", plugin_rules.works_without_nodes_and_with_one),
    ("range", plugin_rules.scores_from_0_to_100),
    ("order", group_rules.does_not_care_in_which_order_nodes_came),
    ("range", group_rules.scores_from_0_to_100),
    ("counts", group_rules.looks_at_counts_alone),
    ("exercised", group_rules.divides_nodes),
    ("concerns", plugin_rules.skips_what_does_not_concern_it),
    ("reads", change_rules.reads_what_it_says),
    ("signature", signature_rules.looks_at_what_it_signs),
    ("other nodes", other_node_rules.looks_at_other_nodes_as_it_says),
    ("what-if", change_rules.keeps_worlds_apart),
    ("moved pods", change_rules.follows_pods_that_move),
    ("foresight", foresight_rules.foresees_what_it_says),
    ("compiled", compiled_rules.means_what_its_rules_say),
    ("wakes", change_rules.misses_no_wake_up),
)


def check_plugin(
    plugin_or_factory: Any,
    *,
    seeds: Iterable[int] = SEEDS,
    scenes: Callable[[int], Scene] = small_scene,
    waived: Collection[str] = (),
) -> None:
    """Try every rule on the scene of every seed.

    Args:
        plugin_or_factory: A plugin, its class, or a function without arguments that creates one.
        seeds: One scene is generated for each.
        scenes: Generates the scene for a seed; see `small_scene`, which takes your own patterns.
        waived: Names of rules that need not hold; see `RULES`.
    """
    unknown = sorted(set(waived) - set(RULES))
    assert not unknown, f"unknown rule {', '.join(unknown)}; rules are {', '.join(RULES)}"
    plugin, fresh = instances_of(plugin_or_factory)
    name = getattr(plugin, "name", type(plugin).__name__)
    try:
        points = checked_points(type(plugin))
    except PluginError as error:
        raise AssertionError(f"{name} breaks the rule `form`: {error}") from error
    seen = Seen()
    for seed in seeds:
        trial = Trial(plugin, fresh, points, scenes(seed), seen)
        for rule, check in _CHECKS:
            if rule not in waived:
                _try(rule, check, trial, name, waived)
    if "exercised" not in waived:
        _check_exercised(name, points, seen)


def instances_of(plugin_or_factory: Any) -> tuple[Any, Callable[[], Any]]:
    """The plugin, and a function that returns an unused one."""
    if isinstance(plugin_or_factory, type) or (callable(plugin_or_factory) and not hasattr(plugin_or_factory, "name")):
        return plugin_or_factory(), plugin_or_factory
    untouched = deepcopy(plugin_or_factory)
    return plugin_or_factory, lambda: deepcopy(untouched)


def _try(rule: str, check: Callable[[Trial], None], trial: Trial, name: str, waived: Collection[str]) -> None:
    found = ""
    cause: Exception
    try:
        check(trial)
        return
    except Breach as breach:
        if breach.rule in waived:
            return
        rule, found, cause = breach.rule, breach.message, breach
    except CycleError:
        return  # the contract allows a plugin to give up on a pod
    except Exception as error:
        found, cause = f"it raises {type(error).__name__} while checking `{rule}`: {error}", error
        rule = "form"
    raise AssertionError(
        f"{name} breaks the rule `{rule}` (seed {trial.scene.seed}): {found}. The rule: {RULES[rule]}."
    ) from cause


def _check_exercised(name: str, points: frozenset[str], seen: Seen) -> None:
    idle = []
    if "filter" in points and not seen.rejected:
        idle.append("it rejected no node")
    if "filter" in points and not seen.passed:
        idle.append("it passed no node")
    if "score" in points and len(seen.scores) < 2:
        idle.append("all its scores were equal")
    if "placementScore" in points and len(seen.placement_scores) < 2:
        idle.append("all its scores of placements were equal")
    if "placementGenerate" in points and not seen.divided:
        idle.append("it made no more than one placement")
    assert not idle, (
        f"{name} was not exercised (rule `exercised`): {' and '.join(idle)} in any scene; "
        f"pass scenes that exercise it to check_plugin"
    )
