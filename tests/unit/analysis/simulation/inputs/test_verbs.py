"""One language of commands: a line of words and a step of a timeline say the same, and faults name the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.steps import step_of_words

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import LabelObjects, SetLabels
from bayplan.analysis.simulation.inputs.verbs import BadStep, read_command


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("cordon n1", {"cordon": "n1"}),
        ("drain node/n1", {"drain": "n1"}),
        ("fail n1", {"fail": "n1"}),
        ("delete web", {"delete": "web"}),
        ("delete shop/job/report 0s", {"delete": "shop/job/report", "grace": "0s"}),
        ("scale shop/deploy/web 5", {"scale": "shop/deployment/web", "replicas": 5}),
        ("taint n1 gpu=yes:NoSchedule", {"taint": "n1", "with": "gpu=yes:NoSchedule"}),
        ("taint n1 gpu- a:NoExecute", {"taint": "n1", "with": ["gpu-", "a:NoExecute"]}),
        ("label n1 zone=b old-", {"label": "n1", "with": {"zone": "b", "old": None}}),
        ("label pod/web tier=front", {"label": "default/pod/web", "with": {"tier": "front"}}),
    ],
)
def test_a_line_says_what_a_step_says(line: str, step: dict[str, Any]) -> None:
    verb, *words = line.split()
    assert read_command(step_of_words(verb, words), Path()) == read_command(step, Path())


def test_a_bare_name_to_label_is_a_node_and_any_other_object_has_its_kind() -> None:
    labels: dict[str, str | None] = {"tier": "front"}
    assert read_command({"label": ["n1", "node/n2"], "with": labels}, Path()) == SetLabels(("n1", "n2"), labels)
    assert read_command({"label": "shop/deploy/web", "with": labels}, Path()) == LabelObjects(
        (Reference("Deployment", "shop", "web"),), labels
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("cordon", "cordon: expected one name"),
        ("cordon n1 n2", "cordon: expected one name"),
        ("taint", "taint: expected a name and with"),
        ("scale deploy/web many", "replicas: expected a whole number of at least 0"),
        ("scale ds/web 2", "scale: DaemonSet cannot be scaled; scalable kinds: "),
        ("taint n1 gpu", "with: 'gpu' is not a taint; "),
        ("delete a/b/c", "delete: 'a/b/c': unknown kind 'b'"),
    ],
)
def test_faults_of_a_line(line: str, fault: str) -> None:
    verb, *words = line.split()
    with pytest.raises(BadStep) as refused:
        read_command(step_of_words(verb, words), Path())
    assert str(refused.value).startswith(fault)
