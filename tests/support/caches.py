"""Small pieces shared by the tests of the core: a cache from objects, one plugin asked about every node."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import ALL_ROWS, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.contract import NormalizePlugin, PreScorePlugin, Ready, Skip
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod


def cache_of(
    *objects: Object, own_schedulers: frozenset[str] | None = None, gates: FeatureGates = DEFAULT_GATES
) -> Cache:
    cache = Cache(gates, own_schedulers)
    for thing in objects:
        cache.add(thing)
    return cache


def content_of(cache: Cache) -> object:
    """All that decisions depend on, in terms that do not depend on rows."""
    nodes, keys = cache.nodes, cache.pods.keys
    names = [name for name, row in nodes.rows_by_name.items() if nodes.alive[row] or nodes.pod_rows[row]]
    rows = {name: nodes.rows_by_name[name] for name in sorted(names)}
    arrays = nodes.arrays()
    ranks = nodes.name_ranks()
    return (
        {name: [keys[pod] for pod in nodes.pod_rows[row]] for name, row in rows.items()},
        {name: [keys[pod] for pod in pods] for name, pods in cache.nominated.items()},
        sorted(cache.pods.rows_by_key),
        {name: {column: values[row].tolist() for column, values in arrays.items()} for name, row in rows.items()},
        {name: dict(nodes.labels[row]) for name, row in rows.items()},
        sorted((name for name, row in rows.items() if nodes.alive[row]), key=lambda name: ranks.item(rows[name])),
        nodes.order.names(),
        {name: (image.size_bytes, sorted(image.rows)) for name, image in nodes.images.items()},
        nodes.alive_count,
        {
            name: sorted(port for port in cache.ports.held if cache.ports.is_held(port, row))
            for name, row in rows.items()
        },
        (dict(cache.pods.volume_users.attachable), dict(cache.pods.volume_users.doubtful)),
        (dict(cache.objects.claims), dict(cache.objects.volumes), dict(cache.objects.resource_claims)),
    )


def chosen_node(decider: Decider, pod: PodInfo, view: View) -> str:
    """The node that a pod which fits somewhere gets."""
    choice = decider.decide(pod, view)
    assert isinstance(choice, Fits)
    return view.nodes.names[choice.row]


def prepared(plugin: Any, cache: Cache, pod: Pod) -> tuple[PodInfo, View, Any]:
    """The pod, the view, and what `pre_filter` says (or Ready(pod) for a plugin without one)."""
    info = cache.info(pod)
    view = cache.view()
    outcome = plugin.pre_filter(info, view) if hasattr(plugin, "pre_filter") else Ready(info)
    return info, view, outcome


def verdicts(plugin: Any, cache: Cache, pod: Pod) -> dict[str, Status]:
    """What one filter plugin alone says of every node; {"*": status} when it rejects the pod, {} when it skips."""
    _, view, outcome = prepared(plugin, cache, pod)
    if isinstance(outcome, Skip):
        return {}
    if isinstance(outcome, Status):
        return {"*": outcome}
    codes = plugin.filter(outcome.state, view, ALL_ROWS)
    assert codes.shape == (view.nodes.count,)
    return {
        name: plugin.explain_failure(outcome.state, view, int(codes[row])) if codes[row] else Status(Code.SUCCESS)
        for name, row in view.nodes.rows_by_name.items()
        if view.nodes.alive[row]
    }


def raw_and_normal_scores(
    plugin: Any, cache: Cache, pod: Pod, feasible: list[str] | None = None
) -> tuple[dict[str, int], dict[str, int]] | None:
    """One score plugin alone over the feasible nodes (default: all): raw and normalized; None when it skips."""
    info = cache.info(pod)
    view = cache.view()
    names = feasible if feasible is not None else [n for n, r in view.nodes.rows_by_name.items() if view.nodes.alive[r]]
    rows: RowArray = np.array(sorted(view.nodes.rows_by_name[name] for name in names), dtype=np.intp)
    state: Any = plugin.pre_score(info, view, rows) if isinstance(plugin, PreScorePlugin) else info
    if isinstance(state, Skip):
        return None
    raw = plugin.score(state, view, rows)
    normal = plugin.normalize(state, raw, rows) if isinstance(plugin, NormalizePlugin) else raw
    by_row = [view.nodes.names[row] for row in rows]
    return dict(zip(by_row, raw.tolist(), strict=True)), dict(zip(by_row, normal.tolist(), strict=True))
