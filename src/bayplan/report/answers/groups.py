"""What would become of a pod group: do enough pods fit, where would each go, what stops the first, what would help.

Takes the document of a group's explanation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.report.answers.amounts import bare_amount
from bayplan.report.answers.change_phrases import change_phrases
from bayplan.report.answers.parts import REASONS_MAX, Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted, examples, listed

Plain = Mapping[str, Any]

_EXAMPLES = 3
#: Members, domains and units that a short answer shows.
_SHOWN = 8
_PLACES = {
    "gated": "is kept out of the queue",
    "incomplete": "waits for its PodGroup, which is missing",
    "absent": "has no pending pods",
}


def workload_parts(document: Plain) -> Iterator[Part]:
    """Of each group of a Workload, with all that there is to say of those that wait in the details."""
    groups: Sequence[Plain] = document["groups"]
    answers = [next(group_parts(group)) for group in groups]
    waiting = [group for group in groups if not _is_settled(group)]
    name = document["workload"]
    if not waiting:
        yield Sentence(f"All {counted(len(groups), 'group')} of {name} fit." if len(groups) > 1 else _only(answers))
    else:
        yield Sentence(f"{len(waiting):,} of {counted(len(groups), 'group')} of {name} cannot be scheduled.", Tone.BAD)
    yield from answers
    for group in waiting:
        yield Next(f"bayplan explain {_reference(group)}")
    yield Details([part for group in groups for part in (Heading(group["group"]), *_flat(group_parts(group)))])


def _only(answers: Sequence[Part]) -> str:
    (answer,) = answers
    return answer.text if isinstance(answer, Sentence) else ""


def _is_settled(group: Plain) -> bool:
    if group["queued"] == "absent":
        return bool(group["scheduled"] >= group["needed"])
    return any(pod["node"] is not None for pod in group["pods"].values())


def _flat(parts: Iterator[Part]) -> Iterator[Part]:
    for part in parts:
        yield from part.parts if isinstance(part, Details) else [part]


def group_parts(document: Plain) -> Iterator[Part]:
    """The answer comes first."""
    if document["queued"] != "active":
        yield from _outside(document)
        return
    yield _answer(document)
    details: list[Part] = []
    if not document["aloneOn"]:
        pass  # nobody was tried, so it is not known who fits where
    elif len(document["order"]) <= _SHOWN:
        yield _members(document)
    else:
        details.append(_members(document))
    if document["firstUnfit"] is not None:
        yield from _unfit(document)
        details += _node_by_node(document["firstUnfit"])
        if document["domains"]:
            yield from _closest(document)
    elif len(document.get("placements") or ()) > 1:
        yield Heading("Topology domains")
        yield _placements(document["placements"])
    if document["bestChanges"]:
        yield Heading("What would help")
        yield _changes(document)
    if document["preemption"] is not None:
        yield from _preemption(document)
        details += _units(document)
    details += _messages(document)
    if document["firstUnfit"] is not None and len(document.get("placements") or ()) > 1:
        details += [Heading("Topology domains"), _placements(document["placements"])]
    if document["firstUnfit"] is not None:
        yield Next(f"bayplan fix {_reference(document)}")
    if details:
        yield Details(details)


def _reference(document: Plain) -> str:
    """As a command takes it."""
    namespace, _, name = document["group"].partition("/")
    return f"{namespace}/podgroup/{name}" if namespace != "default" else f"podgroup/{name}"


def _outside(document: Plain) -> Iterator[Part]:
    place, group = document["queued"], document["group"]
    if place == "absent" and document["scheduled"]:
        run = counted(document["scheduled"], "pod")
        yield Sentence(f"The group {group} has no pending pods; {run} of it ha{_s(document['scheduled'])} a node.")
        return
    yield Sentence(f"The group {group} {_PLACES[place]}.", Tone.WARN)
    said = document.get("preEnqueue") or {}
    there = document["waiting"] + document["scheduled"]
    if place == "gated" and there < document["needed"]:
        missing = counted(document["needed"] - there, "pod")
        exist = f"{there:,} exist{'s' if there == 1 else ''}"
        yield Sentence(f"It needs {counted(document['needed'], 'pod')}, and {exist}: {missing} to come.")
    if said:
        rows = [(pod, status["plugin"], ", ".join(status["reasons"])) for pod, status in said.items()]
        yield Table(("pod", "plugin", "says"), rows, flexible=frozenset({"says"}))


def _s(number: int) -> str:
    return "s" if number == 1 else "ve"


def _answer(document: Plain) -> Sentence:
    group, pods = document["group"], document["pods"]
    bound = sum(pod["node"] is not None for pod in pods.values())
    if bound == len(pods):
        return Sentence(f"The group {group} fits: {counted(bound, 'pod')} would be bound.", Tone.GOOD)
    if bound:
        return Sentence(
            f"The group {group} fits in part: {bound} of {counted(len(pods), 'pod')} would be bound.", Tone.WARN
        )
    condition = document["condition"]
    if not document["aloneOn"] and condition is not None:
        return Sentence(f"The group {group} is not even tried: {condition['message']}", Tone.BAD)
    fitting = len(document["fitting"])
    text = f"The group {group} does not fit now: {fitting} of {counted(len(pods), 'pod')} would find a node"
    enough = document["needed"] - document["scheduled"]
    return Sentence(f"{text}, and {enough:,} are needed." if enough != len(pods) else f"{text}.", Tone.BAD)


def _members(document: Plain) -> Table:
    rows = []
    for pod in document["order"]:
        node = document["fitting"].get(pod)
        fits = Cell(node, Tone.GOOD) if node else Cell("-", Tone.BAD)
        rows.append((pod, fits, counted(document["aloneOn"].get(pod, 0), "node")))
    return Table(("pod", "fits on", "alone it fits on"), rows)


def _messages(document: Plain) -> Iterator[Part]:
    """What the scheduler tells the pods, and how many of them."""
    said: dict[str, list[str]] = {}
    for pod in document["order"]:
        said.setdefault(document["pods"][pod]["message"] or "", []).append(pod)
    if any(said):
        yield Heading("What the pods are told")
        for message, pods in said.items():
            if message:
                yield Sentence(listed(pods, _EXAMPLES))
                yield Snippet(message, "text")


# ---------------------------------------------------------------- why


def _unfit(document: Plain) -> Iterator[Part]:
    unfit = document["firstUnfit"]
    where = f" on {document['within']}={document['domains'][0]['name']}" if document["domains"] else ""
    yield Heading(f"The first that does not fit{where}: {unfit['pod']}")
    causes = unfit["causes"]
    if not causes:
        yield Snippet(unfit["message"], "text")
    for cause in causes[:REASONS_MAX]:
        nodes = examples(cause["nodes"], _EXAMPLES)
        yield Sentence(f"{counted(cause['count'], 'node')}: {cause['cause']} ({nodes})")
    if len(causes) > REASONS_MAX:
        yield Sentence(f"and {counted(len(causes) - REASONS_MAX, 'other cause')}", Tone.FAINT)
    left = len(document["order"]) - len(document["fitting"])
    for lack in unfit["lacks"]:
        asked, free, most = (bare_amount(lack["resource"], lack[each]) for each in ("asked", "free", "mostFree"))
        pods = "The pod that is left asks" if left == 1 else f"The {left:,} pods that are left ask"
        free_now = f"{free} are free in all, at most {most} on one node"
        yield Sentence(f"{pods} for {asked} of {lack['resource']}; {free_now}.")


def _node_by_node(unfit: Plain) -> Iterator[Part]:
    if unfit["nodes"]:
        yield Heading(f"{unfit['pod']}, node by node")
        yield Snippet(unfit["message"], "text")
        by_node = {node: cause["cause"] for cause in unfit["causes"] for node in cause["nodes"]}
        rows = [
            (node, status["plugin"], by_node.get(node) or ", ".join(status["reasons"]))
            for node, status in unfit["nodes"].items()
        ]
        yield Table(("node", "plugin", "cause"), rows, flexible=frozenset({"cause"}))


def _closest(document: Plain) -> Iterator[Part]:
    domains, needed = document["domains"], document["needed"] - document["scheduled"]
    key, best = document["within"], domains[0]
    yield Heading("Domains, the closest first")
    rows = [
        (each["name"], f"{each['nodes']:,}", f"{each['fitting']:,}", _lacking(needed - each["fitting"]))
        for each in domains[:_SHOWN]
    ]
    yield Table((key, "nodes", "pods that fit", "lacks"), rows, numeric=frozenset({"nodes", "pods that fit"}))
    if len(domains) > _SHOWN:
        alike = sum(each["fitting"] == best["fitting"] for each in domains)
        yield Sentence(
            f"and {counted(len(domains) - _SHOWN, 'other domain')}; {alike:,} in all come as close", Tone.FAINT
        )


def _lacking(pods: int) -> Cell:
    return Cell(f"room for {counted(pods, 'pod')}", Tone.BAD) if pods > 0 else Cell("nothing", Tone.GOOD)


def _changes(document: Plain) -> Table:
    total = len(document["order"])
    rows = []
    for each in document["bestChanges"]:
        phrases = change_phrases(map(_change, each["changes"]))
        rows.append((f"{len(each['changes'])}", listed(phrases), f"{each['fitting']:,} of {total:,}"))
    return Table(("#", "changes", "pods that fit"), rows, numeric=frozenset({"#"}), flexible=frozenset({"changes"}))


def _change(plain: Plain) -> Remedy:
    return Remedy(RemedyKind(plain["kind"]), plain["what"], plain.get("before"), plain.get("after"))


# ---------------------------------------------------------------- preemption and placements


def _preemption(document: Plain) -> Iterator[Part]:
    preemption = document["preemption"]
    yield Heading("Preemption")
    if preemption["evicted"]:
        victims = listed(preemption["evicted"], _EXAMPLES)
        broken = preemption["numPDBViolations"]
        against = f", against the budget of {counted(broken, 'pod')}" if broken else ""
        yield Sentence(f"It would evict {counted(len(preemption['evicted']), 'pod')}: {victims}{against}.", Tone.WARN)
        if len(document["order"]) <= _SHOWN:
            yield Table(("pod", "goes to"), list(preemption["proposed"].items()))
    else:
        yield Snippet(preemption["message"], "text")


def _units(document: Plain) -> Iterator[Part]:
    """In the order in which they were put back."""
    units = document.get("units") or ()
    if units:
        yield Heading("Units of lower priority, in the order in which they were put back")
        rows = [
            (
                each["group"] or each["pods"][0],
                examples(each["pods"], _EXAMPLES),
                str(each["priority"]),
                str(each["budgetViolations"]),
                Cell("stays", Tone.GOOD) if each["stays"] else Cell("is evicted", Tone.BAD),
            )
            for each in units
        ]
        columns = ("unit", "pods", "priority", "budget violations", "outcome")
        yield Table(columns, rows, numeric=frozenset({"priority", "budget violations"}), flexible=frozenset({"pods"}))
        if len(document["order"]) > _SHOWN:
            yield Heading("Where its pods would go")
            yield Table(("pod", "goes to"), list(document["preemption"]["proposed"].items()))


def _placements(placements: list[Plain]) -> Table:
    rows = [
        (
            each["name"],
            f"{len(each['nodes']):,}",
            f"{sum(node is not None for node in each['pods'].values()):,}",
            Cell("yes", Tone.GOOD) if each["feasible"] else Cell("no", Tone.BAD),
            each["message"],
        )
        for each in placements
    ]
    return Table(
        ("domain", "nodes", "pods that fit", "feasible", "why not"),
        rows,
        numeric=frozenset({"nodes", "pods that fit"}),
        flexible=frozenset({"why not"}),
    )
