"""What fits on a screen, on 300 nodes with long names: short answers on 80 by 24, and no line wider than its terminal.

Commands and other text to copy are never wrapped by bayplan; a terminal does that, so that they count as several lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli import output as cli_output
from bayplan.cli.main import run
from bayplan.model.well_known import HOSTNAME, INSTANCE_TYPE
from bayplan.report.answers.parts import Details, Next, Part, Snippet
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.terminal import PIPE_WIDTH, rendered
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

ROWS, COLUMNS = 24, 80
NAMESPACE = "recommendation-and-personalization"
STUCK = "candidate-generation-feature-store-synchronization"
NODE = "gke-production-europe-west4-general-purpose-pool-5f3a91c7-n000"
SPARE = "gke-production-europe-west4-spare-pool-5f3a91c7-n001"
POD = f"{NAMESPACE}/checkout-fulfillment-orchestration-service-00-7d4b9c6f5-p0000"

#: Asked of 300 nodes; of each kind of answer at least one that has much to tell.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "explain": ("explain", f"{NAMESPACE}/deployment/{STUCK}"),
    "explain --optimal": ("explain", f"{NAMESPACE}/deployment/{STUCK}", "--optimal"),
    "fix": ("fix", f"{NAMESPACE}/deployment/{STUCK}"),
    "audit": ("audit",),
    "capacity": ("capacity", "--workload", f"{NAMESPACE}/deployment/{STUCK}"),
    "capacity --replicas": ("capacity", "--pod", "cpu=3,memory=9Gi", "--replicas", "900"),
    "drain": ("drain", NODE),
    "drain that works": ("drain", SPARE),
    "drain of a pool": ("drain", "-l", "pool=high-memory"),
    "exposure": ("exposure", POD),
    "exposure of all": ("exposure",),
    "defrag": ("defrag", "--for", "cpu=15"),
    "consolidate": ("consolidate", "-l", "pool=spare", "--seconds", "2"),
    "plan": ("plan", "--nodes", "catalog.json", "--seconds", "5"),
    "whatif": ("whatif", "--drain", NODE),
}


POOLS = {"general-purpose": 180, "high-memory": 80, "spare": 40}
DEDICATED = "cloud.google.com/gke-dedicated-workload-class"
URGENT = "business-critical-customer-facing"
WORKLOADS = [f"checkout-fulfillment-orchestration-service-{number:02}" for number in range(20)]


def things() -> Iterator[Builder[Any]]:
    """Three pools, two of them full; Deployments, and one whose three pods are pending."""
    yield make.namespace(NAMESPACE)
    yield make.priority_class(URGENT, 100_000)
    for at, name in enumerate(WORKLOADS):
        yield from _workload(name, 43, make.pod("t").labels(app=name).cpu("2").memory("4Gi"))
        yield (
            make.budget(f"{name}-disruption-budget", NAMESPACE).selects(app=name).max_unavailable(at % 2).allows(at % 2)
        )
    nodes = [(pool, _node_name(pool, at)) for pool, count in POOLS.items() for at in range(count)]
    for at, (pool, name) in enumerate(nodes):
        node = make.node(name).capacity(cpu="16", memory="64Gi").zone(f"europe-west4-{'abc'[at % 3]}")
        node.label("pool", pool).label(HOSTNAME, name).label(INSTANCE_TYPE, f"n2-{pool}-16")
        yield node.taint(DEDICATED, "memory-optimized-batch") if pool == "high-memory" else node
    homes = [home for at, home in enumerate(nodes) for _ in range(1 if home[0] == "spare" and at % 2 else 3)]
    for number, (pool, name) in enumerate(homes):
        workload = WORKLOADS[number % len(WORKLOADS)]
        pod = make.pod(f"{workload}-7d4b9c6f5-p{number:04}", NAMESPACE).labels(app=workload).memory("4Gi")
        pod.owner("ReplicaSet", f"{workload}-7d4b9c6f5").tolerates(DEDICATED, operator="Exists")
        yield pod.cpu("2" if pool == "spare" else "5").running(name)
    urgent = make.pod("t").labels(app=STUCK).cpu("15").memory("20Gi").priority_class(URGENT)
    yield from _workload(STUCK, 3, urgent)
    for at in range(3):
        pending = make.pod(f"{STUCK}-7d4b9c6f5-{at}", NAMESPACE).labels(app=STUCK).cpu("15").memory("20Gi")
        yield pending.priority(100_000).priority_class(URGENT).owner("ReplicaSet", f"{STUCK}-7d4b9c6f5")


def _node_name(pool: str, at: int) -> str:
    return f"gke-production-europe-west4-{pool}-pool-5f3a91c7-n{at:03}"


def _workload(name: str, replicas: int, template: PodBuilder) -> Iterator[Builder[Any]]:
    yield make.deployment(name, NAMESPACE).replicas(replicas).template(template)
    replica_set = make.replica_set(f"{name}-7d4b9c6f5", NAMESPACE).replicas(replicas).template(template)
    yield replica_set.owner("Deployment", name)


Answers = Callable[[str], list[Part]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The parts of the answer to a question; each is asked once."""
    folder = tmp_path_factory.mktemp("screens")
    items = [thing.dict() for thing in things()]
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    kind = {"name": "n2-general-purpose-32", "capacity": {"cpu": "32", "memory": "128Gi"}, "price": 1.55}
    (folder / "catalog.json").write_text(json.dumps([kind]))
    known: dict[str, list[Part]] = {}

    def ask(question: str) -> list[Part]:
        if question not in known:
            known[question] = _asked(QUESTIONS[question], folder)
        return known[question]

    return ask


def _asked(arguments: tuple[str, ...], folder: Path) -> list[Part]:
    said: list[Part] = []

    def listen(parts: Iterable[Part], *, details: bool) -> list[Any]:
        assert not details, "short is the default"
        said.extend(parts)
        return []

    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr(cli_output, "terminal_parts", listen)
        assert run((*arguments, "-f", "cluster.json")) in (0, 1)
    return said


def _lines(parts: Iterable[Part], width: int, *, details: bool = False) -> list[str]:
    return rendered(terminal_parts(parts, details=details), width=width).splitlines()


def _without_text_to_copy(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Details):
            yield Details(list(_without_text_to_copy(part.parts)))
        elif not isinstance(part, Snippet | Next):
            yield part


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_short_answer_fits_on_a_screen(answers: Answers, question: str) -> None:
    lines = _lines(answers(question), COLUMNS)
    # A terminal breaks what is too wide; the prompt needs a line, too.
    taken = sum(max(1, -(-len(line) // COLUMNS)) for line in lines) + 1
    assert taken <= ROWS, "\n".join(lines)


@pytest.mark.parametrize("width", [COLUMNS, 120, PIPE_WIDTH])
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_line_is_wider_than_its_terminal(answers: Answers, question: str, width: int) -> None:
    parts = list(_without_text_to_copy(answers(question)))
    for details in (False, True):
        lines = _lines(parts, width, details=details)
        assert lines
        assert [line for line in lines if len(line) > width] == []
