"""Nothing is defined that the product does not use; what only tests use is dead, too.

A module-level name counts as used where its own module reads it outside its definition, or where another module
imports it or reads it as an attribute. A method counts as used where any module reads an attribute of its name, or
names it in a string that is looked up. Modules of `bayplan.testing` are tools for tests, so tests use them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tests.tidy.source import Function, Tree, read_tree

from bayplan.cli.main import COMMANDS

PUBLIC = {
    "bayplan.__dir__": "asked for by Python",
    "bayplan.__getattr__": "asked for by Python",
    "bayplan.analysis.cluster.Cluster.after": "the Python API",
    "bayplan.analysis.cluster.Cluster.explain_group": "the Python API",
    "bayplan.analysis.cluster.Cluster.from_objects": "the Python API",
    "bayplan.analysis.simulation.results.columns.Columns._repr_html_": "called by notebooks",
    "bayplan.analysis.showing.Shown._repr_html_": "called by notebooks",
    "bayplan.analysis.simulation.results.columns.Columns.to_pandas": "called by users",
    "bayplan.analysis.simulation.results.columns.Columns.to_polars": "called by users",
    "bayplan.analysis.sweeping.sweeping.sweep": "called by users",
    "bayplan.analysis.sweeping.sweep_result.SweepResult.to_pandas": "called by users",
    "bayplan.analysis.sweeping.sweep_result.SweepResult.to_polars": "called by users",
    "bayplan.report.notebook.html_of": "asked for at the front door",
    "bayplan.report.notebook.sentence_of": "asked for at the front door",
    **{
        f"bayplan.apiserver.http.connections.HttpConnection.{name}": "called by asyncio and by the parser"
        for name in ("connection_made", "connection_lost", "data_received", "on_message_begin", "on_headers_complete")
    },
    "bayplan.apiserver.http.rendering._Dumper.ignore_aliases": "called by PyYAML",
    "bayplan.cli.main.main": "the console script",
    "bayplan.cli.main.LazyGroup.format_commands": "called by click",
    "bayplan.cli.main.LazyGroup.get_command": "called by click",
    "bayplan.cli.main.LazyGroup.invoke": "called by click",
    "bayplan.cli.main.LazyGroup.list_commands": "called by click",
    "bayplan.cli.main.LazyGroup.resolve_command": "called by click",
    "bayplan.cli.completion.complete_for_kubectl": "the console script that kubectl asks for completions",
    "bayplan.cli.options.CommandWithFiles.parse_args": "called by click",
    **{f"bayplan.cli.{name.replace('-', '_')}.command": "loaded by name in cli.main" for name in COMMANDS},
    **{
        f"bayplan.client.wire.Wire.{name}": "called by asyncio and by the parser"
        for name in ("connection_lost", "data_received", "on_header", "on_headers_complete", "on_body")
    },
    **{f"bayplan.client.proxying._Asking.{name}": "called by asyncio" for name in ("connection_lost", "data_received")},
    **{
        f"bayplan.client.posting._Exchange.{name}": "called by the parser"
        for name in ("on_header", "on_headers_complete", "on_body", "on_message_complete")
    },
    **{
        f"bayplan.core.{where}.fits_without": "for plugins that make room in their own way"
        for where in ("framework.contract.Failure", "preemption.post_filter.FailedAttempt")
    },
    **{
        f"bayplan.core.{where}.nodes_without": "for plugins that make room for groups in their own way"
        for where in ("framework.group_contract.GroupFailure", "groups.post_filter.FailedGroup")
    },
    "bayplan.core.framework.per_node.NodeView.pod_keys": "for plugins that judge one node at a time",
    "bayplan.core.lifecycle.FLYING": "names a part of the table of states",
    "bayplan.core.queue.SchedulingQueue.in_flight_counts": "what upstream reports as inflight_events",
    "bayplan.pytest_plugin.kubernetes_cluster": "asked for by name in tests",
    "bayplan.pytest_plugin.kubernetes_user": "asked for by name in tests",
    "bayplan.pytest_plugin.session_kubernetes_user": "asked for by name in tests",
    "bayplan.pytest_plugin.pytest_configure": "called by pytest",
    "bayplan.pytest_plugin.session_kubernetes_cluster": "asked for by name in tests",
    "bayplan.testing.__getattr__": "asked for by Python",
    "bayplan.testing.check_plugin.check_plugin": "exported by bayplan.testing",
    "bayplan.testing.comparing.compare_plugins": "exported by bayplan.testing",
    "bayplan.store.objects.Store.update_status": "a write that clients make, beside `replace`",
}
"""Definitions that others use, with who does."""

_NOBODY = Tree({})
#: A module and a line of it.
Place = tuple[str, int]


def dead_definitions(tree: Tree, users: Tree = _NOBODY) -> set[str]:
    """Definitions of the tree that neither it nor its users use."""
    uses = _Uses(tree, users)
    return {
        where
        for module, parsed in tree.modules.items()
        for where, is_used in _judged(module, parsed, uses)
        if not is_used and where not in PUBLIC
    }


def _judged(module: str, parsed: ast.Module, uses: _Uses) -> Iterator[tuple[str, bool]]:
    for name, node in _definitions(parsed):
        yield f"{module}.{name}", uses.of_name(module, name, node)
        for method in _methods(node):
            yield f"{module}.{name}.{method.name}", uses.of_method(module, method)


def _definitions(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in module.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from ((name.id, node) for name in names if isinstance(name, ast.Name) and name.id != "__all__")


def _methods(node: ast.stmt) -> Iterator[Function]:
    for item in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(item, Function) and not (item.name.startswith("__") and item.name.endswith("__")):
            yield item


class _Uses:
    """Where names are read: those of modules, and those of attributes, with strings that may be looked up."""

    def __init__(self, *trees: Tree) -> None:
        self._modules = {module for tree in trees for module in tree.modules}
        self._names: dict[tuple[str, str], list[Place]] = {}
        self._attributes: dict[str, list[Place]] = {}
        self._passed_on: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for tree in trees:
            for module, parsed in tree.modules.items():
                self._add(module, parsed)

    def _add(self, module: str, parsed: ast.Module) -> None:
        nodes = [*ast.walk(parsed)]
        loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        aliases = self._aliases(nodes)
        for node in nodes:
            match node:
                case ast.ImportFrom(module=str(source), names=names):
                    # An import that only passes a name on is no use of it; who imports it from there uses it.
                    for alias in names:
                        known_as = alias.asname or alias.name
                        if known_as in loaded:
                            self._names.setdefault((source, alias.name), []).append((module, node.lineno))
                        else:
                            self._passed_on.setdefault((source, alias.name), []).append((module, known_as))
                case ast.Name(id=name, ctx=ast.Load()):
                    self._names.setdefault((module, name), []).append((module, node.lineno))
                case ast.Attribute(value=value, attr=name):
                    self._attributes.setdefault(name, []).append((module, node.lineno))
                    if isinstance(value, ast.Name) and value.id in aliases:
                        self._names.setdefault((aliases[value.id], name), []).append((module, node.lineno))
                case ast.Constant(value=str(text)):
                    self._attributes.setdefault(text, []).append((module, node.lineno))

    def _aliases(self, nodes: list[ast.AST]) -> dict[str, str]:
        """Names that stand for modules."""
        found: dict[str, str] = {}
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                found |= {alias.asname or alias.name: f"{prefix}{alias.name}" for alias in node.names}
        return {name: module for name, module in found.items() if module in self._modules}

    def of_name(self, module: str, name: str, definition: ast.stmt) -> bool:
        places = [(module, name), *self._passed_on.get((module, name), [])]
        return any(_outside(self._names.get(place, []), module, definition) for place in places)

    def of_method(self, module: str, method: Function) -> bool:
        return _outside(self._attributes.get(method.name, []), module, method)


def _outside(uses: list[Place], module: str, definition: ast.stmt) -> bool:
    lines = range(definition.lineno, (definition.end_lineno or definition.lineno) + 1)
    return any(where != module or line not in lines for where, line in uses)


def test_nothing_is_defined_that_nothing_uses() -> None:
    source = read_tree()
    testing = {module for module in source.modules if module.startswith("bayplan.testing")}
    product = Tree({name: parsed for name, parsed in source.modules.items() if name not in testing})
    tools = Tree({name: parsed for name, parsed in source.modules.items() if name in testing})
    users = Tree({**tools.modules, **read_tree("benchmarks").modules})
    assert dead_definitions(product, users) == set()
    assert dead_definitions(tools, read_tree("tests")) == set()


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        pytest.param("def f(): return f()", {"a.f"}, id="a function that only calls itself"),
        pytest.param("LIMIT = 5", {"a.LIMIT"}, id="a constant"),
        pytest.param("class A:\n    def f(self): ...\nA()", {"a.A.f"}, id="a method"),
        pytest.param("class A:\n    def f(self): ...\nA().f()", set(), id="a method that is called"),
        pytest.param('class A:\n    def f(self): ...\ngetattr(A(), "f")', set(), id="a method that is looked up"),
        pytest.param("def f(): ...\ndef g(): f()\ng()", set(), id="functions that are called"),
    ],
)
def test_what_a_module_does_not_use_is_found(text: str, dead: set[str]) -> None:
    assert dead_definitions(Tree.of(a=text)) == dead


@pytest.mark.parametrize(
    ("user", "dead"),
    [
        ("from a import f\nf()", set()),
        ("import a\na.f()", set()),
        ("import a as other\nother.f()", set()),
        ('from a import f\n__all__ = ["f"]', {"a.f"}),
        ("from b import f\nf()", {"a.f"}),
        ("def g(f): return f()", {"a.f"}),
    ],
)
def test_what_other_modules_do_not_use_is_found(user: str, dead: set[str]) -> None:
    assert dead_definitions(Tree.of(a="def f(): ..."), Tree.of(user=user)) == dead


def test_a_name_is_used_through_a_package_that_passes_it_on() -> None:
    front, user = 'from a import f\n__all__ = ["f"]', "from front import f\nf()"
    assert dead_definitions(Tree.of(a="def f(): ..."), Tree.of(front=front, user=user)) == set()
