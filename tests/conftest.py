"""What every test may use: the shared reference data, and hypothesis profiles.

Recordings of the real scheduler and API server are in the repository. Manifests, traces and clusters of other people
are not ours to publish: they lie beside it, and tests that need them ask for `shared` and are left out without it.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.support.examples import examples

from bayplan.core.columns import loops

REPOSITORY_ROOT = Path(__file__).resolve().parent.parent

# Machines that run CI stall now and then; a deadline would fail tests that are right.
settings.register_profile("new", examples(100, deadline=None, suppress_health_check=[HealthCheck.too_slow]))
# `make test` judges a change, so each run tries the same examples; `make search` looks for new ones.
settings.register_profile("ci", parent=settings.get_profile("new"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# A shell that runs the tests in the background has them ignore interrupts, which some of them are about.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Ten thousand tests and all that they import stay: the garbage collector need not look through them each time."""
    gc.freeze()


#: Files that others have published, and that are theirs to distribute.
PUBLISHED = REPOSITORY_ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published files beside the repository; without it, tests that ask for it are left out."""
    return PUBLISHED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of published files are a suite of their own for those who have the files."""
    if PUBLISHED.is_dir():
        return
    about_published = [each for each in items if isinstance(each, pytest.Function) and "shared" in each.fixturenames]
    if about_published:
        config.hook.pytest_deselected(items=about_published)
        items[:] = [each for each in items if each not in set(about_published)]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not PUBLISHED.is_dir():
        terminalreporter.write_line(f"Tests of published files are left out: there is no folder {PUBLISHED}.")


@pytest.fixture(scope="session")
def conformance_cases() -> Path:
    """Clusters with everything that kube-scheduler v1.36.4 reported for them, by family."""
    return REPOSITORY_ROOT / "tests" / "parity" / "cases"


@pytest.fixture(scope="session")
def recordings() -> Path:
    """What kube-scheduler and kube-apiserver v1.36.4 said, recorded: stories, API sessions, extenders, metrics."""
    return REPOSITORY_ROOT / "tests" / "recordings"


@pytest.fixture(scope="module", params=["compiled", "arrays"])
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test of the module runs with the compiled loops, and again with the array code that they stand for."""
    if request.param == "arrays":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loops, "compiled", None)
            yield
    elif loops.compiled is None:
        pytest.skip("no compiled loops: there was no C compiler when the package was installed")
    else:
        yield
