"""The wavefront over all nodes against a slow version that tries one node at a time.

The slow version follows the description step by step: for every filter run it builds a new cluster from the plain
objects, in which the pods in question are simply not there (or, for nominated pods, are), and filters from scratch. So
neither the shifting of plugin states nor worlds of their own are used in it.

Upstream does not count anew when pods come and go, and that can be seen. The slow version models one such trait: a
plugin that had nothing to do with all pods in place stays out of every dry run. The generated clusters keep away from
the others, which have tests of their own in `tests/unit/core/preemption/test_candidates.py`: no two pods of a node hold
the same port, terminating pods are not those that a spread constraint selects, and the exclusive claim has one user and
one namespace. Nodes have at most twelve potential victims, so the order of equal ones is that of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hypothesis import event, given
from tests.oracle.preemption_clusters import PRIORITY, World, crowds, key_of, placed, worlds
from tests.support.caches import cache_of
from tests.support.examples import examples
from tests.support.preemption_attempts import default_profile, tried_in

from bayplan.core.columns import row_array
from bayplan.core.filtering import PASSED, filter_pod, run_pre_filters
from bayplan.core.framework.contract import SKIP
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.preemption.candidates import NO_VICTIMS, candidates_of, dry_run, groups_without_success
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.preemption.select import PRIORITY_OFFSET, select
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget

Attempts = list[tuple[str, Status]]


@dataclass
class Outcome:
    """What trying one node came to."""

    victims: list[str]
    violations: int
    attempts: Attempts
    failure: Status | None = None


# The slow version.


def priority(one: Pod) -> int:
    return one.spec.priority or 0


def started(one: Pod) -> str:
    """Times are written alike, so text compares as they do; unknown is later than any."""
    return one.status.start_time or "later"


def by_importance(pods: Sequence[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda one: (-priority(one), started(one)))


def without_idle_plugins(world: World) -> Profile:
    """The default profile without plugins that have nothing to do for the pod while everybody is in place."""
    cache = world.cache()
    info = cache.info(world.wanting)
    states = run_pre_filters(default_profile(), info, cache.view()).states
    idle = {name for name, state in states.items() if state is SKIP}
    profile = default_profile()
    return replace(
        profile,
        pre_filter=tuple(plugin for plugin in profile.pre_filter if plugin.name not in idle),
        filter=tuple(plugin for plugin in profile.filter if plugin.name not in idle),
    )


def verdict(profile: Profile, world: World, name: str, present: Sequence[Pod]) -> Status:
    """Of one node in a cluster of just these pods."""
    cache = cache_of(*world.nodes, *world.others, *present)
    info, view = cache.info(world.wanting), cache.view()
    filtered = filter_pod(profile, info, view)
    return filtered.status_of(view, view.nodes.rows_by_name[name])


def verdict_with_nominated(profile: Profile, world: World, name: str, gone: Sequence[Pod]) -> Status:
    """With nominated pods that are no less important, then without them."""
    missing = {key_of(one) for one in gone}
    present = [one for one in world.running() if key_of(one) not in missing]
    waiting = [
        placed(one, name)
        for one in world.nominated
        if one.status.nominated_node_name == name and priority(one) >= priority(world.wanting)
    ]
    if waiting:
        status = verdict(profile, world, name, [*present, *waiting])
        if not status.ok:
            return status
    return verdict(profile, world, name, present)


def covers(guard: PodDisruptionBudget, one: Pod) -> bool:
    labels, selector = one.metadata.labels, guard.spec.selector
    if not labels or selector is None or not selector.match_labels:
        return False
    if guard.metadata.namespace != one.metadata.namespace:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items())


def violating(pods: Sequence[Pod], guards: Sequence[PodDisruptionBudget]) -> set[str]:
    """Pods, the most important first, that find a budget used up."""
    allowed = [guard.status.disruptions_allowed if guard.status else 0 for guard in guards]
    found = set()
    for one in pods:
        for place, guard in enumerate(guards):
            if not covers(guard, one):
                continue
            if guard.status and one.metadata.name in guard.status.disrupted_pods:
                continue
            allowed[place] -= 1
            if allowed[place] < 0:
                found.add(key_of(one))
    return found


def may_go(one: Pod, world: World) -> bool:
    return world.own_schedulers is None or one.spec.scheduler_name in world.own_schedulers


def try_node(profile: Profile, world: World, name: str) -> Outcome:
    potential = [one for one in world.pods_on(name) if priority(one) < priority(world.wanting) and may_go(one, world)]
    if not potential:
        return Outcome([], 0, [], NO_VICTIMS)
    emptied = verdict_with_nominated(profile, world, name, potential)
    if not emptied.ok:
        return Outcome([], 0, [], emptied)
    ordered = by_importance(potential)
    used_up = violating(ordered, world.budgets)
    trials = [one for one in ordered if key_of(one) in used_up] + [one for one in ordered if key_of(one) not in used_up]
    gone, victims, attempts = list(ordered), list[Pod](), Attempts()
    for one in trials:
        gone.remove(one)
        status = verdict_with_nominated(profile, world, name, gone)
        attempts.append((key_of(one), status))
        if not status.ok:
            gone.append(one)
            victims.append(one)
    if not victims:
        message = f'expected at least one victim pod on node "{name}"'
        return Outcome([], 0, attempts, Status(Code.ERROR, (message,)))
    keys = [key_of(one) for one in by_importance(victims)]
    return Outcome(keys, len(used_up.intersection(keys)), attempts)


def cheapest(outcomes: dict[str, Outcome], world: World) -> list[str]:
    pods = {key_of(one): one for one in world.running()}
    left = {
        name: ([pods[key] for key in found.victims], found.violations)
        for name, found in outcomes.items()
        if found.failure is None
    }
    costs: list[Callable[[list[Pod], int], int]] = [
        lambda victims, violations: violations,
        lambda victims, violations: priority(victims[0]),
        lambda victims, violations: sum(priority(one) + PRIORITY_OFFSET for one in victims),
        lambda victims, violations: len(victims),
    ]
    for cost in costs:
        least = min((cost(*found) for found in left.values()), default=0)
        left = {name: found for name, found in left.items() if cost(*found) == least}
    starts = {
        name: min(started(one) for one in victims if priority(one) == priority(victims[0]))
        for name, (victims, _) in left.items()
    }
    latest = max(starts.values(), default="")
    return sorted(name for name, start in starts.items() if start == latest)


# The comparison.


def assert_wavefront_agrees(world: World) -> None:
    cache = world.cache()
    info, view = cache.info(world.wanting), cache.view()
    filtered = filter_pod(default_profile(), info, view)
    assert filtered.pre.status.ok
    profile = without_idle_plugins(world)
    names = view.nodes.names
    statuses = {name: verdict_with_nominated(profile, world, name, []) for name in names}
    assert {name: filtered.status_of(view, row) for row, name in enumerate(names)} == statuses
    worth_a_try = [row for row, name in enumerate(names) if statuses[name].code is Code.UNSCHEDULABLE]
    assert potential_rows(filtered, view).tolist() == worth_a_try

    # Every node is tried here, worth it or not: the description of a trial holds for all.
    expected = {name: try_node(profile, world, name) for name in names}
    found = dry_run(info, view, filtered, row_array(range(len(names))))
    candidates = candidates_of(found, view)
    outcomes = {name: Outcome([], 0, []) for name in names}
    spared = [key_of(one) for one in world.running() if priority(one) < PRIORITY and not may_go(one, world)]
    assert sorted(view.pods.keys[row] for row in found.potential.foreign_rows) == sorted(spared)
    for status, rows in groups_without_success(found, view, filtered):
        for row in rows:
            outcomes[names[row]].failure = status
    for position, row in enumerate(candidates.rows.tolist()):
        outcomes[names[row]].victims = [view.pods.keys[victim] for victim in candidates.victims_of(position)]
        outcomes[names[row]].violations = int(candidates.violations[position])
    for step in found.steps:
        for place, rejected_by, code in zip(
            step.positions, step.verdicts.rejected_by, step.verdicts.codes, strict=True
        ):
            status = (
                Status(Code.SUCCESS) if rejected_by == PASSED else filtered.explain(view, int(rejected_by), int(code))
            )
            name, key = names[found.potential.node_rows[place]], view.pods.keys[found.potential.pod_rows[place]]
            outcomes[name].attempts.append((key, status))
    assert outcomes == expected
    assert sorted(names[row] for row in candidates.rows[select(candidates, view).tied]) == cheapest(expected, world)
    note(outcomes)


def note(outcomes: dict[str, Outcome]) -> None:
    """For `pytest --hypothesis-show-statistics`: which filters the trials met."""
    for outcome in outcomes.values():
        for _, status in outcome.attempts:
            event("put back: " + (status.plugin or "fits"))
        if outcome.failure is not None:
            event(f"failure: {outcome.failure.plugin or outcome.failure.reasons[0][:20]}")


@examples(100)
@given(worlds())
def test_wavefront(world: World) -> None:
    """Statuses, attempts, victims, violations and the choice are those of trying nodes one by one."""
    assert_wavefront_agrees(world)


@given(crowds())
def test_choice(world: World) -> None:
    """Of nodes that are alike the criteria leave those that comparing by hand leaves."""
    done = tried_in(world.cache(), world.wanting)
    expected = {}
    for one in world.nodes:
        pods = by_importance(world.pods_on(one.metadata.name))
        used_up = violating(pods, world.budgets)
        expected[one.metadata.name] = Outcome([key_of(victim) for victim in pods], len(used_up), [])
    assert done.violations == {name: found.violations for name, found in expected.items()}
    assert done.selected == cheapest(expected, world)
