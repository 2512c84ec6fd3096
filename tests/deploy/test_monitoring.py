"""Dashboard and alert rules ask for metrics that there are, by labels that they have, in PromQL that can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from tests.support.metered_scheduler import Elector, Watched, shown_parts

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
RULES = [
    rule for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
]

#: Put on by Prometheus when it scrapes.
SCRAPED = {"job", "instance"}
SELECTOR = re.compile(r"\b(up|(?:scheduler|bayplan|rest_client|leader_election|process|python)_\w+)(?:\{([^}]*)\})?")
GROUPING = re.compile(r"\b(?:by|on) \(([^)]*)\)")


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries() -> Iterator[tuple[str, str]]:
    """What is asked, and where; with values for what Grafana fills in."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m").replace("$job", ".+")
    for rule in RULES:
        yield rule["alert"], rule["expr"]


QUERIES = list(queries())
IDS = [name for name, _ in QUERIES]


@pytest.fixture(scope="module")
def series() -> dict[str, set[str]]:
    """The labels of every series that a running scheduler may show."""
    metrics = shown_parts(Watched(gates="GenericWorkload=true").metrics, Elector())
    found = {"up": set[str]()}
    for family in (tally.family for tally in metrics.tallies.values()):
        if family.type == "histogram":
            found |= {f"{family.name}{ending}": {*family.labels} for ending in ("_sum", "_count")}
            found[f"{family.name}_bucket"] = {*family.labels, "le"}
        else:
            found[family.name] = {*family.labels}
    for line in metrics.render().decode().splitlines():
        if line.startswith(("process_", "python_")):
            found.setdefault(line.partition(" ")[0].partition("{")[0], set())
    return found


@pytest.mark.parametrize(("where", "query"), QUERIES, ids=IDS)
def test_a_query_names_metrics_and_labels_that_there_are(where: str, query: str, series: dict[str, set[str]]) -> None:
    selectors = SELECTOR.findall(query)
    assert selectors, where
    known = set(SCRAPED)
    for name, matchers in selectors:
        assert name in series, f"{where}: {name}"
        known |= series[name]
        labels = {matcher.strip() for matcher in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)}
        assert labels <= series[name] | SCRAPED, f"{where}: {name}"
    grouped = {label.strip() for labels in GROUPING.findall(query) for label in labels.split(",")}
    assert grouped <= known, where


@pytest.mark.parametrize("query", [query for _, query in QUERIES], ids=IDS)
def test_a_query_can_be_read(query: str) -> None:
    promql_parser.parse(query)


def test_all_that_an_operator_should_see_is_on_the_dashboard() -> None:
    asked = {name for panel in panels() for target in panel["targets"] for name, _ in SELECTOR.findall(target["expr"])}
    assert asked >= {
        "scheduler_schedule_attempts_total",
        "scheduler_pod_scheduling_sli_duration_seconds_bucket",
        "scheduler_pending_pods",
        "scheduler_preemption_attempts_total",
        "scheduler_plugin_execution_duration_seconds_sum",
        "bayplan_writes_total",
        "leader_election_master_status",
    }


def test_panels_neither_overlap_nor_share_a_number() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        taken = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not taken & cells, panel["title"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        cells |= taken
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_says_how_bad_it_is_and_what_to_look_at(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert set(rule["annotations"]) == {"summary", "description"}
    used = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    grouped = {label.strip() for labels in GROUPING.findall(rule["expr"]) for label in labels.split(",")}
    assert used <= grouped | (set() if grouped else SCRAPED)


def test_alerts_cover_what_stops_pods_from_being_scheduled() -> None:
    assert {rule["alert"] for rule in RULES} >= {
        "BayplanDown",
        "BayplanNobodyLeads",
        "BayplanPodsPending",
        "BayplanErrors",
        "BayplanEvictionLimit",
        "BayplanWatchBroken",
    }


def test_the_guide_names_metrics_that_there_are(series: dict[str, set[str]]) -> None:
    guide = (ROOT / "docs" / "guide" / "metrics.md").read_text()
    found = re.findall(r"`((?:scheduler|bayplan|rest_client|leader_election|process)_\w+)(?:\{([^}]*)\})?", guide)
    assert len(found) > 20
    for name, matchers in found:
        labels = series.get(name, series.get(f"{name}_bucket"))
        assert labels is not None, name
        assert {matcher.partition("=")[0] for matcher in matchers.split(",") if matcher} <= labels, name
