"""How a user names a pod, and what is suggested when there is none."""

from __future__ import annotations

import pytest

from bayplan.analysis.references import Reference, close_matches, group_named, misread_kind, parse_reference, written
from bayplan.model.errors import InvalidObject


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web-1", Reference("Pod", "team", "web-1")),
        ("prod/web-1", Reference("Pod", "prod", "web-1")),
        ("pod/web-1", Reference("Pod", "team", "web-1")),
        ("prod/pods/web-1", Reference("Pod", "prod", "web-1")),
        ("deployment/web", Reference("Deployment", "team", "web")),
        ("deploy/web", Reference("Deployment", "team", "web")),
        ("Deployment/web", Reference("Deployment", "team", "web")),
        ("prod/deployment/web", Reference("Deployment", "prod", "web")),
        ("sts/db", Reference("StatefulSet", "team", "db")),
        ("rs/web", Reference("ReplicaSet", "team", "web")),
        ("ds/agent", Reference("DaemonSet", "team", "agent")),
        ("dev/job/nightly", Reference("Job", "dev", "nightly")),
        ("rc/old", Reference("ReplicationController", "team", "old")),
    ],
)
def test_forms(text: str, expected: Reference) -> None:
    assert parse_reference(text, "team") == expected


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a//b", "a/b/c/d", "prod/service/web"])
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(InvalidObject):
        parse_reference(text)


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "StatefulSet", "DaemonSet", "Job"])
def test_written_form_reads_back(kind: str) -> None:
    assert parse_reference(written(kind, "prod", "web"), "other") == Reference(kind, "prod", "web")


KNOWN = ["prod/web-6c9f-abcde", "prod/web-6c9f-fghij", "dev/api", "prod/deployment/web", "prod/checkout"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Reference("Pod", "default", "api"), ["dev/api"]),  # right name, wrong namespace
        (Reference("Pod", "prod", "chekout"), ["prod/checkout"]),  # a slip
        (Reference("Pod", "prod", "web"), ["prod/deployment/web", "prod/web-6c9f-abcde", "prod/web-6c9f-fghij"]),
        (Reference("Pod", "prod", "zzz"), []),
    ],
)
def test_close_matches(wanted: Reference, expected: list[str]) -> None:
    assert close_matches(wanted, KNOWN) == expected


@pytest.mark.parametrize(
    ("text", "is_misread"),
    [("node/x", True), ("pdb/x", True), ("cronjob/x", False), ("shop/x", False), ("deployment/x", False), ("x", False)],
)
def test_a_kind_that_has_no_pods_of_its_own_is_pointed_out(text: str, is_misread: bool) -> None:
    assert bool(misread_kind(parse_reference(text))) is is_misread


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("podgroup/g", "team/g"),
        ("prod/podgroup/g", "prod/g"),
        ("prod/PodGroups/g", "prod/g"),
        ("deployment/g", ""),
        ("g", ""),
        ("podgroup/", ""),
    ],
)
def test_pod_groups_are_named_by_their_kind(text: str, key: str) -> None:
    assert group_named(text, "team") == key
