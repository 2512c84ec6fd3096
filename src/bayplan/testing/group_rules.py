"""The rules for plugins that see pod groups as a whole; those that hold for all plugins alike are in `plugin_rules`.

Each rule takes a trial (a plugin and a scene) and raises `Breach`.
"""

from __future__ import annotations

from dataclasses import replace

from bayplan.core.framework.speed_hints import hint
from bayplan.core.framework.verdict import Status
from bayplan.model.node import Node
from bayplan.testing.asking import Case, case_of, require
from bayplan.testing.asking_groups import (
    assignments_in,
    generated,
    out_of_range,
    placement_scores,
    placements_of,
)
from bayplan.testing.plugin_rules import Trial


def does_not_care_in_which_order_nodes_came(trial: Trial) -> None:
    nodes = [obj for obj in trial.scene.objects if isinstance(obj, Node)]
    others = [obj for obj in trial.scene.objects if not isinstance(obj, Node)]
    for pod in trial.scene.waiting if trial.sees_placements else ():
        case, reverse = trial.case(pod), case_of([*reversed(nodes), *others], pod)
        if "placementGenerate" in trial.points:
            said, said_then = placements_of(trial.plugin, case), placements_of(trial.plugin, reverse)
            require(said == said_then, "order", f"{said}, but {said_then} if nodes are added in reverse")
        if "placementScore" in trial.points:
            scores, scores_then = _by_name(trial, case), _by_name(trial, reverse)
            for name, score in scores.items():
                message = f"{name}: {score}, but {scores_then[name]} if nodes are added in reverse"
                # On all nodes the members are elsewhere then.
                require(name == "all" or score == scores_then[name], "order", message)


def scores_from_0_to_100(trial: Trial) -> None:
    for case in trial.cases() if "placementScore" in trial.points else ():
        every = assignments_in(case)
        for assignments in (every, every[1:]) if every else ():
            scores = placement_scores(trial.plugin, case, assignments)
            trial.seen.placement_scores.update(scores.tolist())
            outside = out_of_range(scores)
            require(not outside, "range", f"final scores of placements are 0 to 100, not {outside}")


def divides_nodes(trial: Trial) -> None:
    """Nothing is wrong with one placement, but a plugin that never makes more was not put to the test."""
    for case in trial.cases() if "placementGenerate" in trial.points else ():
        said = generated(trial.plugin, case)
        trial.seen.divided |= isinstance(said, Status) or len(said) > 1


def looks_at_counts_alone(trial: Trial) -> None:
    """A plugin that says it sees counts only scores alike wherever the members are."""
    if "placementScore" not in trial.points or not hint(trial.plugin, "sees_counts_only"):
        return
    for case in trial.cases():
        every = assignments_in(case)
        if every:
            scores = placement_scores(trial.plugin, case, every)
            then = placement_scores(trial.plugin, case, [replace(each, node_rows=None) for each in every])
            same = scores.tolist() == then.tolist()
            require(same, "counts", f"{scores.tolist()}, but {then.tolist()} if it is not known where members are")


def _by_name(trial: Trial, case: Case) -> dict[str, int]:
    assignments = assignments_in(case)
    if not assignments:
        return {}
    scores = placement_scores(trial.plugin, case, assignments).tolist()
    return {each.placement.name: score for each, score in zip(assignments, scores, strict=True)}
