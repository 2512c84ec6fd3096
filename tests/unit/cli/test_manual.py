"""The manual page names every command and option."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from tests.conftest import REPOSITORY_ROOT

from bayplan.cli.main import COMMANDS

from .conftest import Bayplan


def test_every_command_and_option(bayplan: Bayplan) -> None:
    page = bayplan("manual").out.replace("\\-", "-")
    for name in COMMANDS:
        assert f"\n.SS bayplan {name} " in page
    assert "\n.B --all-namespaces" in page or "\n.B -A, --all-namespaces" in page
    assert "\n.B KUBECONFIG\n" in page


def test_the_page_that_is_installed_is_current(bayplan: Bayplan) -> None:
    written = (REPOSITORY_ROOT / "docs/bayplan.1").read_text(encoding="utf-8")
    assert written == bayplan("manual").out, "write it again: bayplan manual > docs/bayplan.1"


def test_man_has_nothing_to_complain_about(bayplan: Bayplan) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    page = bayplan("manual").out
    checked = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert checked.stderr == ""
