"""Mutated input through the command line: an answer, or a message that says what is wrong; never a traceback.

Each number makes one input, always the same. `FUZZ=20000` tries that many, `FUZZ_FIRST=5000` from another one on; a
failure names the numbers, so that `FUZZ_FIRST=N FUZZ=1` repeats it.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.fuzz.inputs import GPU, TRACES, catalog, cluster, configuration, timeline
from tests.fuzz.mutations import as_text, mutated, mutated_csv, torn

from bayplan.cli.main import run
from bayplan.model.kinds import KINDS

COUNT = int(os.environ.get("FUZZ", "800"))
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
PARTS = 8
SHOWN = 10
SECONDS_MAX = 60
PODS_MAX = 2_000
TORN_SHARE = 0.1  # of the files

#: Fields by which an object asks for pods. A billion is no fault: it is what was asked for, and takes its time.
COUNTING = {"replicas", "parallelism", "completions", "count"}
NAMES_AN_OBJECT = re.compile(r'\b[A-Z]\w+ \S+/\S+|\b[A-Z]\w+ \S+: |"[^"]*" (is invalid|not found|already exists)')
#: Solvers stop in time.
BRIEFLY = ("--seconds", "0.5")
QUESTIONS = (
    ("explain", "default/big"),
    ("explain", "default/wide", "-o", "json"),
    ("explain", "deployment/web", "--all-reasons"),
    ("explain", "default/drawing"),
    ("explain", "default/big", "--optimal"),
    ("exposure",),
    ("exposure", "default/big"),
    ("fix", "default/wide"),
    ("fix", "deployment/web", "-o", "json"),
    ("place",),
    ("place", "-o", "json", "--ties", "seed:3"),
    ("explain", "default/picky", "-o", "html"),
    ("explain", "default/low", "-o", "markdown", "--all-nodes"),
    ("exposure", "-o", "json"),
    ("exposure", "deployment/web", "-o", "markdown"),
    ("fix", "default/big", "-o", "html"),
    ("fix", "default/drawing"),
    ("whatif", "--delete", "pod/low", "--delete", "deployment/web"),
    ("whatif", "--add-nodes", "n1=2", "-o", "json"),
    ("whatif", "--drain", "n1", "--delete", "namespace/default", "-o", "html"),
    ("capacity", "--pod", "cpu=500m,memory=1Gi"),
    ("capacity", "--workload", "deployment/web", "--replicas", "30", "-o", "json"),
    ("capacity", "--workload", "pod/wide", "-o", "html"),
    ("drain", "n1"),
    ("drain", "n1", "n2", "--rolling", "-o", "json"),
    ("defrag", "--for", "default/big", *BRIEFLY),
    ("defrag", "--for", f"{GPU}=2", "-o", "json", *BRIEFLY),
    ("defrag", "--for", "deployment/web", "--script", *BRIEFLY),
    ("consolidate", *BRIEFLY),
    ("consolidate", "-l", "disk=ssd", "-o", "json", *BRIEFLY),
    ("audit",),
    ("audit", "-o", "sarif"),
    ("audit", "-o", "json"),
)
CHANGES = (
    ("whatif", "--apply", "change.yaml"),
    ("whatif", "--apply", "change.yaml", "-o", "json"),
    ("whatif", "--apply", "change.yaml", "--delete", "deployment/web", "--drain", "n1", "-o", "markdown"),
    ("exposure", "default/low", "--against", "change.yaml"),
)
PLANS = (
    ("plan", "--nodes", "catalog.yaml", *BRIEFLY),
    ("plan", "--nodes", "catalog.yaml", "--survive", "node", "-o", "json", *BRIEFLY),
    ("plan", "--nodes", "catalog.yaml", "--survive", "zone", "-o", "markdown", *BRIEFLY),
)
SIMULATE_IN_A_TABLE = ("simulate", "--until", "150s")
SIMULATE = (*SIMULATE_IN_A_TABLE, "-o", "json")


@dataclass
class Case:
    """A command and the files that it is about."""

    arguments: list[str]
    spoilt: list[str]  # paths of the files, of which some are mutated


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_input_gets_an_answer_or_a_message(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failures = [
        f"{number}: {problem}" for number in range(FIRST + part, FIRST + COUNT, PARTS) if (problem := _problem(number))
    ]
    assert not failures, f"{len(failures)} inputs, FUZZ_FIRST=N FUZZ=1 repeats one:\n" + "\n".join(failures[:SHOWN])


def test_the_inputs_are_valid_and_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise every mutation would fail for the same old reason."""
    monkeypatch.chdir(tmp_path)
    assert {thing["kind"] for thing in cluster()} == set(KINDS)
    rng = Random(0)
    Path("cluster.yaml").write_text(as_text(cluster(), rng))
    Path("config.yaml").write_text(as_text(configuration(), rng))
    Path("timeline.yaml").write_text(as_text(timeline(), rng))
    options = ["-f", "cluster.yaml", "--config", "config.yaml"]
    Path("catalog.yaml").write_text(as_text(catalog(), rng))
    for question in (*QUESTIONS, *PLANS):
        assert _run([*question, *options])[0] in (0, 1)
    assert _run([*SIMULATE, *options, "--timeline", "timeline.yaml"])[0] == 0
    for form, files in TRACES.items():
        for name, text in files.items():
            Path(name).write_text(text)
        assert _run([*SIMULATE, *options, "--trace", _trace(form)])[0] == 0


