"""Runs in processes of this machine.

Takes a story and runs with their names; gives outcomes as they finish. A process has one run at a time and the next one
waiting for it, so that nothing piles up. A process that dies (out of memory, killed) is replaced, and its run is tried
again; one that dies each time is an error of that run alone. Closing the iterator ends all processes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from bayplan.analysis.sweeping.runs import RunOutcome, RunSpec, Story, do_run

#: How often a run may be the last of its process.
DEATHS_MAX = 3
#: Seconds after which an idle process looks whether anybody still wants it.
_LOOK_EVERY = 2.0

Task = tuple[str, RunSpec]


class LocalEngine:
    """So many processes; with one, everything happens in this one."""

    def __init__(self, processes: int | None = None) -> None:
        self.processes = processes or len(os.sched_getaffinity(0))

    def run(self, story: Story, tasks: Iterable[Task]) -> Generator[RunOutcome, None, None]:
        if self.processes == 1 or sys.platform != "linux":
            for name, spec in tasks:
                yield do_run(story, name, spec)
            return
        yield from _Crew(story, self.processes).run(iter(tasks))


class _Crew:
    """The processes, and which has which run."""

    def __init__(self, story: Story, processes: int) -> None:
        self._story, self._processes = story, processes
        self._workers: list[_Worker] = []
        self._again: deque[Task] = deque()
        self._deaths: dict[str, int] = {}

    def run(self, tasks: Iterator[Task]) -> Iterator[RunOutcome]:
        try:
            while True:
                self._hand_out(tasks)
                if not self._workers:
                    return
                ready = wait([handle for worker in self._workers for handle in (worker.pipe, worker.process.sentinel)])
                for worker in [each for each in self._workers if each.pipe in ready or each.process.sentinel in ready]:
                    yield from self._heard(worker)
        finally:
            for worker in self._workers:
                worker.end()

    def _hand_out(self, tasks: Iterator[Task]) -> None:
        """A run to each process that has none, and to new ones; processes without anything to do end."""
        for worker in list(self._workers):
            if worker.task is None and not self._give(worker, tasks):
                worker.end()
                self._workers.remove(worker)
        while len(self._workers) < self._processes:
            task = self._again.popleft() if self._again else next(tasks, None)
            if task is None:
                return
            self._workers.append(_Worker(self._story, task))

    def _give(self, worker: _Worker, tasks: Iterator[Task]) -> bool:
        task = self._again.popleft() if self._again else next(tasks, None)
        if task is not None:
            worker.give(task)
        return task is not None

    def _heard(self, worker: _Worker) -> Iterator[RunOutcome]:
        assert worker.task is not None
        try:
            outcome: RunOutcome = worker.pipe.recv()
        except (EOFError, OSError):
            self._workers.remove(worker)
            worker.end()
            yield from self._died(worker.task)
        else:
            worker.task = None
            yield outcome

    def _died(self, task: Task) -> Iterator[RunOutcome]:
        name, _ = task
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] < DEATHS_MAX:
            self._again.append(task)
        else:
            yield RunOutcome(name, error=f"its process died {DEATHS_MAX} times (out of memory?)")


class _Worker:
    """A process, this end of its pipe, and the run it has."""

    def __init__(self, story: Story, task: Task) -> None:
        context: Any = multiprocessing.get_context("fork")  # which inherits the story
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(story, theirs, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.give(task)

    def give(self, task: Task) -> None:
        self.task = task
        self.pipe.send(task)

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _work(story: Story, pipe: Connection[Any, Any], parent: int) -> None:
    """In the process: runs until nobody asks any more. Interrupts are for the parent to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        while not pipe.poll(_LOOK_EVERY):
            if os.getppid() != parent:
                return
        name, spec = pipe.recv()
        pipe.send(do_run(story, name, spec))
