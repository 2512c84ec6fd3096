"""A run as tables of arrays: for notebooks, for Arrow, and without either extra."""

from __future__ import annotations

import json
import pickle
import sys

import numpy as np
import pytest
from tests.unit.analysis.simulation.worlds import after, cluster, nodes, objects, pattern, workload

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import Apply, DeleteObject
from bayplan.analysis.simulation.results.arrow import METADATA_KEY
from bayplan.analysis.simulation.results.columns import ROWS_SHOWN, Columns
from bayplan.analysis.simulation.results.libraries import LibraryMissingError
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.running import simulate
from bayplan.testing import builders as make

URGENT = after(5, Apply(objects(pattern("urgent", "4", "high"))))
GOES = after(8, DeleteObject((Reference("Node", "", "n2"),)))


@pytest.fixture(scope="module")
def result() -> SimulationResult:
    """On two nodes: a pod that was there, one of two that makes room for an urgent one, and a node that goes."""
    old = make.pod("old").cpu("1").node("n2").phase("Running")
    there = cluster(*nodes(2), old, workload("web", 2, "3", "low"))
    return simulate(there, [URGENT, GOES], until=900)


def row_of(result: SimulationResult, key: str) -> int:
    (row,) = np.flatnonzero(result.pods["key"] == key)
    return int(row)


def test_every_table_has_columns_of_one_length(result: SimulationResult) -> None:
    assert list(result.tables) == ["pods", "nodes", "preemptions", "victims", "series"]
    for name, columns in result.tables.items():
        assert columns.rows > 0, name
        assert {array.shape for array in columns.values()} == {(columns.rows,)}, name


def test_pods(result: SimulationResult) -> None:
    pods = result.pods
    urgent = row_of(result, "default/urgent")
    assert pods["class"][urgent] == "high"
    assert pods["created"][urgent] == 300
    assert pods["waiting"][urgent] == pytest.approx(pods["bound"][urgent] - 300)
    assert 0 < pods["waiting"][urgent] < 60
    assert np.isnan(pods["waiting"][row_of(result, "default/old")])  # nobody knows how long it waited
    still = pods["end"] == "pending"
    assert still.any()
    assert np.isnan(pods["bound"][still]).all()
    assert np.isnan(pods["waiting"][still]).all()
    assert (pods["evicted"] == "preemption").sum() == result.summary.pods.preempted == 1


def test_waiting_is_what_the_summary_tells(result: SimulationResult) -> None:
    low = result.pods["waiting"][result.pods["class"] == "low"]
    assert np.nanmax(low) == pytest.approx(result.summary.waiting["low"].max, abs=1e-6)


def test_nodes(result: SimulationResult) -> None:
    table = result.nodes
    assert list(table["name"]) == ["n1", "n2"]
    assert list(table["allocatable.cpu"]) == [4000, 4000]
    assert np.isnan(table["until"][0])
    assert table["until"][1] == 480


def test_preemptions_and_their_victims(result: SimulationResult) -> None:
    assert list(result.preemptions["preemptor"]) == ["default/urgent"]
    assert list(result.preemptions["victims"]) == [1]
    (victim,) = result.victims["pod"]
    assert victim.startswith("default/web-")
    assert result.preemptions["preemptor"][result.victims["preemption"][0]] == "default/urgent"


def test_series(result: SimulationResult) -> None:
    assert result.series["t"][0] == 0
    assert result.series["used.cpu"].max() == result.run.series.used["cpu"][-1] == 1.0
    assert result.series["queue.unschedulable"].max() >= 1


def test_a_column_that_is_not_there_is_told_with_those_that_are(result: SimulationResult) -> None:
    with pytest.raises(KeyError, match="no column 'wait'; columns: key, class"):
        result.pods["wait"]
    assert "wait" not in result.pods
    assert "waiting" in result.pods


def test_a_run_without_pods_has_empty_columns() -> None:
    nothing = simulate(cluster(*nodes(1)), until=60)
    assert [table.rows for table in (nothing.pods, nothing.preemptions, nothing.victims)] == [0, 0, 0]
    assert repr(nothing) == "<SimulationResult: 60 s, pods: 0 created, 0 placed, 0 preempted, 0 pending>"


def test_short_in_a_notebook(result: SimulationResult) -> None:
    assert repr(result).startswith("<SimulationResult: 900 s, pods: ")
    assert repr(result.victims) == "<1 rows of preemption, pod, priority, breaks>"


def test_first_rows_in_a_notebook(result: SimulationResult) -> None:
    """Texts of users are no markup, what never happened is empty, and long tables are cut."""
    table = Columns({"who": np.array(["<a>", "b"]), "ended": np.array([np.nan, 2.5])})
    assert table._repr_html_() == (
        "<table><tr><th>who</th><th>ended</th></tr>"
        "<tr><td>&lt;a&gt;</td><td></td></tr><tr><td>b</td><td>2.5</td></tr></table>"
    )
    long = result.series._repr_html_()
    assert long.count("<tr>") == 1 + ROWS_SHOWN
    assert long.endswith(f"<p>and {result.series.rows - ROWS_SHOWN:,} more</p>")


def test_arrow_has_the_same_columns_with_nulls(result: SimulationResult) -> None:
    pytest.importorskip("pyarrow")
    tables = result.to_arrow()
    for name, columns in result.tables.items():
        assert tables[name].column_names == list(columns)
        assert tables[name].num_rows == columns.rows
    waiting = tables["pods"]["waiting"]
    assert waiting.null_count == np.isnan(result.pods["waiting"]).sum() > 0
    assert str(tables["pods"].schema.field("key").type) == "string"
    assert str(tables["pods"].schema.field("priority").type) == "int64"
    about = json.loads(tables["series"].schema.metadata[METADATA_KEY])
    assert (about["seed"], about["seconds"], about["partial"]) == (0, 900.0, False)


def test_arrow_of_empty_tables_keeps_its_types() -> None:
    pytest.importorskip("pyarrow")
    pods = simulate(cluster(*nodes(1)), until=60).to_arrow()["pods"]
    assert pods.num_rows == 0
    assert str(pods.schema.field("key").type) == "string"


def test_without_the_extra_it_is_said_how_to_get_it(result: SimulationResult, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(LibraryMissingError, match=r"need pyarrow: pip install 'bayplan\[arrow\]'"):
        result.to_arrow()
    with pytest.raises(LibraryMissingError, match=r"need pandas: pip install 'bayplan\[pandas\]'"):
        result.pods.to_pandas()
    with pytest.raises(LibraryMissingError, match=r"need polars: pip install 'bayplan\[polars\]'"):
        result.pods.to_polars()


def test_pandas_takes_a_table_as_it_is(result: SimulationResult) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (bayplan[pandas])")
    frame = pandas.DataFrame(result.pods)
    assert frame.shape == (result.pods.rows, len(result.pods))
    pandas.testing.assert_frame_equal(frame, result.pods.to_pandas())
    assert frame["waiting"].isna().sum() == np.isnan(result.pods["waiting"]).sum() > 0


def test_polars_and_arrow_have_the_same_table(result: SimulationResult) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed (bayplan[polars])")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (bayplan[arrow])")
    for columns in result.tables.values():
        assert columns.to_polars().equals(polars.from_arrow(columns.to_arrow()))


def test_a_table_is_a_dict_that_pickles(result: SimulationResult) -> None:
    copied = pickle.loads(pickle.dumps(result.pods))
    assert isinstance(copied, Columns)
    assert copied.rows == result.pods.rows
    assert {name: list(map(str, array)) for name, array in copied.items()} == {
        name: list(map(str, array)) for name, array in result.pods.items()
    }
