"""Each template of a set is a revision; one that comes back is the latest again."""

from __future__ import annotations

from typing import Any

from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.revisions import RevisionHistory

SETS = "/apis/apps/v1/namespaces/default/statefulsets"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


def template(image: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def staged(**spec: Any) -> Stage:
    stage = Stage([RevisionHistory()])
    selector = {"matchLabels": {"app": "db"}}
    stage.post(SETS, metadata=named("db"), spec={"selector": selector, "template": template("db:1"), **spec})
    return stage


def numbers(stage: Stage) -> list[tuple[str, int]]:
    """The image of each revision and its number."""
    return sorted(
        (one["data"]["spec"]["template"]["spec"]["containers"][0]["image"], one["revision"])
        for one in stage.api.get(REVISIONS)["items"]
    )


def test_a_new_template_is_a_new_revision() -> None:
    stage = staged()
    stage.patch(f"{SETS}/db", spec={"template": template("db:2")})
    assert numbers(stage) == [("db:1", 1), ("db:2", 2)]
    stage.patch(f"{SETS}/db", spec={"template": template("db:1")})
    assert numbers(stage) == [("db:1", 3), ("db:2", 2)]


def test_other_changes_are_none() -> None:
    stage = staged()
    stage.patch(f"{SETS}/db", spec={"replicas": 5})
    assert numbers(stage) == [("db:1", 1)]


def test_the_history_has_a_limit() -> None:
    stage = staged(revisionHistoryLimit=1)
    for version in (2, 3, 4):
        stage.patch(f"{SETS}/db", spec={"template": template(f"db:{version}")})
    assert numbers(stage) == [("db:3", 3), ("db:4", 4)]
