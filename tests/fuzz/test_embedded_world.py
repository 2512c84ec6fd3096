"""What clients store, however odd, does not end the cluster: controllers and scheduler go on with what was accepted.

Each number makes one session of requests to a cluster of its own, with time between them. `FUZZ=20000` sends that many
requests, `FUZZ_FIRST=50` begins at another session; a failure names its session and the request before it.
"""

from __future__ import annotations

import json
import logging
import os
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.fuzz.api_requests import JSON, PATCHES
from tests.fuzz.inputs import IMAGE, cluster
from tests.fuzz.mutations import mutated
from tests.fuzz.test_command_line import _asks_for_too_much

from bayplan.apiserver.housekeeping.standard import Housekeeping
from bayplan.apiserver.http.application import Application
from bayplan.apiserver.http.requests import Request, segments_of
from bayplan.apiserver.projected_store import ProjectedStore
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import resource_of_kind
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.standard import standard_controllers
from bayplan.model.time_units import MILLISECOND, MINUTE, SECOND
from bayplan.worlds.bootstrap import bootstrap
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.embedded import embedded_latencies
from bayplan.worlds.simulated import SimulatedWorld

SESSION = 100
COUNT = int(os.environ.get("FUZZ", "1000")) // SESSION
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
PARTS = 4
NOW = 1_700_000_000 * SECOND
STEPS = (0, 0, 100 * MILLISECOND, SECOND, SECOND, 5 * SECOND, MINUTE)
CONFIGURATION = load_configuration(None, release=DEFAULT_RELEASE)
FIRST_KINDS = ("PriorityClass", "StorageClass", "Node")
GIVEN_BY_SERVERS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
DELETIONS = (None, {"gracePeriodSeconds": 0}, {"propagationPolicy": "Foreground"}, {"propagationPolicy": "Orphan"})


class Session:
    """A cluster to which requests are sent while its time passes."""

    def __init__(self, number: int) -> None:
        self._rng = Random(f"world {number}")
        self._now = NOW
        registry = Registry(Storage(), Catalogue())
        bootstrap(registry, "127.0.0.1", 6443, NOW)
        self._application = Application(registry, "token", lambda: self._now, "127.0.0.1:8080", release=DEFAULT_RELEASE)
        draws = Draws(number, embedded_latencies(1, Latencies()))
        self._housekeeping = Housekeeping(registry)
        registry.storage.follow(self._housekeeping.observe)
        self._world = SimulatedWorld(
            ProjectedStore(registry, "kube-controller-manager"),
            build_scheduler(CONFIGURATION, started_at=NOW),
            [*replace(standard_controllers(draws, CONFIGURATION.gates), collectors=())],
            draws,
            started_at=NOW,
        )
        self._objects = sorted(filter(_is_served, cluster()), key=lambda each: each["kind"] not in FIRST_KINDS)
        self.accepted = 0
        self.last = ""

    def run(self) -> None:
        for each in map(_as_a_user_writes_it, self._objects):
            self._send("POST", _place(each), each)
        self._pass_time(SECOND)
        for count in range(SESSION):
            self._ask(count)
            self._pass_time(self._rng.choice(STEPS))
        self._pass_time(20 * MINUTE)

    def _ask(self, count: int) -> None:
        rng, chosen = self._rng, _as_a_user_writes_it(self._rng.choice(self._objects))
        name, place = chosen["metadata"]["name"], _place(chosen)
        verb = rng.choice(("POST", "POST", "POST", "PUT", "PATCH", "PATCH", "status", "status", "DELETE"))
        if verb == "DELETE":
            self._send(verb, f"{place}/{name}", rng.choice(DELETIONS))
            return
        if verb == "POST":
            chosen["metadata"]["name"] = f"{name}-{count}"
        spec = mutated({key: chosen[key] for key in chosen.keys() - {"apiVersion", "kind", "metadata"}}, rng)
        if _asks_for_too_much(spec):
            return
        if verb in ("POST", "PUT"):
            whole = {**chosen, **{str(key): value for key, value in spec.items()}}
            self._send(verb, place if verb == "POST" else f"{place}/{name}", whole)
        else:
            path = f"{place}/{name}/status" if verb == "status" else f"{place}/{name}"
            self._send("PATCH", path, spec, rng.choice((PATCHES[0], PATCHES[2])))

    def _send(self, method: str, path: str, body: Any, media: str = JSON) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.last = f"{method} {path} {content[:600]!r}"
        answer = self._application.answer(
            Request(method, segments_of(path.encode()), {}, {"content-type": media}, content)
        )
        self.accepted += getattr(answer, "status", 500) < 400

    def _pass_time(self, duration: int) -> None:
        self._now += duration
        self._housekeeping.reconcile(self._now)
        self._world.run_until(self._now)


def _is_served(document: dict[str, Any]) -> bool:
    return document["kind"] != "Namespace" and resource_of_kind(document["apiVersion"], document["kind"]) is not None


def _place(document: dict[str, Any]) -> str:
    resource = resource_of_kind(document["apiVersion"], document["kind"])
    assert resource is not None
    middle = "/namespaces/default" if resource.namespaced else ""
    return f"/{'apis' if resource.group else 'api'}/{resource.api_version}{middle}/{resource.plural}"


def _as_a_user_writes_it(document: dict[str, Any]) -> dict[str, Any]:
    written = deepcopy(document)
    for field in GIVEN_BY_SERVERS:
        written["metadata"].pop(field, None)
    _name_images(written)
    if written["kind"] == "Pod":
        written["spec"].pop("overhead", None)  # which comes from a RuntimeClass
    return written


def _name_images(value: Any) -> None:
    if isinstance(value, dict):
        for container in (*value.get("containers", ()), *value.get("initContainers", ())):
            container.setdefault("image", IMAGE)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _name_images(inner)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_cluster_lives_with_whatever_it_has_accepted(part: int) -> None:
    logging.disable(logging.CRITICAL)
    problems = []
    try:
        for number in range(FIRST + part, FIRST + COUNT, PARTS):
            session = Session(number)
            try:
                session.run()
            except Exception as error:
                problems.append(f"session {number}: {type(error).__name__}: {error}: after {session.last}")
            else:
                assert session.accepted > SESSION // 4
    finally:
        logging.disable(logging.NOTSET)
    assert not problems, "\n".join(problems)
