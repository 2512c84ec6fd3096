"""`bayplan simulate` on input that cannot be used: the exact message, exit code 2, and no file made or touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bayplan.cli.main import run

CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: n-1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, resources: {requests: {cpu: 2}}}]}}
"""
NODE = "{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {%s}}}\n"
BIG = NODE % ("big", "pods: 9")
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\ng0,64000,262144,2,P100\ng1,96000,393216,0,\n"
OPENB_PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time
a,4000,1024,1,460,,LS,100,400,150
b,6000,2048,2,1000,P100,BE,0,50,0
"""
AZURE = "arrival_s,cores,memory_gib,duration_min_s,duration_max_s,censored\n0,8,14,900,900,0\n"
GPU_NODES, PODS = "trace/openb_node_list_gpu_node.csv", "trace/openb_pod_list_default.csv"

#: What an earlier run has left: a run that fails must not touch it.
EARLIER = {"report.html": "an earlier report", "journal": "an earlier journal", "tables/pods.parquet": "earlier pods"}
OUTPUTS = ("--report", "report.html", "--journal", "journal", "--parquet", "tables")
USAGE = "Usage: bayplan simulate [OPTIONS]\nTry 'bayplan simulate --help' for help.\n\nError: "

VERBS = "a step has exactly one of apply, delete, scale, cordon, uncordon, drain, fail, recover, taint, label"
NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NO_HEADER = "is empty: expected a header line with column names"
NO_LIST = "expected one list of steps, such as `- {at: 10m, cordon: node-1}`"
NO_SPEC = "expected FILE=N, or a node such as 8cpu,32Gi=N, with N from 1 to 100,000"
PLAIN_NODE = "expected a node such as 8cpu,32Gi or 8cpu,32Gi,nvidia.com/gpu:4"


@dataclass(frozen=True)
class Case:
    """Arguments, the files they speak of, and all that is to be heard on standard error."""

    name: str
    arguments: str
    said: str
    files: dict[str, str] = field(default_factory=dict)

    @property
    def heard(self) -> str:
        return "".join(f"error: {line}\n" for line in self.said.split("\n"))


class UsageCase(Case):
    """One that click finds itself."""

    @property
    def heard(self) -> str:
        return f"{USAGE}{self.said}\n"


def usage(name: str, arguments: str, said: str) -> Case:
    return UsageCase(name, arguments, said)


def timeline(name: str, text: str, said: str, **files: str) -> Case:
    return Case(f"timeline: {name}", "--timeline t.yaml", said, {"t.yaml": text, **files})


def csv(name: str, text: str, said: str) -> Case:
    return Case(f"csv: {name}", "--trace csv:t.csv", said, {"t.csv": text})


def azure(name: str, text: str, said: str) -> Case:
    return Case(f"azure: {name}", "--trace azure:t.csv", said, {"t.csv": text})


def openb(name: str, said: str, nodes: str = OPENB_NODES, pods: str = OPENB_PODS, arguments: str = "") -> Case:
    return Case(f"openb: {name}", f"--trace openb:trace {arguments}", said, {GPU_NODES: nodes, PODS: pods})


def template(name: str, text: str, said: str, arguments: str = "--nodes big.yaml=2") -> Case:
    return Case(f"template: {name}", arguments, said, {"big.yaml": text})


TIMELINES = [
    Case("timeline: no such file", "--timeline none.yaml", "none.yaml: No such file or directory"),
    timeline("empty", "", f"t.yaml: {NO_LIST}"),
    timeline("no list", "at: 1m\n", f"t.yaml: {NO_LIST}"),
    timeline("not YAML", "- at: 1m\n  cordon: [n-1\n", "t.yaml: line 3, column 1: did not find expected ',' or ']'"),
    timeline("no time", "- cordon: n-1\n", "t.yaml:1: `at` is missing: when should this happen?"),
    timeline(
        "bad time",
        "- at: 1m\n  cordon: n-1\n- at: soon\n  drain: n-1\n",
        "t.yaml:3: at: invalid duration 'soon'; expected one such as 90s, 10m or 1h30m",
    ),
    timeline("before the start", "- at: -5m\n  drain: n-1\n", "t.yaml:1: at: -5m is before the start"),
    timeline("no action", "- at: 1m\n", f"t.yaml:1: no action; {VERBS}"),
    timeline(
        "two things", "- at: 1m\n  cordon: n-1\n  drain: n-1\n", f"t.yaml:3: drain: both cordon and drain; {VERBS}"
    ),
    timeline("unknown verb", "- at: 1m\n  explode: n-1\n", f"t.yaml:2: explode: unknown; {VERBS}"),
    timeline(
        "no text for a key",
        "- at: 1m\n  cordon: n-1\n  5: x\n",
        "t.yaml:3: 5: not allowed with cordon; allowed: at, cordon",
    ),
    timeline(
        "no replicas", "- at: 1m\n  scale: deploy/web\n", "t.yaml:1: replicas: expected a whole number of at least 0"
    ),
    timeline(
        "unknown kind",
        "- at: 1m\n  delete: shop/thing/web\n",
        "t.yaml:2: delete: 'shop/thing/web': unknown kind 'thing'",
    ),
    timeline(
        "no taint",
        "- at: 1m\n  taint: n-1\n  with: gpu\n",
        "t.yaml:3: with: 'gpu' is not a taint; expected key=value:EFFECT with NoSchedule, PreferNoSchedule, NoExecute",
    ),
    timeline("no file", "\n- at: 1m\n  apply: none.yaml\n", "t.yaml:3: none.yaml: no such file or directory"),
    timeline(
        "no name for a file",
        f"\n- at: 1m\n  apply: {'x' * 300}\n",
        f"t.yaml:3: {'x' * 300}: cannot be read: File name too long",
    ),
    timeline(
        "a name that no file can have",
        '\n- at: 1m\n  apply: "a\\0b"\n',
        "t.yaml:3: a\\x00b: cannot be read: embedded null byte",
    ),
    timeline(
        "bad object",
        "- at: 1m\n  apply: " + NODE % ("n9", "cpu: lots"),
        f"t.yaml:2: Node n9: status.allocatable[cpu]: 'lots': {NO_QUANTITY}",
    ),
    timeline(
        "bad file",
        "- at: 1m\n  apply: app.yaml\n",
        "t.yaml:2: app.yaml: Pod (document 1): metadata.name: is missing",
        **{"app.yaml": "{kind: Pod}"},
    ),
    timeline(
        "several",
        "- at: x\n  drain: n-1\n- at: 1m\n  fail: 3\n",
        "t.yaml:1: at: invalid duration 'x'; expected one such as 90s, 10m or 1h30m\n"
        "t.yaml:4: fail: expected a name or a list of names",
    ),
]
TRACES = [
    Case("trace: unknown kind", "--trace swim:x", "trace: expected openb:DIR, csv:FILE or azure:FILE, not 'swim:x'"),
    Case("csv: no such file", "--trace csv:none.csv", "none.csv: no such file"),
    csv("empty", "", f"t.csv: {NO_HEADER}"),
    csv("no rows", "arrival,cpu\n", "t.csv: contains no rows"),
    csv("missing column", "duration,cpu\n60,1\n", "t.csv:1: arrival: missing column; found: duration, cpu"),
    csv(
        "unknown column",
        "arrival,cpus\n0,1\n",
        "t.csv:1: cpus: unknown column; expected one of: arrival, duration, cpu, memory, priority, class, count, "
        "name, namespace, resource:<name>, label:<key>",
    ),
    csv(
        "broken rows",
        "arrival,cpu\n0,1\nsoon,1\n5,1x\n9\n",
        f"t.csv:3: arrival: expected seconds or a duration such as 90s, 5m or 1h30m, not 'soon'\n"
        f"t.csv:4: cpu: '1x' is not a quantity: {NO_QUANTITY}\n"
        "t.csv:5: has 1 fields, but the header has 2",
    ),
    csv(
        "no such class",
        "arrival,class\n0,\n5,gold\n",
        "t.csv:3: class: no PriorityClass gold; add one, or a `priority` column",
    ),
    Case("azure: no such file", "--trace azure:none.csv", "none.csv: no such file"),
    azure("empty", "", f"t.csv: {NO_HEADER}"),
    azure(
        "missing column",
        AZURE.replace("cores", "cpus"),
        "t.csv:1: cores: missing column; found: arrival_s, cpus, memory_gib, duration_min_s, duration_max_s, censored",
    ),
    azure(
        "broken row", AZURE.replace("900,900", "900,60"), "t.csv:2: duration_max_s: 60 is less than duration_min_s, 900"
    ),
    Case("openb: no such folder", "--trace openb:none", "none: no such file or directory"),
    Case(
        "openb: empty folder",
        "--trace openb:trace",
        "trace: no openb_node_list_gpu_node.csv found\ntrace: no openb_pod_list_default.csv found",
        {"trace/README": ""},
    ),
    openb("empty nodes", f"{GPU_NODES}: {NO_HEADER}", nodes=""),
    openb(
        "missing node column",
        f"{GPU_NODES}:1: model: missing column; found: sn, cpu_milli, memory_mib, gpu, card",
        nodes=OPENB_NODES.replace("model", "card"),
    ),
    openb("empty pods", f"{PODS}: {NO_HEADER}", pods=""),
    openb(
        "missing pod column",
        f"{PODS}:1: num_gpu: missing column; found: name, cpu_milli, memory_mib, gpus, gpu_milli, "
        "gpu_spec, qos, creation_time, deletion_time, scheduled_time",
        pods=OPENB_PODS.replace("num_gpu", "gpus"),
    ),
    openb(
        "broken row",
        f"{PODS}:3: cpu_milli: expected a whole number, not 'many'",
        pods=OPENB_PODS.replace("6000", "many"),
    ),
    openb("too many nodes", "openb:trace: nodes: must be between 0 and 2, not 3", arguments="--trace-nodes 3"),
]
TEMPLATES = [
    Case("template: no such file", "--nodes none.yaml=2", "none.yaml: no such file or directory"),
    template("no count", BIG, f"--nodes: 'big.yaml': {NO_SPEC}", "--nodes big.yaml"),
    template("no number", BIG, f"--nodes: 'big.yaml=many': {NO_SPEC}", "--nodes big.yaml=many"),
    template("none", BIG, f"--nodes: 'big.yaml=0': {NO_SPEC}", "--nodes big.yaml=0"),
    template("too many", BIG, f"--nodes: 'big.yaml=100001': {NO_SPEC}", "--nodes big.yaml=100001"),
    template(
        "far too many",
        BIG,
        f"--nodes: 'big.yaml=999999999999999999999999999999': {NO_SPEC}",
        "--nodes big.yaml=" + "9" * 30,
    ),
    *(
        Case(f"plain node: {spec}", f"--nodes {spec}", f"--nodes: '{spec}': {said}")
        for spec, said in (
            ("8cpu,32Gi", NO_SPEC),
            ("8cpu,32Gi=0", NO_SPEC),
            ("8cpu=5", f"memory is missing; {PLAIN_NODE}"),
            ("8cpu,32GiB=5", f"'32GiB' is not a quantity; {PLAIN_NODE}"),
            ("8cpu,32Gi,gpu:4=5", f"'gpu' is not the name of a resource, such as nvidia.com/gpu; {PLAIN_NODE}"),
        )
    ),
    template("empty", "", "big.yaml: the file is empty"),
    template(
        "no node",
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}}",
        "big.yaml: there is no Node in this file",
    ),
    template(
        "nothing allocatable",
        "{apiVersion: v1, kind: Node, metadata: {name: big}}",
        "big.yaml: Node big: status.allocatable: is missing: no pod would fit on this node",
    ),
    template(
        "no pods",
        NODE % ("big", "cpu: 8"),
        "big.yaml: Node big: status.allocatable[pods]: is missing or 0: no pod would fit on this node",
    ),
    template(
        "negative",
        NODE % ("big", "cpu: -8, pods: 9"),
        "big.yaml: Node big: status.allocatable[cpu]: must be 0 or more, not -8",
    ),
    template(
        "no quantity",
        NODE % ("big", "cpu: lots, pods: 9"),
        f"big.yaml: Node big: status.allocatable[cpu]: 'lots': {NO_QUANTITY}",
    ),
    template("twice in the file", (BIG + "---\n") * 2, "big.yaml: Node big: appears twice in the input"),
    template(
        "asked for twice",
        BIG,
        "big.yaml: Node big-0: metadata.name: this name is already taken",
        "--nodes big.yaml=2 --nodes big.yaml=3",
    ),
    template(
        "a name that is taken",
        NODE % ("n", "pods: 9"),
        "big.yaml: Node n-1: metadata.name: this name is already taken",
    ),
]
OPTIONS = [
    usage(
        "nothing",
        "",
        "There is no cluster to read: name files with -f, or a kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config).",
    ),
    usage("shrink", "--trace csv:t.csv --shrink 0", "Invalid value for '--shrink': 0.0 is not in the range 0<x<=1."),
    usage(
        "shrink above 1",
        "--trace csv:t.csv --shrink 1.5",
        "Invalid value for '--shrink': 1.5 is not in the range 0<x<=1.",
    ),
    Case(
        "shrink is no number", "--trace csv:t.csv --shrink nan", "shrink: must be greater than 0 and at most 1, not nan"
    ),
    usage("stretch", "--trace csv:t.csv --stretch -1", "Invalid value for '--stretch': -1.0 is not in the range x>0."),
    Case("endless stretch", "--trace csv:t.csv --stretch inf", "stretch: must be greater than 0, not inf"),
    usage("repeat", "--trace csv:t.csv --repeat 0", "Invalid value for '--repeat': 0 is not in the range 1<=x<=10000."),
    usage(
        "trace nodes",
        "--trace csv:t.csv --trace-nodes -1",
        "Invalid value for '--trace-nodes': -1 is not in the range x>=0.",
    ),
    *(
        usage(
            f"{option} without a trace", f"-f cluster.yaml {option}", f"Option '{option.split()[0]}' needs '--trace'."
        )
        for option in ("--shrink 0.5", "--stretch 2", "--repeat 2", "--no-departures", "--trace-nodes 3")
    ),
    usage("until", "-f cluster.yaml --until later", "Invalid value for '--until': invalid duration 'later'"),
    usage(
        "output",
        "-f cluster.yaml -o xml",
        "Invalid value for '-o' / '--output': 'xml' is not one of 'table', 'json', 'yaml', 'markdown', 'html'.",
    ),
    Case(
        "tables into a file",
        "-f cluster.yaml --parquet cluster.yaml",
        "--parquet: cluster.yaml is not a directory",
    ),
    Case(
        "tables nowhere",
        "-f cluster.yaml --parquet none/tables",
        "--parquet: none/tables: no such directory: none",
    ),
    Case(
        "report nowhere",
        "-f cluster.yaml --report none/report.html",
        "--report: none/report.html: no such directory: none",
    ),
    Case("report over a folder", "-f cluster.yaml --report tables", "--report: tables is a directory"),
    Case(
        "journal nowhere", "-f cluster.yaml --journal none/journal", "--journal: none/journal: no such directory: none"
    ),
    Case(
        "no such configuration",
        "-f cluster.yaml --config none.yaml",
        "none.yaml: KubeSchedulerConfiguration: cannot be read: No such file or directory",
    ),
    Case(
        "what an API server would refuse",
        "-f cluster.yaml -f pod.yaml --nodes 8cpu,32Gi=1",
        "pod.yaml: Pod default/odd: spec.priority: the integer value of priority (7) must not be provided in pod spec; "
        "priority admission controller computed 0 from the given PriorityClass name",
        {
            "pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: odd}, "
            "spec: {priority: 7, containers: [{name: c, image: i}]}}"
        },
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"cluster.yaml": CLUSTER, **EARLIER})
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}


def fails(folder: Path, arguments: list[str], case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, case.files)
    before = contents(folder)
    assert run(["simulate", *arguments]) == 2
    heard = capsys.readouterr()
    assert heard.err == case.heard
    assert heard.out == ""
    assert contents(folder) == before


@pytest.mark.parametrize("case", [*TIMELINES, *TRACES, *TEMPLATES], ids=lambda case: case.name)
def test_bad_files(case: Case, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    fails(folder, ["-f", "cluster.yaml", *case.arguments.split(), *OUTPUTS], case, capsys)


@pytest.mark.parametrize("case", OPTIONS, ids=lambda case: case.name)
def test_bad_options(case: Case, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    fails(folder, case.arguments.split(), case, capsys)
