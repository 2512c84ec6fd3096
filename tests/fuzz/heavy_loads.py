"""Valid requests that leave a server with very much to do afterwards, which spoilt requests seldom do.

Each load takes a client and a size; it returns once the server has come to rest. Sizes are numbers of objects.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from typing import Any

from tests.fuzz.api_requests import JSON
from tests.fuzz.wire import TOKEN, answer_from

Plain = dict[str, Any]
Asked = tuple[str, str, Plain | None]
CORE = "/api/v1/namespaces/default"
MAPS, PODS = f"{CORE}/configmaps", f"{CORE}/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TOYS = "/apis/heavy.example.com/v1/namespaces/default/toys"
PATIENCE_S = 120.0
PIPELINED = 50


class Client:
    """One connection, on which requests are sent together."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection[1].close()

    async def ask(self, method: str, path: str, body: Plain | None = None, media: str = JSON) -> tuple[int, Any]:
        """Status and document of the answer."""
        (found,) = await self.ask_all([(method, path, body)], media)
        return found

    async def ask_all(self, asked: list[Asked], media: str = JSON) -> list[tuple[int, Any]]:
        if self._connection is None:
            self._connection = await asyncio.open_connection("127.0.0.1", self._port, limit=2**27)
        reader, writer = self._connection
        found = []
        for start in range(0, len(asked), PIPELINED):
            some = asked[start : start + PIPELINED]
            writer.write(b"".join(_written(*one, media) for one in some))
            for method, *_ in some:
                status, body = await answer_from(reader, method)
                found.append((status, json.loads(body)))
        return found

    async def wait(self, path: str, is_settled: Callable[[int, Any], bool]) -> None:
        """Returns when that is so of an answer."""
        ends_at = time.monotonic() + PATIENCE_S
        while not is_settled(*await self.ask("GET", path)):
            assert time.monotonic() < ends_at, f"{path} does not come to rest"
            await asyncio.sleep(0.2)


def _written(method: str, path: str, body: Plain | None, media: str) -> bytes:
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: heavy\r\nAuthorization: Bearer {TOKEN}\r\n"
    return f"{head}Content-Type: {media}\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text


def _map(name: str, **metadata: Any) -> Plain:
    return {"metadata": {"name": name, **metadata}, "data": {"a": "b"}}


def _is_empty(_status: int, listed: Any) -> bool:
    return len(listed["items"]) < 3  # a namespace has some of its own


async def owner_of_many(client: Client, size: int) -> None:
    """An owner goes in the foreground, and takes its dependents along."""
    _, owner = await client.ask("POST", MAPS, _map("owner"))
    meta = owner["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": meta["uid"]}
    owned = [_map(f"m{n}", ownerReferences=[{**reference, "blockOwnerDeletion": True}]) for n in range(size)]
    await client.ask_all([("POST", MAPS, one) for one in owned])
    await client.ask("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    await client.wait(f"{MAPS}?limit=5", _is_empty)


async def namespaces(client: Client, size: int) -> None:
    """Many namespaces end at once, and one with very much in it."""
    few = max(1, size // 20)
    names = [f"n{number}" for number in range(few)]
    await client.ask_all([("POST", "/api/v1/namespaces", {"metadata": {"name": name}}) for name in names])
    places = [names[0] if number % 2 else names[number % few] for number in range(size)]
    maps = [("POST", f"/api/v1/namespaces/{where}/configmaps", _map(f"m{n}")) for n, where in enumerate(places)]
    await client.ask_all([*maps])
    await client.ask_all([("DELETE", f"/api/v1/namespaces/{name}", None) for name in names])
    await client.wait("/api/v1/namespaces", lambda _, listed: len(listed["items"]) < 10)


def _template(app: str) -> Plain:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}}