def _problem(number: int) -> str:
    """What is wrong with how the command takes the input of this number; "" if nothing is."""
    case = _case(Random(f"fuzz {number}"))
    if case is None:
        return ""
    with _time_limit():
        code, out, err = _run(case.arguments)
    if code not in (0, 1, 2) or "Traceback" in err:
        return f"exit code {code}: {err[-500:]}"
    if code == 2:
        unclear = [line for line in err.splitlines() if not _is_clear(line, case)]
        if out or not err or unclear:
            return f"{' '.join(case.arguments)}: unclear: {[line[:300] for line in unclear]}, printed {out[:80]!r}"
    return ""


def _is_clear(line: str, case: Case) -> bool:
    if line.startswith(("note: ", "warning: ")) or line.startswith("error: and "):
        return True
    if line.startswith("error: --"):
        return True  # an option that does not go with the file
    named = any(path in line for path in case.spoilt) or NAMES_AN_OBJECT.search(line) is not None
    return line.startswith("error: ") and named and len(line) < 2_000


def _run(arguments: list[str]) -> tuple[int, str, str]:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


# ---------------------------------------------------------------- the input of a number


def _case(rng: Random) -> Case | None:
    """None where the input asks for more pods than a test can wait for."""
    objects: list[Any] = cluster()
    target = rng.choice(
        ("cluster",) * 10 + ("change",) * 3 + ("configuration", "timeline", "timeline", "trace", "catalog")
    )
    if target == "cluster":
        objects = mutated(objects, rng)
    if _asks_for_too_much(objects):
        return None
    _write_text("cluster.yaml", as_text(objects, rng), rng, torn_share=TORN_SHARE if target == "cluster" else 0)
    if target == "cluster":
        _write_text("catalog.yaml", as_text(catalog(), rng), rng, torn_share=0)
        arguments = rng.choice((*QUESTIONS, *PLANS, SIMULATE, SIMULATE_IN_A_TABLE))
        return Case([*arguments, "-f", "cluster.yaml"], ["cluster.yaml"])
    if target == "change":
        change = mutated(cluster(), rng)
        _write_text("change.yaml", as_text(change, rng), rng)
        asked = [*rng.choice(CHANGES), "-f", "cluster.yaml"]
        return None if _asks_for_too_much(change) else Case(asked, ["change.yaml"])
    if target == "configuration":
        _write_text("config.yaml", as_text(mutated(configuration(), rng), rng), rng)
        arguments = rng.choice((*QUESTIONS, SIMULATE))
        return Case([*arguments, "-f", "cluster.yaml", "--config", "config.yaml"], ["config.yaml"])
    if target == "catalog":
        _write_text("catalog.yaml", as_text(mutated(catalog(), rng), rng), rng)
        return Case([*rng.choice(PLANS), "-f", "cluster.yaml"], ["catalog.yaml"])
    if target == "timeline":
        steps = mutated(timeline(), rng)
        _write_text("timeline.yaml", as_text(steps, rng), rng)
        options = ["-f", "cluster.yaml", "--timeline", "timeline.yaml"]
        return None if _asks_for_too_much(steps) else Case([*SIMULATE, *options], ["timeline.yaml"])
    return _trace_case(rng)


def _trace_case(rng: Random) -> Case:
    form = rng.choice(list(TRACES))
    files = TRACES[form]
    spoilt = rng.choice(list(files))
    for name, text in files.items():
        _write_text(name, mutated_csv(text, rng) if name == spoilt else text, rng)
    return Case([*SIMULATE, "-f", "cluster.yaml", "--trace", _trace(form)], list(files))


def _trace(form: str) -> str:
    return f"{form}:." if form == "openb" else f"{form}:{next(iter(TRACES[form]))}"


def _write_text(name: str, text: str, rng: Random, *, torn_share: float = TORN_SHARE) -> None:
    Path(name).write_bytes(torn(text, rng) if rng.random() < torn_share else text.encode("utf-8", "surrogatepass"))


def _asks_for_too_much(value: Any) -> bool:
    if isinstance(value, dict):
        return any((key in COUNTING and _is_large(item)) or _asks_for_too_much(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_asks_for_too_much, value))


def _is_large(value: Any) -> bool:
    return isinstance(value, int | float) and PODS_MAX < value < 2**31


@contextmanager
def _time_limit() -> Iterator[None]:
    """An input on which the command hangs is a failure as well."""

    def give_up(*_: Any) -> None:
        raise RuntimeError(f"no answer after {SECONDS_MAX} s")

    earlier = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS_MAX)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)
