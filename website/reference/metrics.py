"""Every family of metrics that `bayplan run` serves, with its type, labels and help."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import bayplan.serving.metrics as package
from bayplan.serving.metrics.own import PREFIX
from bayplan.serving.metrics.tallies import Family
from website.reference.markdown import code, prose, table


def families() -> list[Family]:
    """By name; each is a constant of some module of the package."""
    modules = [import_module(f"{package.__name__}.{module.name}") for module in pkgutil.iter_modules(package.__path__)]
    found = {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Family)}
    return [found[name] for name in sorted(found)]


def page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    own = [family for family in families() if family.name.startswith(PREFIX)]
    upstream = [family for family in families() if not family.name.startswith(PREFIX)]
    yield from ("# Metrics", "")
    yield "What to watch, and what differs from kube-scheduler: [Monitoring](../guide/metrics.md)."
    yield from ("", "## As in kube-scheduler", "")
    yield from _table(upstream)
    yield from ("## bayplan's own", "")
    yield from _table(own)
    yield from ("The process's own (`process_*`, `python_*`) are those of the Prometheus client library.", "")


def _table(shown: list[Family]) -> Iterator[str]:
    return table(
        ("Metric", "Type", "Labels", "Meaning"),
        ((code(family.name), family.type, code(", ".join(family.labels)), prose(family.help)) for family in shown),
    )
