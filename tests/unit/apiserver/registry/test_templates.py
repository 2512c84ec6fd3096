"""What controllers create has all that their owner's template says."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.registry.templates import full_document

OWN = [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]


def environment(mode: str, env: list[Any]) -> Any:
    containers = [{"name": "c", "image": "i", **({"env": env} if env else {})}]
    template = {"spec": {"containers": containers}}
    owner = {"kind": "Job", "spec": {"completionMode": mode, "template": template}}
    created = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    (container,) = full_document(created, owner)["spec"]["containers"]
    assert container["image"] == "i"
    return container.get("env")


@pytest.mark.parametrize(("mode", "env", "has_index"), [("Indexed", [], True), ("NonIndexed", [], False)])
def test_containers_of_an_indexed_job_know_their_index(mode: str, env: list[Any], has_index: bool) -> None:
    path = "metadata.labels['batch.kubernetes.io/job-completion-index']"
    reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
    wanted = [{"name": "JOB_COMPLETION_INDEX", "valueFrom": reference}]
    assert environment(mode, env) == (wanted if has_index else None)


def test_a_variable_of_that_name_stays_as_it_is() -> None:
    assert environment("Indexed", OWN) == OWN
