"""ImageLocality over all nodes against one node and one image at a time, while nodes come, change and go."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import raw_and_normal_scores

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.plugins.image_locality import ImageLocality
from bayplan.model.node import ContainerImage, Node
from bayplan.model.pod import Container, Pod
from bayplan.model.volumes import ImageVolumeSource, Volume
from bayplan.testing.builders import node, pod

MEBI = 1024 * 1024
NODE_NAMES = st.sampled_from(["n0", "n1", "n2", "n3", "n4"])
HELD = st.sampled_from(["a:latest", "a:1", "b/c:latest", "r:5000/d:latest", "e@sha256:ff"])
WANTED = st.sampled_from(["a", "a:1", "a:latest", "b/c", "r:5000/d", "e@sha256:ff", "nobody"])
IMAGES = st.builds(
    ContainerImage,
    names=st.lists(HELD, min_size=1, max_size=2, unique=True),
    size_bytes=st.integers(0, 2000 * MEBI) | st.integers(0, 60 * MEBI) | st.integers(-1, 2**63 - 1),
)
# A node's images, or None for a node that leaves.
CHANGES = st.lists(st.tuples(NODE_NAMES, st.none() | st.lists(IMAGES, max_size=3)), min_size=1, max_size=10)


def whole(number: float) -> int:
    """As amd64 turns a float into an int64: one that is too large becomes the smallest."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else -(2**63)


def int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


@dataclass
class Ledger:
    """Who reported which image, and the size that came first."""

    nodes: dict[str, Node] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def put(self, made: Node) -> None:
        self.remove(made.metadata.name)
        self.nodes[made.metadata.name] = made
        for image in made.status.images:
            for name in image.names:
                self.sizes.setdefault(name, image.size_bytes)

    def remove(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.sizes = {image: size for image, size in self.sizes.items() if self.holders(image)}

    def holders(self, image: str) -> list[str]:
        return [name for name, made in self.nodes.items() if any(image in held.names for held in made.status.images)]

    def score(self, incoming: Pod, node_name: str) -> int:
        spec = incoming.spec
        containers = [*spec.init_containers, *spec.containers]
        total = 0
        for image in [*(item.image for item in containers), *(v.image.reference for v in spec.volumes if v.image)]:
            name = image if ":" in image.split("/")[-1] else image + ":latest"
            holders = self.holders(name)
            if node_name in holders:
                total = int64(total + whole(self.sizes[name] * (len(holders) / len(self.nodes))))
        most = 1000 * MEBI * len(containers)
        total = max(23 * MEBI, min(total, most))
        return 100 * (total - 23 * MEBI) // (most - 23 * MEBI)


@given(CHANGES, st.lists(WANTED, max_size=2), st.lists(WANTED, min_size=1, max_size=3), st.lists(WANTED, max_size=1))
def test_agrees_with_the_oracle(
    changes: list[tuple[str, list[ContainerImage] | None]],
    init_images: list[str],
    images: list[str],
    volume_images: list[str],
) -> None:
    """Scores after every change."""
    incoming = pod("p").obj()
    incoming.spec.init_containers = [Container(image=image) for image in init_images]
    incoming.spec.containers = [Container(image=image) for image in images]
    incoming.spec.volumes = [Volume(image=ImageVolumeSource(reference=image)) for image in volume_images]
    cache, ledger = Cache(gates=DEFAULT_GATES), Ledger()
    for name, held in changes:
        if held is not None:
            made = node(name).obj()
            made.status.images = held
            ledger.put(made)
            cache.add(made)
        elif name in ledger.nodes:
            ledger.remove(name)
            cache.remove_node(name)
        expected = {target: ledger.score(incoming, target) for target in ledger.nodes}
        scored = raw_and_normal_scores(ImageLocality(), cache, incoming)
        assert scored is not None
        assert scored[0] == expected
