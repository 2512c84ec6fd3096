"""The JSON documents that commands print: their fields, as they occur in answers about the example clusters.

Each document is made by running the command, so a field is listed with a type that it really had.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bayplan.cli import demo
from bayplan.cli.main import EXIT_NO, run
from website.reference.markdown import code, table
from website.reference.schemas import file_name

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Command -> questions that together show all of its document. DEMO is the demo's cluster.
DEMO = "demo-cluster"
QUESTIONS: dict[str, Sequence[str]] = {
    "explain": (
        f"explain {demo.URGENT_POD} -f {DEMO} --optimal",
        f"explain dev/trainer-xl -f {DEMO}",
        f"explain shop/deployment/web -f {DEMO}",
    ),
    "explain, without a pod": (f"explain -f {DEMO}",),
    "place": (f"place -f {DEMO}",),
    "whatif": ("whatif --apply examples/whatif/search.yaml -f examples/whatif/cluster.yaml",),
    "drain": ("drain -l pool=a --rolling -f examples/whatif/cluster.yaml", f"drain node-2 -f {DEMO}"),
    "defrag": ("defrag --for cpu=6 -f examples/moving/cluster.yaml", f"defrag --for cpu=6 -f {DEMO}"),
    "consolidate": ("consolidate -f examples/moving/cluster.yaml",),
    "exposure": (f"exposure dev/report-2 -f {DEMO}",),
    "exposure, without a pod": (f"exposure -f {DEMO}",),
    "fix": (f"fix dev/trainer-xl -f {DEMO}", f"fix {demo.URGENT_POD} -f {DEMO}"),
    "capacity": (f"capacity --pod cpu=500m,memory=1Gi --replicas 100 -f {DEMO}",),
    "plan": ("plan --pods examples/plan/shop.yaml --nodes examples/plan/catalog.yaml",),
    "audit": (f"audit -f {DEMO}",),
    "upgrade": (f"upgrade --to 1.37 -f {DEMO}",),
    "simulate": (f"simulate -f {DEMO}/cluster.yaml --timeline {DEMO}/story.timeline --until 1h",),
    "version": ("version",),
}

_FIELD = re.compile(r"[a-z][A-Za-z0-9]*")
_AMOUNTS = {"cpu", "memory", "pods"}
_EXAMPLE_MAX = 60
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


@dataclass
class Shape:
    """What was seen at one place of documents: types, the first example, and what is inside."""

    types: set[str] = field(default_factory=set)
    example: str = ""
    inside: dict[str, Shape] = field(default_factory=dict)

    def add(self, value: Any) -> None:
        """One more document, or the same place of it."""
        if isinstance(value, dict):
            self.types.add("map" if _is_map(value) else "object")
            for name, inner in value.items():
                self._inner("{}" if _is_map(value) else f".{name}").add(inner)
        elif isinstance(value, list):
            self.types.add("list")
            for inner in value:
                self._inner("[]").add(inner)
        else:
            self.types.add(_TYPES[type(value)])
            if value is not None:
                self.example = self.example or _shortened(json.dumps(value, ensure_ascii=False))

    def _inner(self, step: str) -> Shape:
        return self.inside.setdefault(step, Shape())

    def rows(self, path: str = "") -> Iterator[tuple[str, str, str]]:
        """Path, types and example of everything inside, outermost first."""
        for step, inner in self.inside.items():
            place = f"{path}{step}".removeprefix(".")
            if step not in ("[]", "{}") or inner.example:  # else the rows of its fields say all
                yield place, " or ".join(sorted(inner.types)), inner.example
            yield from inner.rows(place)


def page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from ("# JSON documents", "")
    yield "What `-o json` prints (`-o yaml` is the same document), field by field, from answers about the example"
    yield "clusters. `[]` stands for the entries of a list, `{}` for the values of a map with names as keys."
    yield ""
    yield "Each document says in `format` what it is, and has a JSON Schema. Releases may add fields; if a field"
    yield "changes or goes, the version in `format` and of the schema changes."
    yield ""
    with TemporaryDirectory() as folder:
        demo.write_files(Path(folder) / DEMO)
        (Path(folder) / EXAMPLES.name).symlink_to(EXAMPLES)
        for title, questions in QUESTIONS.items():
            yield from (f"## {title}", "")
            yield from ("```text", *(f"bayplan {question} -o json" for question in questions), "```", "")
            answers = [answer(question, Path(folder)) for question in questions]
            yield from (f"[Schema](../schemas/v1/{file_name(answers[0]['format'])})", "")
            shape = shape_of(answers)
            rows = ((code(path), types, code(example)) for path, types, example in shape.rows())
            yield from table(("Field", "Type", "Example"), rows)


def answer(question: str, folder: Path) -> Any:
    """What the command prints in a folder with the demo's files and the examples."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        outcome = run([*question.split(), "-o", "json"])
    if outcome > EXIT_NO:
        raise RuntimeError(f"bayplan {question}: exit code {outcome}: {err.getvalue()}")
    return json.loads(out.getvalue())


def shape_of(documents: Iterable[Any]) -> Shape:
    shape = Shape()
    for document in documents:
        shape.add(document)
    return shape


def _shortened(example: str) -> str:
    return example if len(example) <= _EXAMPLE_MAX else f"{example[:_EXAMPLE_MAX]}…"


def _is_map(value: dict[str, Any]) -> bool:
    """Whether its keys are names of resources, nodes or plugins, not those of fields."""
    return not value or any(name in _AMOUNTS or not _FIELD.fullmatch(name) for name in value)
