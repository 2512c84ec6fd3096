"""What could evict a pod, as parts of a report: one pod, the pods of a workload, or all workloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from bayplan.analysis.answers.exposure.answer import (
    Danger,
    Exposure,
    ExposureRanking,
    PodExposure,
    PreemptorEffect,
    Threshold,
    WorkloadExposure,
)
from bayplan.core.columns.resources import PODS_NAME
from bayplan.report.answers.amounts import amount_in_words, percent
from bayplan.report.answers.parts import (
    REASONS_MAX,
    Bar,
    Bars,
    Cell,
    Details,
    Heading,
    Next,
    Part,
    Sentence,
    Table,
    Tone,
)
from bayplan.report.words import counted, listed

_NAMED = 3
_NONE = "–"


def exposure_parts(answer: Exposure) -> Iterator[Part]:
    """The answer about a pod or a workload, then everything."""
    against = list(_against_parts(answer)) if answer.against else []
    yield from against[:1]
    if not answer.pods:
        why = "it has no node yet" if answer.waiting else "it has no running pod"
        yield Sentence(f"Nothing can evict {answer.subject}: {why}.", Tone.GOOD)
        yield Details(against[1:])
        return
    most = answer.pods[0]
    yield Sentence(_headline(most), Tone.GOOD if most.reason else Tone.WARN)
    yield from _group_parts(answer)
    details = against[1:]
    if not most.reason:
        yield from islice(_circumstances(most), REASONS_MAX)
        details += _class_parts(most)
    yield from _pod_next(answer)
    if len(answer.pods) > 1:
        shown = "all" if len(answer.pods) == answer.pod_count else f"the {len(answer.pods)} most exposed of"
        details.append(Heading(f"Pods of {answer.subject}: {shown} {counted(answer.pod_count, 'running pod')}"))
        details.append(_pod_table(answer.pods))
    yield Details(details)


def _group_parts(answer: Exposure) -> Iterator[Part]:
    """Of the pod group that the pods belong to."""
    group = answer.group
    if group is None:
        return
    counts = f"the priority that counts is that of podgroup {group.group}, {group.priority:,}."
    if group.goes_as_a_whole and group.running > 1:
        whole = f"Whoever evicts one of its {group.running:,} running pods evicts all of them (disruptionMode all)"
        yield Sentence(f"{whole}; {counts}", Tone.WARN)
    else:
        yield Sentence(f"Its pods are evicted one by one (disruptionMode single); {counts}")


def _pod_next(answer: Exposure) -> Iterator[Part]:
    if not answer.against and not answer.pods[0].reason:
        yield Next(f"bayplan exposure {answer.subject} --against NEW.yaml")


def ranking_parts(answer: ExposureRanking) -> Iterator[Part]:
    """What matters most first, then the workloads, most exposed first."""
    if not answer.workloads:
        yield Sentence("Nothing can be evicted: no pod runs in this cluster.", Tone.GOOD)
        return
    exposed = [each for each in answer.by_priority if not each.most.reason and each.outranked_by]
    # Classes of the system evict whatever they need; what other users can evict matters more.
    exposed = [each for each in exposed if each.outranked_by_users] or exposed
    if not exposed:
        yield Sentence("Nothing can evict any of the running pods.", Tone.GOOD)
    else:
        first = exposed[0]
        name = f"{first.workload} (class {first.priority_class})" if first.priority_class else first.workload
        yield Sentence(f"The most important workload that can be evicted is {name}. {_headline(first.most)}", Tone.WARN)
        yield _priority_table(exposed[:REASONS_MAX])
        if len(exposed) > REASONS_MAX:
            yield Sentence(
                f"and {counted(len(exposed) - REASONS_MAX, 'lower priority', 'lower priorities')}", Tone.FAINT
            )
        yield Next(f"bayplan exposure {first.workload}")
    yield Details(list(_all_workloads(answer)))


def _priority_table(workloads: Sequence[WorkloadExposure]) -> Table:
    """Of each priority the most exposed workload."""
    return Table(
        ("Class", "Priority", "Most exposed", "Evicted by", "Budget"),
        [
            (
                each.priority_class or "none",
                f"{each.most.priority:,}",
                each.workload,
                _more_than(each.most.lowest.thresholds[0]) if each.most.lowest.thresholds else _ports(each.most),
                _allowing(each.most),
            )
            for each in workloads
        ],
        numeric=frozenset({"Priority"}),
        flexible=frozenset({"Most exposed"}),
    )


def _all_workloads(answer: ExposureRanking) -> Iterator[Part]:
    yield Sentence(
        f"{counted(answer.pod_count, 'pod')} of {counted(answer.workload_count, 'workload')} "
        f"{'is' if answer.pod_count == 1 else 'are'} running. Ranked "
        "by the number of PriorityClasses above them, then by the share of their node that a preemptor needs.",
        Tone.FAINT,
    )
    yield Heading("Share of its node that a preemptor must request (shorter: more exposed)")
    yield Bars([_bar(workload) for workload in answer.workloads], full=1.0)
    if any(workload.most.protected for workload in answer.workloads):
        yield Sentence(
            "Yellow: a PodDisruptionBudget is exhausted, so other pods are evicted first where possible.", Tone.FAINT
        )
    if len(answer.workloads) == answer.workload_count:
        yield Heading("All workloads, most exposed first")
    else:
        yield Heading(f"The {len(answer.workloads)} most exposed of {counted(answer.workload_count, 'workload')}")
    yield _ranking_table(answer.workloads)


def _headline(pod: PodExposure) -> str:
    if pod.reason:
        return f"Nothing can evict {pod.pod}: {pod.reason}."
    priority = pod.lowest.priority
    if not pod.lowest.thresholds:
        return f"A pod with priority {priority:,} or higher that requests {_ports(pod)} on {pod.node} evicts {pod.pod}."
    threshold = pod.lowest.thresholds[0]
    if threshold.resource == PODS_NAME:
        asks = f"that must run on {pod.node} evicts {pod.pod}: the node has reached its maximum number of pods"
    else:
        asks = f"that requests {_more_than(threshold)} on {pod.node} evicts {pod.pod}"
    return f"A pod with priority {priority:,} or higher {asks}."


def _ports(pod: PodExposure) -> str:
    return f"host port {listed(pod.host_ports, last='or')}"


def _more_than(threshold: Threshold) -> str:
    if threshold.resource == PODS_NAME:
        return "anything"
    if threshold.amount == 1:
        return f"any {threshold.resource}"
    return f"more than {amount_in_words(threshold.resource, threshold.amount - 1)}"


def _circumstances(pod: PodExposure) -> Iterator[Part]:
    others = [f"{_more_than(threshold)} ({percent(threshold.share)})" for threshold in pod.lowest.thresholds[1:]]
    if others:
        yield Sentence(
            f"So does one that requests {listed(others, last='or')}. The pod's own priority is {pod.priority:,}."
        )
    else:
        yield Sentence(f"The pod's own priority is {pod.priority:,}.")
    if pod.host_ports and pod.lowest.thresholds:
        yield Sentence(f"So does one that requests {_ports(pod)}, regardless of its other requests.")
    if pod.spared_after:
        are = "is" if pod.spared_after == 1 else "are"
        yield Sentence(f"On {pod.node}, {counted(pod.spared_after, 'other pod')} {are} evicted first.")
    else:
        yield Sentence(f"No other pod on {pod.node} is evicted first.")
    yield from _budget_sentences(pod)


def _budget_sentences(pod: PodExposure) -> Iterator[Part]:
    if not pod.budgets:
        yield Sentence("No PodDisruptionBudget covers it.")
    for budget in pod.budgets:
        left = counted(budget.disruptions_allowed, "more disruption")
        if budget.disruptions_allowed:
            yield Sentence(f"PodDisruptionBudget {budget.name} allows {left}, and protects the pod only after that.")
        else:
            yield Sentence(
                f"PodDisruptionBudget {budget.name} allows no disruptions: the pod is evicted only as a last resort."
            )


def _class_parts(pod: PodExposure) -> Iterator[Part]:
    able = [danger for danger in pod.classes if danger.thresholds]
    yield Heading(f"PriorityClasses that can evict {pod.pod} today: {len(able)}")
    if able:
        yield Table(
            ("Class", "Priority", f"Request on {pod.node}", "Victims", "If it can run anywhere"),
            [
                (
                    danger.priority_class,
                    f"{danger.priority:,}",
                    " or ".join(map(_more_than, danger.thresholds)),
                    listed(danger.thresholds[0].victims, _NAMED),
                    _unpinned(danger, pod.pod),
                )
                for danger in able
            ],
            numeric=frozenset({"Priority"}),
            flexible=frozenset({f"Request on {pod.node}", "Victims", "If it can run anywhere"}),
        )


def _unpinned(danger: Danger, pod: str) -> Cell:
    outcome = danger.unpinned
    if outcome is None or not outcome.node:
        return Cell("fits nowhere", Tone.FAINT)
    if not outcome.victims:
        return Cell(f"fits on {outcome.node}", Tone.GOOD)
    if pod in outcome.victims:
        return Cell("evicts it", Tone.BAD)
    return Cell(f"evicts others on {outcome.node}", Tone.WARN)


def _pod_table(pods: Sequence[PodExposure]) -> Table:
    return Table(
        ("Pod", "Node", "Priority", "Evicted by a request of", "Share of node", "Evicted first"),
        [
            (
                pod.pod,
                pod.node,
                f"{pod.priority:,}",
                _more_than(pod.lowest.thresholds[0]) if pod.lowest.thresholds else pod.reason or _ports(pod),
                percent(pod.share) if pod.lowest.thresholds else _NONE,
                str(pod.spared_after),
            )
            for pod in pods
        ],
        numeric=frozenset({"Priority", "Share of node", "Evicted first"}),
        flexible=frozenset({"Evicted by a request of"}),
    )


def _bar(workload: WorkloadExposure) -> Bar:
    most = workload.most
    if most.reason:
        return Bar(workload.workload, 1.0, "nothing evicts it", Tone.GOOD)
    tone = Tone.WARN if most.protected else Tone.BAD
    classes = counted(workload.outranked_by, "class", "classes")
    if not most.lowest.thresholds:
        return Bar(workload.workload, 1.0, f"only for {_ports(most)}, {classes} above", tone)
    threshold = most.lowest.thresholds[0]
    text = f"{_more_than(threshold)} ({percent(most.share)}), {classes} above"
    return Bar(workload.workload, most.share, text, tone)


def _ranking_table(workloads: Sequence[WorkloadExposure]) -> Table:
    return Table(
        ("Workload", "Pods", "Priority", "Most exposed pod", "Node", "Evicted first", "Budget left"),
        [
            (
                each.workload,
                f"{each.pod_count:,}",
                f"{each.most.priority:,}",
                each.most.pod,
                each.most.node,
                str(each.most.spared_after),
                _budget_cell(each.most),
            )
            for each in workloads
        ],
        numeric=frozenset({"Pods", "Priority", "Evicted first"}),
        flexible=frozenset({"Workload", "Most exposed pod"}),
    )


def _allowing(pod: PodExposure) -> str:
    if not pod.budgets:
        return "none"
    return f"allows {min(budget.disruptions_allowed for budget in pod.budgets)}"


def _budget_cell(pod: PodExposure) -> Cell:
    if not pod.budgets:
        return Cell("no budget", Tone.FAINT)
    allowed = min(budget.disruptions_allowed for budget in pod.budgets)
    return Cell(str(allowed), Tone.GOOD if pod.protected else Tone.PLAIN)


def _against_parts(answer: Exposure) -> Iterator[Part]:
    culprits = [preemptor for preemptor in answer.against if preemptor.evicts]
    if culprits:
        first = culprits[0]
        evicted = listed(first.evicts, _NAMED)
        yield Sentence(f"Yes: {first.pod} evicts {evicted} to run on {first.outcome.node}.", Tone.BAD)
    else:
        names = listed([preemptor.pod for preemptor in answer.against], _NAMED)
        yield Sentence(f"No: {answer.subject} is not evicted by {names}.", Tone.GOOD)
    yield Table(
        ("Pod", "Priority", "Goes to", "Evicts", f"Evicts {answer.subject} if it must run there"),
        [_preemptor_row(preemptor) for preemptor in answer.against],
        numeric=frozenset({"Priority"}),
        flexible=frozenset({"Evicts"}),
    )


def _preemptor_row(preemptor: PreemptorEffect) -> tuple[str | Cell, ...]:
    pinned = Cell("yes", Tone.WARN) if preemptor.evicts_if_pinned else Cell("no", Tone.GOOD)
    return (
        preemptor.pod,
        f"{preemptor.priority:,}",
        preemptor.outcome.node or "no node",
        listed(preemptor.outcome.victims, _NAMED) or "none",
        pinned,
    )
