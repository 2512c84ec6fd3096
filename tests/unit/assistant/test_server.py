"""The server as a client sees it: in memory, over standard input, and over HTTP, with the official client."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.testing import builders as make
from bayplan.testing import cluster as live_cluster

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bayplan.assistant.questions import Questions
from bayplan.assistant.server import make_server, tool_names

PROGRAM = [sys.executable, "-c", "from bayplan.cli.main import main; main()", "mcp"]
NODES = [make.node(f"node-{number:03}").capacity(cpu="2") for number in range(200)]
PODS = [make.pod("big").cpu("5"), make.pod("small").cpu("1")]
CLUSTER = Cluster.from_objects([*(each.dict() for each in NODES), *(each.dict() for each in PODS)])
BIG_POD = """
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {containers: [{name: main, image: main, resources: {requests: {cpu: "99"}}}]}
"""
BIG = "default/big does not fit on any of the 200 nodes, and evicting other pods would not help."


def finished(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def test_every_question_is_a_tool_that_only_reads() -> None:
    async def ask() -> None:
        async with Client(make_server(Questions(lambda: CLUSTER))) as client:
            tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == tool_names()
        assert {"pending", "explain", "fix", "whatif", "drain", "exposure", "capacity", "audit"} < set(tool_names())
        assert {"defrag", "consolidate", "plan"} < set(tool_names())
        for tool in tools:
            assert tool.annotations is not None
            assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)
            assert tool.description
            assert tool.output_schema is not None
            assert set(tool.output_schema["properties"]) == {
                *("answer", "why", "next", "document", "kubernetes", "notes", "shortened")
            }

    finished(ask())


def test_an_answer_is_typed_and_bounded() -> None:
    async def ask() -> None:
        async with Client(make_server(Questions(lambda: CLUSTER, most_bytes=5_000))) as client:
            found = await client.call_tool("explain", {"pod": "big"})
        assert not found.is_error
        assert found.structured_content is not None
        assert found.structured_content["answer"] == BIG
        assert found.structured_content["shortened"][0].endswith("200 in full")
        assert len(str(found.structured_content["document"])) < 6_000

    finished(ask())


@pytest.mark.parametrize(
    ("version", "decides", "notes"),
    [(None, "v1.37", 1), ("nearest", "v1.37", 1), ("1.36", "v1.36", 0), ("1.37.2", "v1.37", 0)],
)
def test_an_answer_says_whose_scheduler_decided(version: str | None, decides: str, notes: int) -> None:
    cluster = Cluster.from_objects([make.pod("big").cpu("5").dict()], kubernetes_version=version)

    async def ask() -> None:
        async with Client(make_server(Questions(lambda: cluster))) as client:
            found = await client.call_tool("explain", {"pod": "big"})
        assert found.structured_content is not None
        assert found.structured_content["kubernetes"] == decides
        assert found.structured_content["notes"] == [cluster.version_note] * notes

    finished(ask())


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("explain", {"pod": "missing"}, "Pod default/missing: not found in the input"),
        ("whatif", {"manifests": "{a: ["}, "manifests"),
        ("whatif", {"add_nodes": ["/etc/passwd=3"]}, "expected NODE=N with a node of the cluster"),
        ("whatif", {"add_nodes": ["nodes.yaml=3"]}, "expected NODE=N with a node of the cluster"),
        ("capacity", {"requests": "pod.yaml"}, "expected requests such as cpu=500m,memory=1Gi"),
        ("capacity", {"requests": "/etc/passwd"}, "expected requests such as cpu=500m,memory=1Gi"),
        ("defrag", {"wanted": "pod.yaml"}, "expected a pod, a workload, or requests"),
        ("defrag", {"wanted": "-"}, "expected a pod, a workload, or requests"),
        ("defrag", {"wanted": "/etc/x=3"}, "expected a pod, a workload, or requests"),
        ("plan", {"catalog": "catalog.yaml"}, "catalog"),
        ("drain", {"nodes": ["nowhere"]}, "nowhere"),
    ],
)
def test_bad_input_is_a_message_and_files_are_never_read(tool: str, arguments: dict[str, Any], message: str) -> None:
    async def ask() -> None:
        async with Client(make_server(Questions(lambda: CLUSTER))) as client:
            found = await client.call_tool(tool, arguments)
        assert found.is_error
        (content,) = found.content
        assert message in getattr(content, "text", "")

    finished(ask())


def test_over_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(make.pod("x").dict()), encoding="utf-8")

    async def ask() -> None:
        parameters = StdioServerParameters(command=PROGRAM[0], args=[*PROGRAM[1:], "-f", str(file)])
        async with Client(stdio_client(parameters)) as client:
            found = await client.call_tool("pending", {})
        assert found.structured_content is not None
        assert found.structured_content["answer"] == "1 pod of 1 workload is pending."

    finished(ask())


def test_over_http_about_a_live_cluster() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with live_cluster(nodes=1, scheduler=False, controllers=False) as running:
        running.apply(BIG_POD)
        command = [*PROGRAM, "--kubeconfig", str(running.kubeconfig), "--http", f"127.0.0.1:{port}"]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
            try:
                wait_for(port)
                finished(ask_over_http(port))
            finally:
                server.terminate()


async def ask_over_http(port: int) -> None:
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        found = await client.call_tool("explain", {"pod": "big"})
    assert found.structured_content is not None
    assert found.structured_content["answer"].startswith("default/big does not fit on the only node")


def wait_for(port: int) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not listen")
