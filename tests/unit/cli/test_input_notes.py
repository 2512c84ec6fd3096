"""What is said about input that is not complete."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayplan.analysis.default_storage_class import EXPLANATION
from bayplan.analysis.input_gaps import DUMP_COMMAND
from bayplan.testing import builders as make

from .conftest import Bayplan

FileOf = Callable[..., str]

COMMANDS = [("place",), ("explain", "db-0"), ("fix", "db-0"), ("audit",), ("simulate", "--until", "1m")]


@pytest.mark.parametrize("command", COMMANDS)
def test_kinds_that_are_missing_are_named_with_the_command_that_gets_them(
    bayplan: Bayplan, file_of: FileOf, command: tuple[str, ...]
) -> None:
    pods = [make.pod(f"db-{at}").owner("StatefulSet", "db").claim(f"data-{at}") for at in range(2)]
    said = bayplan(*command, "-f", file_of(make.node("a"), *pods))
    (note,) = [line for line in said.err.splitlines() if "input" in line]
    assert note == (
        "note: the input has no PersistentVolumeClaims (2 references), StatefulSets (2 references), Services. "
        "Affected: where pods with volumes fit; budgets, rollouts, which pods come back; default spreading. "
        f"Complete input: {DUMP_COMMAND}"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_claim_without_a_class_is_treated_alike(bayplan: Bayplan, file_of: FileOf, command: tuple[str, ...]) -> None:
    """A default class is assumed, which is said, and the pod gets a node."""
    claim, pod = make.claim("data").manifest(), make.pod("db-0").claim("data").manifest()
    said = bayplan(*command, "-f", file_of(make.node("a"), claim, pod))
    assert EXPLANATION in " ".join((said.out + said.err).split())
    assert "the input has no StorageClass" not in said.err
    assert said.code == 0
