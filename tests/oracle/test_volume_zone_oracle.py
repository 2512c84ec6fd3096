"""VolumeZone over all nodes against one node and one label at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, verdicts

from bayplan.core.plugins.volume_zone import VolumeZone
from bayplan.model.node import Node
from bayplan.model.storage import PersistentVolume
from bayplan.testing.builders import claim, node, pod, volume

OLD, NEW = "failure-domain.beta.kubernetes.io/", "topology.kubernetes.io/"
KEYS = [OLD + "zone", OLD + "region", NEW + "zone", NEW + "region"]
NODE_LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["a", "b", "c"]), max_size=4)
VOLUME_LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["a", "b", "a__b", "c__", "b__ a"]), max_size=3)


def oracle_passes(made: Node, volumes: list[PersistentVolume]) -> bool:
    labels = made.metadata.labels
    if not any(key in labels for key in KEYS):
        return True
    for bound in volumes:
        for key, value in bound.metadata.labels.items():
            zones = [zone.strip() for zone in value.split("__")]
            if "" in zones:
                continue
            found = labels.get(key)
            if found is None:
                found = labels.get(key.replace(OLD, NEW))
            if found not in zones:
                return False
    return True


@given(st.lists(NODE_LABELS, min_size=1, max_size=6), st.lists(VOLUME_LABELS, min_size=1, max_size=2))
def test_arrays_agree_with_one_node_at_a_time(
    node_labels: list[dict[str, str]], volume_labels: list[dict[str, str]]
) -> None:
    """Every node gets the verdict of the slow version; a skipped plugin passes all."""
    nodes = [node(f"n{number}").labels(labels).obj() for number, labels in enumerate(node_labels)]
    volumes = [volume(f"pv{number}").labels(labels).obj() for number, labels in enumerate(volume_labels)]
    claims = [claim(f"c{number}").bound(f"pv{number}").obj() for number in range(len(volumes))]
    waiting = pod("p")
    for number in range(len(volumes)):
        waiting.claim(f"c{number}")
    found = verdicts(VolumeZone(), cache_of(*nodes, *volumes, *claims), waiting.obj())
    assert "*" not in found
    for made in nodes:
        name = made.metadata.name
        assert (found[name].ok if found else True) == oracle_passes(made, volumes)
