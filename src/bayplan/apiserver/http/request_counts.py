"""How many requests were answered, and how much is stored, in Prometheus' format, for `/metrics`.

Takes what was asked and the status of the answer. Durations are not measured: a simulated cluster's say nothing about
those of a real one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from bayplan.apiserver.http.requests import APPLY_PATCH, Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.versions import storage_name

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
_VERBS = {"create": "POST", "update": "PUT"}


class _Series(NamedTuple):
    """Labels of `apiserver_request_total`, in the order in which they are written."""

    code: int
    component: str
    dry_run: str
    group: str
    resource: str
    scope: str
    subresource: str
    verb: str
    version: str


class RequestCounts:
    """Of one server."""

    def __init__(self) -> None:
        self._counts: Counter[_Series] = Counter()

    def note(self, request: Request, target: Target, verb: str, code: int) -> None:
        """One request was answered."""
        resource = target.resource
        applies = verb == "patch" and request.header("content-type").startswith(APPLY_PATCH)
        self._counts[
            _Series(
                code,
                "apiserver",
                "All" if request.query.get("dryRun") == "All" else "",
                resource.group,
                resource.plural,
                "resource" if target.name else "namespace" if target.namespace else "cluster",
                target.subresource,
                "APPLY" if applies else _VERBS.get(verb, verb.upper()),
                resource.version,
            )
        ] += 1

    def answer(self, registry: Registry) -> Answer:
        """All that is measured."""
        stored = {
            (resource.group, resource.plural): registry.storage.count(storage_name(resource))
            for resource in registry.catalogue.all()
        }
        lines = [
            "# HELP apiserver_request_total [STABLE] Counter of apiserver requests broken out for each verb, dry run "
            "value, group, version, resource, scope, component, and HTTP response code.",
            "# TYPE apiserver_request_total counter",
            *(_line("apiserver_request_total", one._asdict(), self._counts[one]) for one in sorted(self._counts)),
            "# HELP apiserver_resource_objects [ALPHA] Number of stored objects at the time of last check split by "
            "kind.",
            "# TYPE apiserver_resource_objects gauge",
            *(
                _line("apiserver_resource_objects", {"group": group, "resource": plural}, count)
                for (group, plural), count in sorted(stored.items())
            ),
        ]
        return Answer(200, "".join(f"{line}\n" for line in lines).encode(), _PROMETHEUS)


def _line(name: str, labels: Mapping[str, object], value: int) -> str:
    return f"{name}{{{','.join(_label(*each) for each in labels.items())}}} {value}"


def _label(name: str, value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{name}="{escaped}"'
