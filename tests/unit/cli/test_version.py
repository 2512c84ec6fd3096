"""`bayplan version`."""

from __future__ import annotations

import platform

import yaml

from bayplan import __version__

from .conftest import Bayplan


def test_the_versions_that_matter(bayplan: Bayplan) -> None:
    said = bayplan("version")
    assert said.first_line == f"bayplan {__version__}, decides like kube-scheduler v1.36 or v1.37"
    assert f"Python {platform.python_version()}" in said.out


def test_for_programs(bayplan: Bayplan) -> None:
    found = bayplan("version", "-o", "json").json()
    assert found["bayplan"] == __version__
    assert yaml.safe_load(bayplan("version", "-o", "yaml").out) == found
