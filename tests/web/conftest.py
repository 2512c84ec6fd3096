"""A real browser, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.support.dashboard_server import Running, dashboard_server

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def cluster() -> Iterator[Running]:
    """Two nodes of 4 cpu, and nothing else."""
    with dashboard_server(load_configuration(release=DEFAULT_RELEASE)) as made:
        yield made


@pytest.fixture
def cluster_with_groups() -> Iterator[Running]:
    """The same in v1.37, with pod groups."""
    gates = {"GenericWorkload": True}
    with dashboard_server(load_configuration(None, gates, release=RELEASES["1.37"], with_groups=True)) as made:
        yield made
