"""The report of a simulation: offline, safe, the same bytes each time, and readable for few and for many nodes."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.analysis.simulation.results.run_files import as_run
from bayplan.analysis.simulation.results.run_format import (
    Candidate,
    Chain,
    ClusterSeries,
    Criterion,
    End,
    Fragmentation,
    Loop,
    NodeRow,
    Note,
    PodFigures,
    PodRow,
    PreemptionDetails,
    RecordedPreemption,
    RecordedVictim,
    Reprieve,
    Run,
    Summary,
    Victim,
    Waits,
)
from bayplan.core.preemption.select import HIGHEST_PRIORITY, PRIORITY_SUM
from bayplan.report.durations import duration_text, unit_for
from bayplan.report.html_page import write_page
from bayplan.report.simulation.node_figures import (
    heat_maps,
    is_aggregated,
    nodes_over_time,
    pod_bars,
    row_names,
    shortened,
)
from bayplan.report.simulation.page import run_page
from bayplan.report.simulation.time_figures import bands_over_time, eviction_bars, over_time, waiting_rows
from bayplan.report.simulation.view import SimulationView

Plain = dict[str, Any]
_CLASSES = {"critical": 1_000_000, "service": 10_000, "batch": 100}
_GIB = 1 << 30
_RULES = "fewest victims: 1 against 2 on node-2"


def pod(key: str, **changed: Any) -> PodRow:
    made = PodRow(
        key=key, class_name="batch", priority=100, owner=f"ReplicaSet {key.rsplit('-', 1)[0]}", node="node-1",
        created=0.0, bound=1.0, started=2.0, ended=None, end=End.RUNNING, cpu=1000, memory=_GIB,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changed)


def node(name: str, until: float | None = None) -> NodeRow:
    return NodeRow(name, 0.0, until, {"cpu": 4000, "memory": 8 * _GIB})


def preemption(
    preemptor: str, victims: list[str], t: float = 50.0, record: PreemptionDetails | None = None
) -> RecordedPreemption:
    gone = [Victim(key, 100, []) for key in victims]
    return RecordedPreemption(t, preemptor, 1_000_000, "node-1", gone, _RULES, record)


def record(chosen: str = "node-1") -> PreemptionDetails:
    started = "2026-01-01T00:00:00Z"
    victim = RecordedVictim("prod/low-1", 100, started, ["prod/guard"])
    other = RecordedVictim("prod/low-2", 100, started, [])
    kept = Reprieve("prod/mid-1", 500, None, budget_used_up=False, kept=True)
    gone = Reprieve(
        "prod/low-1", 500, None, budget_used_up=False, kept=False,
        stopped_by="NodeResourcesFit", reasons=["Insufficient cpu"],
    )  # fmt: skip
    return PreemptionDetails(
        candidates=[
            Candidate(chosen, 0, [victim], [kept, gone]),
            Candidate("another", 0, [victim, other], []),
        ],
        candidates_left_out=0,
        choice=[
            Criterion(HIGHEST_PRIORITY, {chosen: 100, "another": 100}, [chosen, "another"]),
            Criterion(PRIORITY_SUM, {chosen: 100, "another": 200}, [chosen]),
        ],
    )


def chain(*pods: str, depth: int = 1, downtime: float = 1.0) -> Chain:
    return Chain(0.0, list(pods), depth, len(pods) - 1, downtime, 0)


def loop(pods: list[str], priorities: list[int], times: int) -> Loop:
    return Loop(pods[0], pods[-1], pods, priorities, times, 0.0, 100.0)


def result(**changed: Any) -> Run:
    """Nothing but one node; tests add what they are about. Whoever is named is a pod of the run."""
    made = Run(
        seed=7, configs="default", inputs="", seconds=100.0, partial=False, classes=_CLASSES,
        summary=Summary(PodFigures(0, 0, 0, 0, 0, 0, 0), {}, {}, {}, 0, {}, Fragmentation(0.0, 0.0)),
        series=ClusterSeries([], {}, {}, [], []),
        nodes=[node("node-1")], pods=[], preemptions=[], chains=[], loops=[], waiting=[], notes=[],
    )  # fmt: skip
    made = msgspec.structs.replace(made, **changed)
    named = [key for taking in made.preemptions for key in (taking.preemptor, *(gone.pod for gone in taking.victims))]
    named += [key for found in made.chains for key in found.pods]
    there = {row.key for row in made.pods}
    made.pods += [pod(key) for key in dict.fromkeys(named) if key not in there]
    return made


def busy_result(nodes: int, pods: int, seconds: float, seed: int = 1) -> Run:
    """A made-up day: workloads of three classes, some of the least important evicted."""
    rng = random.Random(seed)
    made, preemptions = [], []
    for number in range(pods):
        name = rng.choices(list(_CLASSES), [1, 4, 7])[0]
        created = rng.uniform(0, seconds * 0.9)
        bound = created + rng.expovariate(1.0) * {"critical": 0.4, "service": 8, "batch": 240}[name]
        ended = bound + rng.expovariate(1.0) * seconds / 6
        runs = ended >= seconds
        waits = name == "batch" and (rng.random() < 0.02 or bound >= seconds)
        made.append(
            pod(
                f"prod/{name}-{number // 20}-{number}",
                class_name=name, priority=_CLASSES[name], owner=f"ReplicaSet prod/{name}-{number // 20}",
                node=None if waits else f"node-{rng.randrange(nodes)}",
                created=created, bound=None if waits else min(bound, seconds), started=None if waits else bound + 1,
                ended=None if waits or runs else ended,
                end=End.PENDING if waits else End.RUNNING if runs else End.FINISHED,
                cpu=rng.choice([250, 500, 1000]), memory=rng.choice([1, 2, 4]) * _GIB // 4,
            )
        )  # fmt: skip
    urgent = [row for row in made if row.class_name == "critical"]
    finished = [row for row in made if row.class_name == "batch" and row.end is End.FINISHED]
    for gone in finished[: max(pods // 60, 3)]:
        assert gone.ended is not None
        assert gone.node is not None
        gone.end = End.PREEMPTED
        taking = preemption(rng.choice(urgent).key, [gone.key], t=gone.ended, record=record(gone.node))
        taking.node = gone.node
        taking.victims[0].breaks = ["prod/guard"] if rng.random() < 0.1 else []
        preemptions.append(taking)
    preemptions.sort(key=lambda taking: taking.t)
    return _summed_up(made, preemptions, nodes, seconds)


def _summed_up(pods: list[PodRow], preemptions: list[RecordedPreemption], nodes: int, seconds: float) -> Run:
    ends = Counter(row.end for row in pods)
    victims = [victim.pod for taking in preemptions for victim in taking.victims]
    return result(
        seconds=seconds,
        summary=Summary(
            pods=PodFigures(
                created=len(pods), placed=len(pods) - ends[End.PENDING], finished=ends[End.FINISHED], failed=0,
                deleted=0, preempted=ends[End.PREEMPTED], pending=ends[End.PENDING],
            ),
            waiting=_waits(pods),
            evictions={"preemption": len(victims), "node": 2},
            evictions_by_preemptor={taking.preemptor: len(taking.victims) for taking in preemptions},
            budgets_broken=2, utilization={"cpu": 0.63, "memory": 0.41}, fragmentation=Fragmentation(0.127, 0.5),
        ),
        series=ClusterSeries(
            t=[seconds * step / 400 for step in range(401)],
            queue={
                "active": [step % 3 for step in range(401)], "backoff": [step % 7 for step in range(401)],
                "unschedulable": [abs(200 - step) // 8 for step in range(401)], "gated": [0] * 401,
            },
            used={
                "cpu": [0.6 + 0.3 * (step % 50) / 50 for step in range(401)],
                "memory": [0.4 + step / 1600 for step in range(401)],
            },
            running=list(range(401)),
            fragmentation=[0.127] * 401,
        ),
        nodes=[node(f"node-{number}", until=seconds / 2 if number == 3 else None) for number in range(nodes)],
        pods=pods, preemptions=preemptions,
        chains=[
            chain(preemptions[0].preemptor, *victims[:2], depth=2, downtime=75.0),
            chain(preemptions[0].preemptor, victims[2], "prod/a-pod-with-a-very-long-name-5f6d7c8b9-x2v4q",
                  depth=2, downtime=30.0),
            chain(preemptions[1].preemptor, victims[1], downtime=5.0),
        ],
        loops=[loop([preemptions[0].preemptor, victims[0]], [1_000_000, 100], 12)],
    )  # fmt: skip


def _waits(pods: list[PodRow]) -> dict[str, Waits]:
    found = {}
    for name in _CLASSES:
        waits = sorted(row.bound - row.created for row in pods if row.class_name == name and row.bound is not None)
        if waits:
            quantiles = (waits[min(int(share * len(waits)), len(waits) - 1)] for share in (0.5, 0.9, 0.99, 1.0))
            found[name] = Waits(len(waits), *quantiles)
    return found


class Elements(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.titles: list[str | None] = []
        self.text = ""
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.titles += [value for name, value in attrs if name in ("data-title", "title", "aria-label")]
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text += data


class TestPage:
    def test_answer_comes_first(self) -> None:
        """The first sentence is the one of the table: who found a place, and who was preempted."""
        text = Elements(run_page(busy_result(10, 300, 3600.0))).text
        order = [
            text.index(said) for said in ("placed", "preempted", "Preempt–recreate loops", "Utilization and queue")
        ]
        assert order == sorted(order)

    def test_every_class_has_its_p90_in_the_header(self) -> None:
        made = busy_result(10, 300, 3600.0)
        header = run_page(made).split("</header>")[0]
        for name, waits in made.summary.waiting.items():
            assert name in header
            assert f">{duration_text(waits.p90)}<" in header

    def test_partial_run_is_marked(self) -> None:
        assert "ended early" in Elements(run_page(result(partial=True))).text
        assert "ended early" not in Elements(run_page(result())).text

    def test_each_preemption_opens_its_record(self) -> None:
        """Victims with budgets, the deciding criterion, the candidate that lost and why, and what was tried."""
        taking = preemption("prod/urgent-1", ["prod/low-1"], record=record())
        page = run_page(result(preemptions=[taking, preemption("prod/urgent-2", ["prod/low-9"])]))
        elements = Elements(page)
        ids = [attributes.get("id") for tag, attributes in elements.tags if tag == "details"]
        assert ids == ["preemption-0", "preemption-1"]
        for said in (
            "fewest victims: 1 against 2 on node-2",
            "more or higher-priority victims",
            "evicted: Insufficient cpu",
        ):
            assert said in elements.text

    def test_record_says_how_the_candidates_compared(self) -> None:
        page = run_page(result(preemptions=[preemption("a/b-1", ["prod/low-1"], record=record())]))
        assert "node-1 is cheapest" in Elements(page).text

    def test_loop_is_named_with_pods_and_priorities(self) -> None:
        text = Elements(run_page(result(loops=[loop(["a/high-1", "a/low-1"], [500, 20], 9)]))).text
        assert "9 times a/high-1 (500) → a/low-1 (20)" in text

    def test_what_could_not_be_done_is_told(self) -> None:
        note = Note(60.0, "day.yaml:7", "no such node: <n1>")
        text = Elements(run_page(result(notes=[note]))).text
        assert "1 note on this run" in text
        assert "day.yaml:7no such node: <n1>" in text

    def test_workload_hit_hardest_stands_first(self) -> None:
        pods = [
            pod("a/calm-1", end=End.PREEMPTED, ended=10.0),
            *(pod(f"a/poor-{number}", end=End.PREEMPTED, ended=10.0) for number in range(3)),
            pod("a/fine-1"),
        ]
        table = run_page(result(pods=pods)).split("Worst-hit workloads")[1].split("</table>")[0]
        assert table.index("ReplicaSet a/poor") < table.index("ReplicaSet a/calm")
        assert "a/fine" not in table

    def test_chains_with_the_same_beginning_share_it(self) -> None:
        chains = [chain("a/one-1", "a/two-1", downtime=3.0), chain("a/one-1", "a/two-2", downtime=4.0)]
        drawn = run_page(result(chains=chains)).split('<svg class="chains"')[1].split("</svg>")[0]
        assert drawn.count("<rect") == 3
        assert drawn.count("marker-end") == 2

    def test_resources_have_short_names_and_those_nobody_asks_for_are_left_out(self) -> None:
        """A node may offer what no pod takes: 0 % of it says nothing, and its line lies on the axis."""
        made = busy_result(3, 40, 600.0)
        made.summary.utilization |= {"example.com/gpu": 0.5, "example.com/idle": 0.0}
        made.series.used |= {"example.com/gpu": [0.5] * 401, "example.com/idle": [0.0] * 401}
        page = run_page(made)
        assert "<span>gpu utilization</span>" in page
        assert "idle used" not in page
        names = [series.name for series in bands_over_time(SimulationView(made))[0].series]
        assert names == ["cpu", "memory", "example.com/gpu"]

    def test_empty_run_makes_a_page(self) -> None:
        assert "No pod was preempted, and none is pending." in run_page(result(nodes=[]))


class TestSafety:
    def test_nothing_is_loaded_from_elsewhere(self) -> None:
        """No element names a resource, no style imports one, and the page's policy forbids it to its scripts."""
        page = run_page(busy_result(10, 300, 3600.0))
        elements = Elements(page)
        loading = [
            (tag, name, value)
            for tag, attributes in elements.tags
            for name, value in attributes.items()
            if name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href")
            and not (value or "").startswith(("#preemption-", "data:image/png;base64,"))
        ]
        assert loading == []
        assert not any(tag in ("link", "iframe", "object", "embed", "base") for tag, _ in elements.tags)
        style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        assert len(style) == 1
        assert not re.search(r"@import|url\(", style[0])
        policy = next(a["content"] for tag, a in elements.tags if tag == "meta" and "http-equiv" in a)
        assert policy is not None
        assert policy.startswith("default-src 'none'")
        assert "http" not in policy
        assert "unsafe" not in policy

    def test_no_element_has_a_style_or_a_script_of_its_own(self) -> None:
        """The policy would refuse them: only the page's own style and script have a hash in it."""
        for page in (run_page(busy_result(10, 300, 3600.0)), run_page(busy_result(100, 300, 3600.0))):
            elements = Elements(page)
            named = {name for _, attributes in elements.tags for name in attributes}
            assert not {name for name in named if name == "style" or name.startswith("on")}
            policy = next(a["content"] or "" for tag, a in elements.tags if tag == "meta" and "http-equiv" in a)
            for kind in ("style", "script"):
                (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
                assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy

    def test_every_drawing_says_what_it_is(self) -> None:
        for page in (run_page(busy_result(10, 300, 3600.0)), run_page(busy_result(100, 300, 3600.0))):
            drawings = [attributes for tag, attributes in Elements(page).tags if tag == "svg"]
            quiet = [each for each in drawings if not (each.get("aria-label") or each.get("aria-hidden"))]
            assert {(each.get("class") or "").split(" ")[0] for each in quiet} == {"quantile"}, "have a title"

    def test_text_of_users_stays_text(self) -> None:
        """Names that are markup, end a script or name a part of the template change nothing but what is read."""
        evil = "x/</script><script>alert(1)</script><img src=http://evil.example/x>{{style}}<a href='http://e.example'>"
        taking = preemption(evil, [evil])
        taking.node = taking.decided = evil
        taking.victims[0].breaks = [evil]
        made = busy_result(3, 40, 600.0)
        made.configs, made.classes, made.nodes, made.preemptions = evil, {evil: 5}, [node(evil)], [taking]
        made.pods = [pod(evil, class_name=evil, owner=evil, node=evil, end=End.PREEMPTED, ended=60.0)]
        made.chains, made.loops = [chain(evil, evil)], [loop([evil], [5], 3)]
        made.notes = [Note(1.0, evil, evil)]
        summary = made.summary
        summary.evictions_by_preemptor, summary.evictions, summary.utilization = {evil: 1}, {evil: 1}, {evil: 0.5}
        summary.waiting = {evil: summary.waiting["batch"]}
        made.series.used = {evil: made.series.used["cpu"]}
        elements = Elements(run_page(made))
        plain = Elements(run_page(result()))
        links = [attributes.get("href") for tag, attributes in elements.tags if tag == "a"]
        assert links == ["#preemption-0"]
        for dangerous in ("img", "iframe", "script", "style", "meta"):
            assert [tag for tag, _ in elements.tags].count(dangerous) == [tag for tag, _ in plain.tags].count(dangerous)
        assert evil in elements.text


class TestFile:
    def test_same_result_same_bytes(self, tmp_path: Path) -> None:
        for name in ("a.html", "b.html"):
            write_page(run_page(busy_result(10, 300, 3600.0)), tmp_path / name)
        assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()

    def test_order_of_hashes_does_not_matter(self, tmp_path: Path) -> None:
        """Two processes with different hash seeds write the same bytes."""
        (tmp_path / "result.json").write_bytes(msgspec.json.encode(busy_result(10, 120, 3600.0)))
        code = (
            "import sys; from pathlib import Path; from bayplan.report.simulation.page import run_page; "
            "from bayplan.analysis.simulation.results.run_files import read_runs; "
            "Path(sys.argv[1]).write_text(run_page(read_runs('result.json')[0]))"
        )
        for seed in ("1", "2"):
            command = [sys.executable, "-c", code, f"{seed}.html"]
            subprocess.run(command, cwd=tmp_path, env={"PYTHONHASHSEED": seed}, check=True)
        assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()

    def test_two_processes_may_write_the_same_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The other one begins and ends while the first has written its page but not yet named it."""
        code = "import sys; from bayplan.report.html_page import write_page; write_page('other', sys.argv[1])"
        page, name_it = tmp_path / "page.html", os.replace

        def late(*names: Path) -> None:
            subprocess.run([sys.executable, "-c", code, page], check=True)
            assert page.read_text() == "other"
            name_it(*names)

        monkeypatch.setattr("os.replace", late)
        write_page("own", page)
        assert page.read_text() == "own"
        assert list(tmp_path.iterdir()) == [page]

    def test_nothing_is_left_half_written(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="directory"):
            write_page(run_page(result()), tmp_path / "absent" / "report.html")
        (tmp_path / "taken").mkdir()
        with pytest.raises(OSError, match="directory"):
            write_page(run_page(result()), tmp_path / "taken")
        assert [path.name for path in tmp_path.iterdir()] == ["taken"]


class TestNodes:
    def test_few_nodes_show_each_pod_and_mark_victims(self) -> None:
        pods = [
            pod("a/x-1", end=End.PREEMPTED, ended=60.0),
            pod("a/y-1", bound=2.0),
            pod("a/z-1", bound=70.0),
            pod("a/w-1", node=None, bound=None),
        ]
        made = result(pods=pods, preemptions=[preemption("a/z-1", ["a/x-1"])])
        bars, lanes = pod_bars(SimulationView(made))
        tops = [bar.top for bar in bars]
        assert len(bars) == 3
        assert tops[0] != tops[1], "pods that run together must not hide each other"
        assert tops[2] == tops[0], "a lane that is free again is used again"
        assert lanes == {"node-1": 2}
        drawn = nodes_over_time(SimulationView(made), records=1)
        assert re.findall(r'<a href="#preemption-0"><path class="ring" d="M60,', drawn)
        assert "<a " not in nodes_over_time(SimulationView(made), records=0), "the page has no record of it"

    def test_recreated_under_the_same_name_each_has_its_own_preemption(self) -> None:
        pods = [
            pod("a/x-0", end=End.PREEMPTED, ended=20.0),
            pod("a/x-0", end=End.PREEMPTED, created=30.0, bound=31.0, ended=60.0),
        ]
        preemptions = [preemption("a/y-1", ["a/x-0"], t=19.0), preemption("a/y-2", ["a/x-0"], t=59.0)]
        drawn = nodes_over_time(SimulationView(result(pods=pods, preemptions=preemptions)), records=2)
        assert re.findall(r"#preemption-(\d)", drawn) == ["0", "1"]

    def test_many_nodes_become_a_heat_map_of_used_shares(self) -> None:
        nodes = [node(f"node-{number}") for number in range(100)]
        nodes[5].until = 50.0
        pods = [pod("a/x-1", node="node-10", bound=0.0, ended=50.0), pod("a/x-2", node="node-10", bound=0.0)]
        view = SimulationView(result(nodes=nodes, pods=pods))
        cpu, memory, evictions = heat_maps(view)
        assert list(view.nodes)[:3] == ["node-0", "node-1", "node-2"]
        assert (cpu.levels[10][0], cpu.levels[10][-1]) == (50, 25)
        assert memory.levels[10][0] == 25
        assert (cpu.levels[5][0], cpu.levels[5][-1]) == (0, -1)
        assert evictions.levels.sum() == 0

    def test_of_thousands_of_nodes_several_share_a_row(self) -> None:
        nodes = [node(f"node-{number}") for number in range(1_000)]
        pods = [pod("a/x-1", node="node-0", bound=0.0), pod("a/x-2", node="node-1", bound=0.0)]
        pods += [pod("a/x-3", node="node-0", bound=0.0)]
        cpu = heat_maps(SimulationView(result(nodes=nodes, pods=pods)))[0]
        assert len(cpu.levels) == 334
        assert cpu.levels[0][0] == 25, "one node half full, one a quarter, one empty"
        assert row_names([each.name for each in nodes])[:2] == ["node-0 to node-2", "node-3 to node-5"]

    def test_many_pods_on_few_nodes_become_a_heat_map(self) -> None:
        pods = [pod(f"a/x-{number}", ended=2.0) for number in range(1_001)]
        assert is_aggregated(SimulationView(result(pods=pods)))
        assert not is_aggregated(SimulationView(result(pods=pods[:-1])))

    def test_shortened_names_keep_both_ends(self) -> None:
        assert shortened("node-1") == "node-1"
        name = shortened("gke-production-cluster-default-pool-12345-x7k2")
        assert len(name) == 28
        assert name.startswith("gke-prod")
        assert name.endswith("-x7k2")


class TestSeries:
    def test_long_series_keep_their_peaks(self) -> None:
        """A queue that was long for one sample of thousands is still seen, and a mean stays a mean."""
        count = 10_000
        lengths = [0] * count
        lengths[5_003] = 77
        series = ClusterSeries(
            t=[step / 100 for step in range(count)],
            queue={"active": lengths},
            used={"cpu": [0.25, 0.75] * (count // 2)},
            running=lengths,
            fragmentation=[0.0] * count,
        )
        used, waits, _ = bands_over_time(SimulationView(result(series=series)))
        (cpu,), (active,) = used.series, waits.series
        assert len(active.values) < 1_000
        assert max(active.values) == 77
        assert sum(cpu.values) / len(cpu.values) == pytest.approx(50, abs=1)

    def test_victims_are_counted_where_they_fell(self) -> None:
        """When they went, and each once: of a pod that two have chosen there is only one."""
        went = {"a/c-1": 0.0, "a/c-2": 0.0, "a/c-3": 100.0}
        pods = [pod(key, end=End.PREEMPTED, ended=at) for key, at in went.items()]
        preemptions = [preemption("a/b-1", ["a/c-1", "a/c-2"], t=0.0), preemption("a/b-2", ["a/c-2"], t=0.0)]
        (bars,) = bands_over_time(SimulationView(result(pods=pods, preemptions=preemptions)))[-1].series
        assert (bars.values[0], bars.values[-1], sum(bars.values)) == (2, 1, 3)

    def test_waiting_puts_the_most_important_class_on_top(self) -> None:
        made = result()
        made.summary.waiting = {name: Waits(3, 0.0, 2.0, 3.0, 4000.0) for name in ("batch", "critical")}
        assert [label for label, _ in waiting_rows(SimulationView(made))] == ["critical (1,000,000)", "batch (100)"]

    def test_who_evicted_counts_by_class(self) -> None:
        pods = [pod("a/u-1", class_name="critical", priority=1_000_000), pod("a/l-1"), pod("a/l-2")]
        made = result(pods=pods, preemptions=[preemption("a/u-1", ["a/l-1", "a/l-2"])])
        assert [(bar.label, bar.value) for bar in eviction_bars(SimulationView(made)).rows] == [
            ("critical evicted batch", 2)
        ]


# A run in which hardly anything happens for long.


def late_result(early: int) -> Run:
    """A hundred seconds; so many pods come at the start, and a hundred after the ninetieth."""
    pods = [pod(f"prod/early-{number}", created=float(number)) for number in range(early)]
    pods += [pod(f"prod/late-{number}", created=90 + number / 20) for number in range(100)]
    return result(pods=pods, preemptions=[preemption("prod/late-1", ["prod/early-0"], t=95.0)])


@pytest.mark.parametrize(
    ("early", "begins", "bars"),
    [pytest.param(2, 90, 1200, id="hardly any pod"), pytest.param(10, 0, 120, id="some pods")],
)
def test_time_axes_begin_where_pods_come(early: int, begins: float, bars: int) -> None:
    """A long time with hardly any pod is left out at first; both plots agree, keep it, and say so."""
    view = SimulationView(late_result(early))
    for figure in (over_time(view), nodes_over_time(view, records=1)):
        found = re.findall(r'viewBox="(\S+) 0 (\S+) ', figure)
        assert found
        for start, width in found:
            assert (float(start), float(start) + float(width)) == pytest.approx((begins, 100), abs=0.5)
        assert 'data-end="100"' in figure
    assert len(bands_over_time(view)[-1].series[0].values) == pytest.approx(bars, rel=0.01)
    said = "only 2 of 102 pods arrived, so the time axes start there."
    assert (said in run_page(late_result(early))) == bool(begins)


# Pods without a workload.


def hit(number: int) -> PodRow:
    return pod(f"trace/pod-{number}", owner="", end=End.PENDING, bound=None, started=None, node=None)


@pytest.mark.parametrize(
    ("count", "named"),
    [
        pytest.param(20, "trace/pod-7", id="a few by name"),
        pytest.param(21, "standalone pods of class batch", id="many by class"),
    ],
)
def test_single_pods_among_the_workloads(count: int, named: str) -> None:
    """A few single pods are told one by one; of a whole trace the classes say more."""
    page = run_page(result(pods=[hit(number) for number in range(count)]))
    table = page[page.index("Worst-hit workloads") : page.index("Evictions and packing")]
    assert f"<td>{named}</td>" in table
    assert ("trace/pod-7" in table) == (count <= 20)
    assert ("are not recreated" in table) == (count > 20)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0, "0 s"),
        (0.45, "450 ms"),
        (0.9996, "1 s"),
        (12.34, "12.3 s"),
        (59.97, "1 min"),
        (185.0, "3 min 5 s"),
        (3600.0, "1 h"),
        (7_800.0, "2 h 10 min"),
        (86_400 * 4 + 3 * 3600, "4 d 3 h"),
    ],
)
def test_duration_text(seconds: float | None, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "name"), [(100, "seconds"), (600, "minutes"), (86_400, "hours"), (86_400 * 30, "days")]
)
def test_unit_for(seconds: float, name: str) -> None:
    assert unit_for(seconds).name == name


@pytest.mark.parametrize(("nodes", "pods"), [(60, 1_000), (100, 5_000), (3_000, 9_000)])
def test_a_report_is_small(nodes: int, pods: int) -> None:
    """With names as long as they are in real clusters."""
    long = msgspec.json.encode(busy_result(nodes, pods, 86_400.0)).replace(b"prod/", b"a-rather-long-namespace/of-a-")
    assert len(run_page(as_run(long, "run.json")).encode()) < 500_000
