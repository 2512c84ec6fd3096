"""Kinds that users misspell, and kinds that only look like that."""

from __future__ import annotations

import pytest

from bayplan.apiserver.schema.resources import RESOURCES
from bayplan.model.kinds import KINDS, meant_kind


@pytest.mark.parametrize(
    ("api_version", "written", "meant"),
    [
        ("v1", "Podd", "Pod"),
        ("v1", "pod", "Pod"),
        ("v1", "Nodes", "Node"),
        ("", "Podd", "Pod"),
        ("apps/v1", "Deploymnet", "Deployment"),
        ("apps/v1", "Statefulset", "StatefulSet"),
        ("batch/v1", "Cronjob", "CronJob"),
        ("scheduling.k8s.io/v1", "PriorityClasses", "PriorityClass"),
        ("v1", "Deployment", ""),
        ("argoproj.io/v1alpha1", "Podd", ""),
        ("v1", "ConfigMap", ""),
    ],
)
def test_the_kind_that_was_meant(api_version: str, written: str, meant: str) -> None:
    assert meant_kind(api_version, written) == meant


def test_no_kind_that_kubernetes_has_is_taken_for_a_misspelling() -> None:
    others = [(each.api_version, each.kind) for each in RESOURCES if each.kind not in KINDS]
    assert ("v1", "ServiceAccount") in others
    assert [kind for api_version, kind in others if meant_kind(api_version, kind)] == []
