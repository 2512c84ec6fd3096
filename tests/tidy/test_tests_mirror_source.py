"""Where the tests of a module are: `tests/unit` mirrors `src/bayplan`, and what is tested by theme is listed here.

The tests of `core/cache.py` are in `tests/unit/core/test_cache.py`, or in `test_cache_THEME.py` beside it.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "bayplan"
UNIT = ROOT / "tests" / "unit"

THEMES = {
    "analysis/simulation/test_cron_jobs.py": "CronJobs from manifests and dumps, through a whole simulation",
    "analysis/simulation/test_pod_groups.py": "gangs that wait, are placed and preempt, through a whole simulation",
    "analysis/simulation/test_resource_claims.py": "devices that pods take turns to use, through a whole simulation",
    "apiserver/http/test_recorded.py": "plain HTTP requests that a real API server was asked, and its answers",
    "apiserver/patching/test_recorded.py": "patches and owners of fields against recorded writes to a real API server",
    "cli/test_hostile_input.py": "what other people's files say, in the answers of all commands",
    "cli/test_screens.py": "answers of all commands on a large cluster: how high and how wide they are",
    "core/groups/test_bad_input.py": "groups that cannot work as they are, through a whole scheduler",
    "core/groups/test_group_claims.py": "resource claims that members of a group share, through a whole scheduler",
    "core/groups/test_complete_wakeups.py": "gaps of upstream with groups, and their cures, through a whole scheduler",
    "core/plugins/test_device_configuration.py": "what drivers are told about devices (dynamic_resources)",
    "core/queue/test_default_profile.py": "the queue with the hints of all default plugins",
    "core/queue/test_lost_wake_ups.py": "each interleaving in which a wake-up could be lost",
    "core/queue/test_queue.py": "the queue as a whole",
    "core/queue/test_queue_against_slow_queue.py": "the queue against a slow one, on random sequences of steps",
    "core/test_unbound_victims.py": "victims that have a node and are not bound yet, from preemption to binding",
    "core/test_uncertain_binding.py": "bindings whose answer is late or lost",
    "core/test_waiting_for_claims.py": "pods that wait for their claims before they are bound",
    "core/test_waiting_for_devices.py": "pods that wait for their devices to be made ready before they are bound",
    "report/comparison/test_comparison.py": "a comparison as tables and as a page",
    "apiserver/admitting/test_answers_recorded.py": "recorded requests of all kinds, with whole answers",
    "apiserver/admitting/test_recorded.py": "creations of a recorded session with a real API server",
    "store/test_binding.py": "the binding subresource",
    "store/test_creating.py": "creating objects: defaults, names, refusals",
    "store/test_recorded.py": "the store against a recorded session with a real API server",
    "store/test_store_machine.py": "the store against a plain model, on random writes",
}


def unplaced_tests() -> set[str]:
    """Test files that belong to no module by their name."""
    modules = {path.relative_to(SOURCE).with_suffix("").as_posix() for path in SOURCE.rglob("*.py")}
    modules |= {module.removesuffix("/__init__") for module in modules}
    return {path.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py") if not _subjects(path) & modules}


def _subjects(path: Path) -> set[str]:
    """The modules that the name may stand for: `test_a_b.py` for `a_b` or, with the theme b, `a`."""
    words = path.stem.removeprefix("test_").split("_")
    folder = path.parent.relative_to(UNIT)
    return {(folder / "_".join(words[:count])).as_posix() for count in range(1, len(words) + 1)}


def test_unit_tests_are_where_their_module_is_or_listed_by_theme() -> None:
    assert unplaced_tests() == set(THEMES)
