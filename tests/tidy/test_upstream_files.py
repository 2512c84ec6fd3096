"""Each module of a plugin says which files of upstream's it mirrors, for whoever ports the next version.

Its docstring names files and version: `Upstream: plugins/nodeports/node_ports.go (v1.36).` A module that mirrors none
says that, too: `Upstream: none, as ...`. Whether such a file exists is not known here.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "src" / "bayplan" / "core" / "plugins"
MODULES = sorted(set(PLUGINS.rglob("*.py")) - {PLUGINS / "__init__.py"})
NAMED = re.compile(r"Upstream: (?:none, as \w|(?:[\w.-]+/)+\w+\.go\b[^()]* \(v1\.\d\d)")


def names_what_it_mirrors(text: str) -> bool:
    return NAMED.search(" ".join((ast.get_docstring(ast.parse(text)) or "").split())) is not None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PLUGINS).as_posix())
def test_a_module_of_a_plugin_names_what_it_mirrors(path: Path) -> None:
    assert names_what_it_mirrors(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"""Ports.\n\nUpstream: plugins/nodeports/node_ports.go (v1.36).\n"""', True),
        ('"""Ports. Upstream: plugins/nodeports/node_ports.go PreFilter,\nFilter (v1.36, v1.37).\n"""', True),
        ('"""Counts.\n\nUpstream: none, as it looks at one node.\n"""', True),
        ('"""Ports.\n\nUpstream: plugins/nodeports (v1.36).\n"""', False),
        ('"""Ports.\n\nUpstream: plugins/nodeports/node_ports.go.\n"""', False),
        ('"""Ports."""\n# Upstream: plugins/nodeports/node_ports.go (v1.36).', False),
    ],
)
def test_a_path_alone_or_a_comment_is_not_enough(text: str, names: bool) -> None:
    assert names_what_it_mirrors(text) is names
