"""Each module of a plugin says which files of upstream's it mirrors, for whoever ports the next version.

A module that mirrors none says that, too: `Upstream: none, as ...`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "src" / "bayplan" / "core" / "plugins"
MODULES = sorted(set(PLUGINS.rglob("*.py")) - {PLUGINS / "__init__.py"})


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PLUGINS).as_posix())
def test_a_module_of_a_plugin_names_what_it_mirrors(path: Path) -> None:
    assert "Upstream: " in path.read_text(encoding="utf-8")
