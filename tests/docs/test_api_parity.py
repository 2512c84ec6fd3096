"""The page about the API: as the code has it, and with a test for all that is said to work."""

from __future__ import annotations

import pytest
from tests.conftest import REPOSITORY_ROOT
from website.reference.api_parity import (
    ADMISSION,
    DIFFERS,
    MISSING,
    PAGE,
    WORKS,
    client_suites,
    page,
    verdict_of,
    verdicts,
)

from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.schema.resources import Resource


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python -m website.reference.api_parity"


def test_every_served_kind_is_on_it() -> None:
    text = page()
    rows = [f"| {resource.api_version} | `{resource.kind}` | " for resource in Catalogue().all()]
    assert [row for row in rows if row not in text] == []


def test_a_kind_without_effect_is_said_to_differ() -> None:
    (row,) = (line for line in page().splitlines() if "| `NetworkPolicy` |" in line)
    assert f"| {DIFFERS} | pods have no network |" in row


@pytest.mark.parametrize(
    ("kind", "name", "verdict"),
    [("Pod", "eviction", WORKS), ("Pod", "exec", MISSING), ("ServiceAccount", "token", WORKS)],
)
def test_verdicts_of_subresources(kind: str, name: str, verdict: str) -> None:
    found: Resource | None = Catalogue().of_kind("v1", kind)
    assert found is not None
    subresource = found.subresource(name)
    assert subresource is not None
    assert verdict_of(found, subresource) == verdict


def test_plugins_that_work_have_a_test_and_others_a_note() -> None:
    assert [plugin.name for plugin in ADMISSION if plugin.verdict == WORKS and not plugin.shown_by] == []
    assert [plugin.name for plugin in ADMISSION if not (REPOSITORY_ROOT / plugin.shown_by).exists()] == []
    assert [plugin.name for plugin in ADMISSION if plugin.verdict != WORKS and not plugin.note] == []
    assert len({plugin.name for plugin in ADMISSION}) == len(ADMISSION)


def test_every_failure_has_a_reason() -> None:
    known = verdicts()
    assert len({(one.group, one.name) for one in known}) == len(known) > 0
    assert [one.name for one in known if one.passed == bool(one.reason)] == []


def test_client_suites_are_named_with_versions_and_reasons() -> None:
    suites = client_suites()
    assert [suite.name for suite in suites if not (suite.version and suite.passed)] == []
    assert [test for suite in suites for test, reason in suite.failures if not (test and reason)] == []
    assert len({suite.name for suite in suites}) == len(suites) >= 4