async def deployment(client: Client, size: int) -> None:
    """A Deployment with a quota, a Service, a budget and an autoscaler comes, is rolled out anew, and goes."""
    selector = {"matchLabels": {"app": "web"}}
    web: Plain = {"metadata": {"name": "web"}}
    budget = {"minAvailable": "50%", "selector": selector}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    use = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    scaler = {"scaleTargetRef": target, "minReplicas": size, "maxReplicas": size, "metrics": [use]}
    spec = {"replicas": size, "selector": selector, "template": _template("web")}
    creations = [
        (f"{CORE}/resourcequotas", {"hard": {"pods": "100k", "requests.cpu": "100k"}}),
        (f"{CORE}/services", {"selector": {"app": "web"}, "ports": [{"port": 80}]}),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget),
        ("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", scaler),
        (DEPLOYMENTS, spec),
    ]
    await client.ask_all([("POST", path, {**web, "spec": what}) for path, what in creations])

    def is_ready(_status: int, found: Any) -> bool:
        status = found.get("status") or {}
        return bool(status.get("updatedReplicas", 0) == status.get("readyReplicas") == size)

    await client.wait(f"{DEPLOYMENTS}/web", is_ready)
    change = {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
    await client.ask("PATCH", f"{DEPLOYMENTS}/web", change, "application/merge-patch+json")
    await client.wait(f"{DEPLOYMENTS}/web", is_ready)
    await client.ask("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": "Background"})
    await client.wait(f"{PODS}?limit=5", _is_empty)


async def large_pods(client: Client, size: int) -> None:
    """Pods with many containers, volumes, tolerations, and constraints of all sorts."""
    few = {"matchLabels": {"a": "b"}}
    spread = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": few}
    specs: list[Plain] = [
        {"containers": [{"name": f"c{n}", "image": "x"} for n in range(4 * size)]},
        {"tolerations": [{"key": f"k{n}", "operator": "Exists"} for n in range(size)]},
        {"topologySpreadConstraints": [{**spread, "topologyKey": f"k{n}"} for n in range(size)]},
        {"volumes": [{"name": f"v{n}", "emptyDir": {}} for n in range(size)]},
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}},
    ]
    terms = specs[-1]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms += [{"topologyKey": f"k{n}", "labelSelector": few} for n in range(size)]
    least = {"containers": [{"name": "c", "image": "x"}]}
    pods = [{"metadata": {"name": f"p{n}"}, "spec": {**least, **spec}} for n, spec in enumerate(specs)]
    answers = await client.ask_all([("POST", PODS, pod) for pod in pods])
    assert [status for status, _ in answers] == [201] * len(pods), answers
    await client.wait(f"{PODS}/p0", lambda _, pod: bool(pod["status"].get("phase") == "Running"))
    await client.ask_all([("DELETE", f"{PODS}/p{number}", None) for number in range(len(pods))])
    await client.wait(f"{PODS}?limit=5", _is_empty)


async def wide_definition(client: Client, size: int) -> None:
    """A definition with many fields and rules gets a default that all of its objects come to show."""
    texts = {f"g{n}": {"type": "string", "maxLength": 9, "pattern": "^a*$"} for n in range(20)}
    part = {"type": "object", "properties": texts, "x-kubernetes-validations": [{"rule": "!has(self.g1)"}]}
    parts: Plain = {f"f{n}": part for n in range(50)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": parts}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "toys", "singular": "toy", "kind": "Toy"}
    spec = {"group": "heavy.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    name = "toys.heavy.example.com"
    await client.ask("POST", DEFINITIONS, {"metadata": {"name": name}, "spec": spec})
    head = {"apiVersion": "heavy.example.com/v1", "kind": "Toy"}
    inner = {f"f{n}": {f"g{m}": "aaa" for m in range(2, 20)} for n in range(10)}
    toys = [{**head, "metadata": {"name": f"t{n}"}, "spec": inner} for n in range(size)]
    await client.ask_all([("POST", TOYS, toy) for toy in toys])
    _, stored = await client.ask("GET", f"{DEFINITIONS}/{name}")
    stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["f40"] = {
        "type": "string",
        "default": "new",
    }
    status, answer = await client.ask("PUT", f"{DEFINITIONS}/{name}", stored)
    assert status == 200, answer
    _, toy = await client.ask("GET", f"{TOYS}/t0")
    assert toy["spec"]["f40"] == "new"
    await client.ask("DELETE", f"{DEFINITIONS}/{name}")
    await client.wait(f"{DEFINITIONS}/{name}", lambda status, _: status == 404)


LOADS: dict[str, Callable[[Client, int], Coroutine[Any, Any, None]]] = {
    load.__name__: load for load in (owner_of_many, namespaces, deployment, large_pods, wide_definition)
}
