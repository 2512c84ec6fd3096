"""What a cache holds beside its tables, by name: for tests that nothing outlives the pods and nodes it was made for.

`vocabularies` are the distinct values in use. `worked_out` are the sizes of what was made from them on demand. Both are
what they are in a new cache once every pod and node has left, apart from what a decider still remembers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.core.cache import Cache


def vocabularies(cache: Cache) -> Mapping[str, frozenset[Any]]:
    """The values of every vocabulary that something uses."""
    cache.view()  # where what is gone is forgotten
    nodes, shapes = cache.nodes, cache.shapes
    return {
        "resources": frozenset(cache.resources),
        "taint sets": frozenset(nodes.taint_sets),
        "feature sets": frozenset(nodes.feature_sets),
        "sizes": frozenset(size for size, _ in nodes.sizes.items()),
        "images": frozenset(nodes.images),
        "node names": frozenset(nodes.rows_by_name),
        "label values": frozenset(
            (key, value) for key, column in nodes.labels.columns.items() for value in column.values
        ),
        "identities": frozenset(shapes.identities),
        "constraints": frozenset(constraints for constraints, _ in shapes.constraints.items()),
        "shapes": frozenset(shape.serial for shape in shapes),
        "terms": frozenset(cache.counters.terms),
        "host ports": frozenset(cache.ports.held),
        "namespaces": frozenset(cache.objects.namespaces),
    }


def worked_out(cache: Cache) -> Mapping[str, int]:
    """How many entries each table has that follows from the vocabularies."""
    cache.view()
    return {**cache.counters.sizes(), "what pods of a shape take": len(cache.pods._taken_by_shape)}
