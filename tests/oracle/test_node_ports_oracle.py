"""NodePorts against sets of held ports kept by hand, with pods that come and go in what-if worlds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of
from tests.support.examples import examples

from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.contract import Ready, Skip
from bayplan.core.plugins.node_ports import NodePorts, PortsState
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod

NODES = ("n0", "n1", "n2")
Held = dict[str, set[tuple[str, int, str]]]
Batch = tuple[int, list[tuple[int, int]]]  # sign, (pod, node)

# ---------------------------------------------------------------- the slow, obvious version


def ports_of(made: Pod) -> list[tuple[str, int, str]]:
    return [
        (port.protocol or "TCP", port.host_port, port.host_ip or "0.0.0.0")
        for container in made.spec.containers
        for port in container.ports
        if port.host_port
    ]


def conflicts(wanted: Pod, held: set[tuple[str, int, str]]) -> bool:
    return any(
        (protocol, number) == (other_protocol, other_number) and (ip == other or "0.0.0.0" in (ip, other))
        for protocol, number, ip in ports_of(wanted)
        for other_protocol, other_number, other in held
    )


def move(held: Held, made: Pod, node_name: str, sign: int) -> None:
    for port in ports_of(made):
        if sign > 0:
            held[node_name].add(port)
        else:
            held[node_name].discard(port)


# ---------------------------------------------------------------- random clusters

ports = st.tuples(
    st.sampled_from([0, 80, 81]),
    st.sampled_from(["TCP", "UDP", ""]),
    st.sampled_from(["", "0.0.0.0", "10.0.0.1", "::"]),
)


@st.composite
def pods(draw: st.DrawFn, name: str) -> Pod:
    made = pod(name)
    for number, protocol, ip in draw(st.lists(ports, max_size=3)):
        made.port(number, container=9, protocol=protocol, ip=ip)
    return made.obj()


@st.composite
def placed_pods(draw: st.DrawFn) -> list[Pod]:
    """Pods on nodes, and some that are nominated only."""
    made = [draw(pods(f"p{number}")) for number in range(draw(st.integers(0, 8)))]
    for each in made:
        if draw(st.booleans()):
            each.spec.node_name = draw(st.sampled_from(NODES))
        else:
            each.status.nominated_node_name = NODES[0]
    return made


batches = st.lists(
    st.tuples(
        st.sampled_from([+1, -1]), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2)), min_size=1, max_size=4)
    ),
    max_size=5,
)

# ---------------------------------------------------------------- the comparison


def check(state: PortsState, view: View, wanted: Pod, held: Held) -> None:
    plugin = NodePorts()
    codes = plugin.filter(state, view, ALL_ROWS)
    for name in NODES:
        row = view.nodes.rows_by_name[name]
        assert bool(codes[row]) == conflicts(wanted, held[name])
        assert plugin.filter(state, view, row_array([row])).tolist() == [codes[row]]


@examples(200)
@given(placed=placed_pods(), wanted=pods("wanted"), moves=batches)
def test_ports_are_the_oracles(placed: list[Pod], wanted: Pod, moves: list[Batch]) -> None:
    """Every node's answer follows its own set of ports through each move, and the first state never changes."""
    cache = cache_of(*(node(name).obj() for name in NODES), *placed)
    info, view = cache.info(wanted), cache.view()
    plugin = NodePorts()
    outcome = plugin.pre_filter(info, view)
    if isinstance(outcome, Skip):
        assert not ports_of(wanted)
        return
    assert isinstance(outcome, Ready)
    held: Held = {name: set() for name in NODES}
    for made in placed:
        if made.spec.node_name:
            move(held, made, made.spec.node_name, +1)
    at_first = {name: set(ports) for name, ports in held.items()}
    state = plugin.fork(outcome.state, view)
    check(state, view, wanted, held)
    for sign, pairs in moves:
        known = [(placed[number], NODES[place]) for number, place in pairs if number < len(placed)]
        plugin.shift(
            state,
            view,
            row_array([view.pods.rows_by_key[f"default/{made.metadata.name}"] for made, _ in known]),
            row_array([view.nodes.rows_by_name[name] for _, name in known]),
            sign,
        )
        for made, name in known:
            move(held, made, name, sign)
        check(state, view, wanted, held)
        state = plugin.fork(state, view)
    check(outcome.state, view, wanted, at_first)


@examples(100)
@given(placed=placed_pods(), wanted=pods("wanted"))
def test_removing_pods_one_by_one_agrees_with_the_cache(placed: list[Pod], wanted: Pod) -> None:
    """Taking a running pod away in a what-if world gives what really removing it gives."""
    running = [made for made in placed if made.spec.node_name]
    cache = cache_of(*(node(name).obj() for name in NODES), *running)
    info, view = cache.info(wanted), cache.view()
    plugin = NodePorts()
    outcome = plugin.pre_filter(info, view)
    if isinstance(outcome, Skip):
        return
    assert isinstance(outcome, Ready)
    state = plugin.fork(outcome.state, view)
    rows = {made.metadata.name: view.pods.rows_by_key[f"default/{made.metadata.name}"] for made in running}
    for made in running:
        place = view.nodes.rows_by_name[made.spec.node_name]
        plugin.shift(state, view, row_array([rows[made.metadata.name]]), row_array([place]), -1)
    for made in running:
        cache.remove_pod(f"default/{made.metadata.name}")
    assert plugin.filter(state, view, ALL_ROWS).tolist() == plugin.filter(outcome.state, view, ALL_ROWS).tolist()
