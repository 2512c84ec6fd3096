"""Containers that do not say what they need.

Looks at the templates of workloads, and at pods that nobody else makes. Requests that a LimitRange would fill in are
not known here; pods that a server has stored have them.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.analysis.answers.audit.audited import Audited
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.model.pod import Container, PodSpec

_RESOURCES = (CPU_NAME, MEMORY_NAME)


def request_findings(audited: Audited) -> Iterator[Finding]:
    for template in audited.templates:
        missing = [text for each in template.spec.containers if (text := _missing(each, template.spec))]
        if missing:
            yield Finding("no-requests", template.name, "; ".join(missing))
        implied = [text for each in template.spec.containers if (text := _implied(each, template.spec))]
        if implied:
            yield Finding("limits-only", template.name, "; ".join(implied))


def _missing(container: Container, spec: PodSpec) -> str:
    """`container app requests no cpu and no memory`."""
    resources = container.resources
    lacking = [
        f"no {name}"
        for name in _RESOURCES
        if name not in resources.requests and name not in resources.limits and not _of_the_pod(spec, name)
    ]
    return f"container {container.name} requests {' and '.join(lacking)}" if lacking else ""


def _implied(container: Container, spec: PodSpec) -> str:
    resources = container.resources
    only = [
        f"{name} {amount}"
        for name, amount in resources.limits.items()
        if name in _RESOURCES and name not in resources.requests and not _of_the_pod(spec, name)
    ]
    return f"container {container.name} has only limits: {', '.join(only)}" if only else ""


def _of_the_pod(spec: PodSpec, resource: str) -> bool:
    """Whether the pod as a whole says it for its containers."""
    return spec.resources is not None and (resource in spec.resources.requests or resource in spec.resources.limits)
