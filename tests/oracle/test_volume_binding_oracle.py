"""VolumeBinding over all nodes against one node, one claim and one volume at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of, prepared, verdicts
from tests.support.examples import examples

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import row_array
from bayplan.core.framework.contract import Ready
from bayplan.core.plugins.volume_binding import (
    BIND_CONFLICT,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    UNBOUND_IMMEDIATE,
    VOLUME_MISSING,
    PodVolumes,
    VolumeBinding,
)
from bayplan.model.kinds import Object
from bayplan.model.meta import LabelSelector, ObjectMeta, ObjectReference
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
)
from bayplan.testing.builders import claim, node, pod, storage_class, volume

ZONE = "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
ZONES = st.sampled_from(["x", "x", "y", "z"])
NODES = [node("n0").zone("x").obj(), node("n1").zone("y").obj(), node("n2").obj()]
SIZES = st.integers(1, 4)
# Most cases are about claims that have to share out a few volumes; the rest is kept rare.
CLASSES = st.sampled_from(["late"] * 5 + ["made"] * 4 + ["now"])


@dataclass
class Case:
    """Claims, what there is to bind them to, and a pod that uses some of them."""

    waiting: Pod
    claims: dict[str, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)
    driver: CSIDriver | None = None
    capacities: list[CSIStorageCapacity] = field(default_factory=list)

    def objects(self) -> list[Object]:
        drivers = [self.driver] if self.driver else []
        return [
            *NODES, *self.claims.values(), *self.volumes.values(), *self.classes.values(), *drivers, *self.capacities
        ]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = [f"c{number}" for number in range(3)]
    built = pod("p")
    for name in draw(st.lists(st.sampled_from(names), min_size=2, max_size=3)):
        built.claim(name)
    case = Case(built.obj())
    for name in ("late", "made", "now"):
        mode = "Immediate" if name == "now" else "WaitForFirstConsumer"
        provisioner = "kubernetes.io/no-provisioner" if name == "late" else "disk.example.com"
        made = storage_class(name, mode=mode, provisioner=provisioner).obj()
        made.allowed_topologies = [
            TopologySelectorTerm(
                match_label_expressions=[TopologySelectorLabelRequirement(key=ZONE, values=[draw(ZONES)])]
            )
            for _ in range(draw(st.integers(0, 2)))
        ]
        case.classes[name] = made
    for name in names:
        wanted = claim(name).storage(draw(SIZES)).storage_class(draw(CLASSES))
        fate = draw(st.sampled_from(["free"] * 8 + ["bound", "selected"]))
        if fate == "bound":
            wanted.bound(draw(st.sampled_from(["v0", "v1", "gone"])))
        if fate == "selected":
            wanted.annotations({SELECTED: draw(st.sampled_from(["n0", "n1"]))})
        case.claims[name] = wanted.obj()
    for number in range(draw(st.integers(2, 7))):
        held = volume(f"v{number}").storage(draw(SIZES)).storage_class(draw(st.sampled_from(["late", "made"])))
        zones = draw(st.lists(ZONES, max_size=2))
        if zones:
            held.node_affinity(*(f"{ZONE}={zone}" for zone in zones))
        made_volume = held.obj()
        made_volume.status.phase = draw(st.sampled_from(["Available"] * 6 + ["Released"]))
        kept_for = draw(st.sampled_from([None] * 8 + ["c0", "c1", "other"]))
        if kept_for:
            made_volume.spec.claim_ref = ObjectReference(namespace="default", name=kept_for)
        case.volumes[made_volume.metadata.name] = made_volume
    if draw(st.booleans()):
        tells = CSIDriverSpec(storage_capacity=draw(st.booleans()))
        case.driver = CSIDriver(metadata=ObjectMeta(name="disk.example.com"), spec=tells)
    case.capacities = [
        CSIStorageCapacity(
            metadata=ObjectMeta(name=f"k{number}", namespace="default"),
            node_topology=draw(st.sampled_from([None, LabelSelector(), LabelSelector(match_labels={ZONE: "x"})])),
            storage_class_name=draw(st.sampled_from(["late", "made"])),
            capacity=draw(SIZES),
        )
        for number in range(draw(st.integers(0, 2)))
    ]
    return case


def size(made: PersistentVolumeClaim | PersistentVolume) -> int:
    amounts = made.spec.resources.requests if isinstance(made, PersistentVolumeClaim) else made.spec.capacity
    return int(amounts["storage"])


def reaches(held: PersistentVolume, here: Node) -> bool:
    affinity = held.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    zones = [
        value
        for term in affinity.required.node_selector_terms
        for requirement in term.match_expressions
        for value in requirement.values
    ]
    return here.metadata.labels.get(ZONE) in zones


def find_volume(
    case: Case, wanted: PersistentVolumeClaim, here: Node, taken: list[PersistentVolume]
) -> PersistentVolume | None:
    best = None
    for held in case.volumes.values():
        reference = held.spec.claim_ref
        if held in taken or held.spec.storage_class_name != wanted.spec.storage_class_name or size(held) < size(wanted):
            continue
        if reference is not None:
            if reference.name == wanted.metadata.name:
                return held if reaches(held, here) else None
            continue
        fits = held.status.phase == "Available" and reaches(held, here)
        if fits and (best is None or size(held) < size(best)):
            best = held
    return best


def provisioning_fault(case: Case, wanted: PersistentVolumeClaim, here: Node) -> str | None:
    made = case.classes[wanted.spec.storage_class_name or ""]
    zone = here.metadata.labels.get(ZONE)
    allowed = [term.match_label_expressions[0].values[0] for term in made.allowed_topologies]
    if made.provisioner == "kubernetes.io/no-provisioner" or (allowed and zone not in allowed):
        return BIND_CONFLICT
    if case.driver is None or not case.driver.spec.storage_capacity:
        return None
    for told in case.capacities:
        if told.storage_class_name != made.metadata.name or int(told.capacity or 0) < size(wanted):
            continue
        if told.node_topology is not None and (not told.node_topology.match_labels or zone == "x"):
            return None
    return NOT_ENOUGH_SPACE


def oracle(case: Case, here: Node) -> tuple[list[str], list[tuple[str, str]]]:
    """Reasons against the node, and which volumes which claims would get there."""
    claims = [
        case.claims[each.persistent_volume_claim.claim_name]
        for each in case.waiting.spec.volumes
        if each.persistent_volume_claim
    ]
    reasons = []
    missing = False
    for wanted in claims:
        if wanted.spec.volume_name:
            held = case.volumes.get(wanted.spec.volume_name)
            if held is None:
                missing = True
                break
            if not reaches(held, here):
                reasons.append(NODE_CONFLICT)
                break
    delayed = [wanted for wanted in claims if not wanted.spec.volume_name]
    selected = [wanted for wanted in delayed if SELECTED in wanted.metadata.annotations]
    bindings: list[tuple[str, str]] = []
    if any(wanted.metadata.annotations[SELECTED] != here.metadata.name for wanted in selected):
        reasons.append(BIND_CONFLICT)
    else:
        to_make = list(selected)
        taken: list[PersistentVolume] = []
        for wanted in sorted((each for each in delayed if each not in selected), key=size):
            found = find_volume(case, wanted, here, taken)
            if found is None:
                to_make.append(wanted)
            else:
                taken.append(found)
                bindings.append((found.metadata.name, wanted.metadata.name))
        faults = [fault for wanted in to_make if (fault := provisioning_fault(case, wanted, here))]
        reasons += faults[:1]
    return reasons + [VOLUME_MISSING] * missing, bindings


@examples(200)
@given(cases())
def test_arrays_agree_with_one_node_at_a_time(case: Case) -> None:
    """Every node gets the reasons of the slow version, and where it passes the same bindings."""
    cache = cache_of(*case.objects())
    found = verdicts(VolumeBinding(gates=DEFAULT_GATES), cache, case.waiting)
    used = {
        each.persistent_volume_claim.claim_name for each in case.waiting.spec.volumes if each.persistent_volume_claim
    }
    immediate = [
        name
        for name in used
        if case.claims[name].spec.storage_class_name == "now" and not case.claims[name].spec.volume_name
    ]
    if immediate:
        assert found["*"].reasons == (UNBOUND_IMMEDIATE,)
        return
    plugin = VolumeBinding(gates=DEFAULT_GATES)
    _, view, outcome = prepared(plugin, cache, case.waiting)
    assert isinstance(outcome, Ready)
    for here in NODES:
        name = here.metadata.name
        reasons, bindings = oracle(case, here)
        assert list(found[name].reasons) == reasons
        if not reasons:
            chosen = plugin.volumes_on(outcome.state, view, view.nodes.rows_by_name[name])
            assert [(pv.metadata.name, pvc.metadata.name) for pv, pvc in chosen.static] == bindings


def capacity_here(case: Case, wanted: PersistentVolumeClaim, here: Node) -> int | None:
    """What the volume would be made from; None where the driver does not say."""
    if case.driver is None or not case.driver.spec.storage_capacity:
        return None
    for told in case.capacities:
        amount, topology = int(told.capacity or 0), told.node_topology
        within_reach = topology is not None and (not topology.match_labels or here.metadata.labels.get(ZONE) == "x")
        if told.storage_class_name == wanted.spec.storage_class_name and amount >= size(wanted) and within_reach:
            return amount
    return None


def slow_score(case: Case, chosen: PodVolumes, here: Node) -> int:
    """By default a class is worth what it leaves free, in percent; classes count alike, halves are rounded up."""
    uses: dict[str, tuple[int, int]] = {}
    for held, wanted in chosen.static:
        requested, capacity = uses.get(held.spec.storage_class_name, (0, 0))
        uses[held.spec.storage_class_name] = (requested + size(wanted), capacity + size(held))
    for wanted in () if chosen.static else chosen.provisioned:
        amount = capacity_here(case, wanted, here)
        if amount is not None:
            requested, _ = uses.get(wanted.spec.storage_class_name or "", (0, 0))
            uses[wanted.spec.storage_class_name or ""] = (requested + size(wanted), amount)
    worth = [100 - (100 if requested > amount else requested * 100 // amount) for requested, amount in uses.values()]
    return floor(Fraction(sum(worth), len(worth)) + Fraction(1, 2)) if worth else 0


@examples(200)
@given(cases())
def test_scores_by_capacity_agree_with_one_node_at_a_time(case: Case) -> None:
    plugin = VolumeBinding(gates=replace(DEFAULT_GATES, storage_capacity_scoring=True))
    info, view, outcome = prepared(plugin, cache_of(*case.objects()), case.waiting)
    if not isinstance(outcome, Ready):
        return
    rows = row_array([view.nodes.rows_by_name[here.metadata.name] for here in NODES])
    fits = plugin.filter(outcome.state, view, rows) == 0
    scores = plugin.score(info, view, rows)
    for here, row, passes, score in zip(NODES, rows.tolist(), fits.tolist(), scores.tolist(), strict=True):
        if passes:
            assert score == slow_score(case, plugin.volumes_on(outcome.state, view, row), here), here.metadata.name
