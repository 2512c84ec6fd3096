"""An extender that agrees with everything changes no decision, and one that refuses nodes decides as a plugin would.

On clusters to which random things happen, preemption and nominations included. A plugin is asked again in the dry run
and an extender is not, so that the extender has to refuse candidates as well; what is said of them differs, and is
compared only where nobody refuses anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from hypothesis import event, given
from tests.oracle.changing_clusters import Changing, Step, take_step
from tests.oracle.changing_objects import WEIGHING
from tests.oracle.changing_sequences import AGAIN, DECIDE, RETRY, SEQUENCES
from tests.oracle.comparing_decisions import Decision, act, decided
from tests.support.examples import examples
from tests.support.extenders import Scripted, as_found, as_given
from tests.support.preemption_attempts import default_profile

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.framework.extender import ChosenVictims, FilterAnswer, Victims
from bayplan.core.framework.per_node import NodeView, PerNodePlugin
from bayplan.core.framework.profile import Profile
from bayplan.model.pod import Pod

SETTINGS = examples(40, deadline=None, report_multiple_bugs=False)
NO = "not there"


def decider(profile: Profile) -> Decider:
    return Decider({"default-scheduler": profile, WEIGHING: profile})


def is_refused(pod: PodInfo, node: str) -> bool:
    """Some nodes for each pod, others for the next one that is alike."""
    return (sum(pod.name.encode()) + sum(node.encode())) % 3 == 0


class Refusing(PerNodePlugin):
    """The plugin."""

    name: ClassVar[str] = "Refusing"

    def fits(self, pod: PodInfo, node: NodeView) -> str:
        return NO if is_refused(pod, node.name) else ""


def refuse(pod: PodInfo, nodes: Sequence[str]) -> FilterAnswer:
    refused = {name: NO for name in nodes if is_refused(pod, name)}
    return FilterAnswer(tuple(name for name in nodes if name not in refused), refused)


def refuse_candidates(pod: PodInfo, victims: Mapping[str, Victims]) -> dict[str, ChosenVictims]:
    return {node: chosen for node, chosen in as_found(pod, victims).items() if not is_refused(pod, node)}


def next_pod(world: Changing, step: Step, alike: tuple[int, int]) -> Pod | None:
    """The pod that a step decides on; None for a step that does something else, which is done."""
    kind, first, second, _ = step
    if kind in (DECIDE, AGAIN):
        return world.new_pod(*((first, second) if kind == DECIDE else alike))
    if kind == RETRY:
        return list(world.nominated.values())[first % len(world.nominated)] if world.nominated else None
    take_step(world, step)
    return None


def play(steps: list[Step], one: Decider, other: Decider, *, compares_words: bool) -> None:
    """Take the steps; at each decision the two must agree."""
    world, alike = Changing(), (1, 2)
    for step in steps:
        alike = step[1:3] if step[0] == DECIDE else alike
        pod = next_pod(world, step, alike)
        if pod is None:
            continue
        choice, expected = decided(one, world.cache, pod), decided(other, world.cache, pod)
        event(f"{'placed' if choice.node else 'preempts' if choice.victims_from else 'fits nowhere'}")
        if compares_words:
            assert choice == expected
        else:
            assert without_words(choice) == without_words(expected)
        act(world, pod, choice, step[3])


def without_words(decision: Decision) -> Decision:
    return replace(decision, diagnosis=None, keeps_nomination=False)


@SETTINGS
@given(SEQUENCES)
def test_an_extender_that_agrees_changes_nothing(steps: list[Step]) -> None:
    agreeing = Scripted(as_given, {}, as_found)
    play(
        steps,
        decider(replace(default_profile(), extenders=(agreeing,))),
        decider(default_profile()),
        compares_words=True,
    )


@SETTINGS
@given(SEQUENCES)
def test_an_extender_that_refuses_nodes_decides_as_a_plugin(steps: list[Step]) -> None:
    plain = default_profile()
    play(
        steps,
        decider(replace(plain, extenders=(Scripted(refuse, None, refuse_candidates),))),
        decider(replace(plain, filter=(*plain.filter, Refusing()))),
        compares_words=False,
    )
