"""`bayplan mcp`: what is wrong is known before a client comes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import pytest

from bayplan.testing import builders as make

from .conftest import Bayplan


def test_without_a_cluster(bayplan: Bayplan) -> None:
    said = bayplan("mcp")
    assert (said.code, "There is no cluster to read" in said.err) == (2, True)


def test_without_the_extra(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr("bayplan.cli.mcp.find_spec", lambda _: None)
    said = bayplan("mcp", "-f", "x.yaml")
    assert (said.code, "pip install 'bayplan[mcp]'" in said.err) == (2, True)


@pytest.mark.parametrize("address", ["8080", "localhost", ":x"])
def test_an_address_that_is_none(bayplan: Bayplan, file_of: Callable[..., str], address: str) -> None:
    said = bayplan("mcp", "-f", file_of(make.pod("x")), "--http", address)
    assert (said.code, f"{address!r}: expected ADDRESS:PORT" in said.err) == (2, True)
