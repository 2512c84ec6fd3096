"""Runs on a Ray cluster: `pip install bayplan[ray]`.

Takes a story and runs with their names; gives outcomes as they finish. The story is put into Ray's object store once,
and read once by each worker.
As many runs are under way as the cluster has CPUs, and one more for each, so that nothing piles up. Ray tries a run
again whose machine is gone. Ray is imported when the engine is made.
"""

from __future__ import annotations

import socket
from collections.abc import Generator, Iterable
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any

from bayplan.analysis.sweeping.local_engine import Task
from bayplan.analysis.sweeping.runs import RunOutcome, RunSpec, Story, do_run

#: How often Ray may start a run again whose process or machine is gone.
RETRIES = 5
#: Runs under way for each CPU of the cluster: one more than it can do, so that none of them waits for the driver.
UNDER_WAY = 2
_CLIENT = "ray://"
_ANSWERS_WITHIN_S = 10.0


class RayMissingError(ImportError):
    """There is no Ray in this installation."""

    def __init__(self) -> None:
        super().__init__("engine ray needs Ray: pip install 'bayplan[ray]'", name="ray")


class RayEngine:
    """The Ray cluster at an address; None: the one that this process is connected to, or a new one on this machine."""

    def __init__(self, address: str | None = None) -> None:
        """Raises RayMissingError, and OSError if nobody answers at the address."""
        if find_spec("ray") is None:
            raise RayMissingError
        if address is not None:
            check_answers(address)
        self._ray: Any = import_module("ray")
        if not self._ray.is_initialized():
            try:
                self._ray.init(address=address, log_to_driver=False, logging_level="warning")
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise OSError(f"no Ray cluster at {address}: {error}") from error

    def run(self, story: Story, tasks: Iterable[Task]) -> Generator[RunOutcome, None, None]:
        ray, waiting = self._ray, iter(tasks)
        shared = ray.put(story)
        remote = ray.remote(_remote_run).options(max_retries=RETRIES, num_cpus=1)
        under_way: dict[Any, str] = {}
        try:
            while True:
                for name, spec in islice(waiting, max(self._places() - len(under_way), 0)):
                    under_way[remote.remote([shared], shared.hex(), name, spec)] = name
                if not under_way:
                    return
                ready, _ = ray.wait(list(under_way), num_returns=1)
                for reference in ready:
                    yield self._outcome(reference, under_way.pop(reference))
        finally:
            for reference in under_way:
                ray.cancel(reference, force=True)

    def _places(self) -> int:
        """Follows machines that join and leave."""
        return UNDER_WAY * max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def _outcome(self, reference: Any, name: str) -> RunOutcome:
        try:
            outcome: RunOutcome = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return RunOutcome(name, error=f"lost by Ray: {type(error).__name__}")
        return outcome


def check_answers(address: str) -> None:
    """Raises OSError if nobody listens at HOST:PORT, which Ray itself tries for minutes. Other addresses are Ray's."""
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _ANSWERS_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise OSError(f"no Ray cluster at {address}: {said}") from error


#: In a worker: the story that it has read last, by its reference.
_STORIES: dict[str, Story] = {}


def _remote_run(shared: list[Any], reference: str, name: str, spec: RunSpec) -> RunOutcome:
    """The story is in a list, or Ray would unpack it again for every run."""
    if reference not in _STORIES:
        _STORIES.clear()
        _STORIES[reference] = import_module("ray").get(shared[0])
    return do_run(_STORIES[reference], name, spec)
