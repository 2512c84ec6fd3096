"""Turns: who writes, who waits, and in which thread."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bayplan.apiserver.registry import turns as turns_module
from bayplan.apiserver.registry.turns import WorkingThread, WritingTurns
from bayplan.apiserver.storage.storage import Storage


def _config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


def _run(check: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(check, 30))


def test_work_is_done_in_a_thread_and_its_writes_in_the_loop() -> None:
    async def check() -> None:
        storage, wrote_in = Storage(), []
        storage.follow(lambda _change: wrote_in.append(threading.get_ident()))

        def work() -> int:
            storage.add("configmaps", _config_map("a"))
            assert storage.find("configmaps", "default", "a") is not None
            return threading.get_ident()

        assert await WritingTurns(storage).alone(work) != threading.get_ident()
        storage.add("configmaps", _config_map("b"))
        assert wrote_in == [threading.get_ident()] * 2

    _run(check())


def test_others_wait_until_it_is_done_and_the_loop_goes_on() -> None:
    async def check() -> None:
        turns, goes_on, order = WritingTurns(Storage()), threading.Event(), []

        def work() -> None:
            goes_on.wait(10)
            order.append("long")

        async def write() -> None:
            await turns.free()
            order.append("short")

        tasks = [asyncio.ensure_future(turns.alone(work))]
        await asyncio.sleep(0)
        tasks += [asyncio.ensure_future(write()), asyncio.ensure_future(turns.alone(work))]
        for _ in range(5):
            await asyncio.sleep(0)
        order.append("read")
        goes_on.set()
        await asyncio.gather(*tasks)
        assert order == ["read", "long", "short", "long"]

    _run(check())


def test_a_refusal_is_raised_and_ends_the_turn() -> None:
    async def check() -> None:
        turns = WritingTurns(Storage())

        def work() -> None:
            raise LookupError("no")

        with pytest.raises(LookupError, match="no"):
            await turns.alone(work)
        await turns.free()

    _run(check())


def test_a_write_that_fails_in_the_loop_fails_in_the_thread() -> None:
    async def check() -> None:
        storage = Storage()

        def refuse(_change: object) -> None:
            raise LookupError("full")

        storage.follow(refuse)
        with pytest.raises(LookupError, match="full"):
            await WritingTurns(storage).alone(lambda: storage.add("configmaps", _config_map("a")))

    _run(check())


def test_a_client_that_leaves_does_not_end_the_turn_of_its_request() -> None:
    async def check() -> None:
        turns, goes_on = WritingTurns(Storage()), threading.Event()
        leaving = asyncio.ensure_future(turns.alone(lambda: goes_on.wait(10)))
        await asyncio.sleep(0)
        leaving.cancel()
        waiting = asyncio.ensure_future(turns.free())
        await asyncio.wait({waiting}, timeout=0.05)
        assert not waiting.done()
        goes_on.set()
        await waiting

    _run(check())


# ---------------------------------------------------------------- beside the event loop


def _beside(check: Callable[[WorkingThread, WritingTurns, Storage], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        storage, thread = Storage(), WorkingThread()
        try:
            await check(thread, WritingTurns(storage), storage)
        finally:
            thread.close()

    _run(main())


def test_short_work_is_done_while_the_loop_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "STANDSTILL_S", 10)

    async def check(thread: WorkingThread, turns: WritingTurns, storage: Storage) -> None:
        order: list[str] = []
        storage.follow(lambda change: order.append(change.new.name))
        asyncio.get_running_loop().call_soon(order.append, "loop")

        def work() -> int:
            storage.add("configmaps", _config_map("a"))
            return threading.get_ident()

        assert await turns.done_beside(thread, work) != threading.get_ident()
        assert order == ["a"]
        storage.add("configmaps", _config_map("b"))
        await asyncio.sleep(0)
        assert order == ["a", "b", "loop"]

    _beside(check)


def test_long_work_goes_on_beside_the_loop_and_writes_in_it() -> None:
    async def check(thread: WorkingThread, turns: WritingTurns, storage: Storage) -> None:
        goes_on, wrote_in = threading.Event(), []
        storage.follow(lambda _change: wrote_in.append(threading.get_ident()))

        def work() -> None:
            storage.add("configmaps", _config_map("a"))
            goes_on.wait(10)
            storage.add("configmaps", _config_map("b"))

        working = asyncio.ensure_future(turns.done_beside(thread, work))
        writing = asyncio.ensure_future(turns.free())
        await asyncio.wait({working, writing}, timeout=0.05)
        assert (working.done(), writing.done(), len(wrote_in)) == (False, False, 1)
        goes_on.set()
        await asyncio.gather(working, writing)
        assert wrote_in[0] != threading.get_ident() == wrote_in[1]

    _beside(check)


def test_long_work_lets_the_loop_go_on_though_it_never_lets_go_of_pythons_lock() -> None:
    """As threads that take it back at once: the event loop does not get to say that it no longer stands still."""

    async def check(thread: WorkingThread, turns: WritingTurns, storage: Storage) -> None:
        wrote_in = []
        storage.follow(lambda _change: wrote_in.append(threading.get_ident()))

        def work() -> None:
            end = time.monotonic() + 2 * turns_module.STANDSTILL_S
            while time.monotonic() < end:
                pass
            storage.add("configmaps", _config_map("a"))

        interval = sys.getswitchinterval()
        sys.setswitchinterval(5)
        try:
            await turns.done_beside(thread, work)
        finally:
            sys.setswitchinterval(interval)
        assert wrote_in == [threading.get_ident()]

    _beside(check)


@pytest.mark.parametrize("is_long", [False, True])
def test_what_goes_wrong_beside_the_loop_is_raised_and_ends_the_turn(is_long: bool) -> None:
    async def check(thread: WorkingThread, turns: WritingTurns, storage: Storage) -> None:
        def work() -> None:
            if is_long:
                threading.Event().wait(0.05)
            raise LookupError("no")

        for _ in range(2):
            with pytest.raises(LookupError, match="no"):
                await turns.done_beside(thread, work)
        storage.add("configmaps", _config_map("a"))

    _beside(check)


def test_work_that_nobody_waits_for_any_more_writes_nothing() -> None:
    async def check(thread: WorkingThread, turns: WritingTurns, storage: Storage) -> None:
        goes_on = threading.Event()

        def work() -> None:
            goes_on.wait(10)
            try:
                storage.add("configmaps", _config_map("a"))
            except Exception:
                pytest.fail("this is no error of the work")

        working = asyncio.ensure_future(turns.done_beside(thread, work))
        await asyncio.sleep(0.02)
        working.cancel()
        await asyncio.wait({working})
        assert working.cancelled()
        goes_on.set()
        await turns.free()
        assert storage.count("configmaps") == 0

    _beside(check)


def test_work_that_writes_without_a_pause_does_not_hold_the_loop() -> None:
    async def check(thread: WorkingThread, turns: WritingTurns, storage: Storage) -> None:
        def take_long(_change: object) -> None:
            ends_at = time.monotonic() + 0.002
            while time.monotonic() < ends_at:
                pass

        storage.follow(take_long)
        is_enough = False

        def end() -> None:
            nonlocal is_enough
            is_enough = True

        def work() -> int:
            for number in range(1_000):
                if is_enough:
                    return number
                storage.add("configmaps", _config_map(f"m{number}"))
            return 1_000

        asyncio.get_running_loop().call_later(0.02, end)
        assert await turns.done_beside(thread, work) < 100

    _beside(check)
