"""Spoilt requests to `bayplan up` over connections: no internal error, nobody kept waiting, nothing without a token.

Each number makes one session, always of the same requests (their order across connections differs), on a server of its
own. `FUZZ=1000000` sends that many, `FUZZ_FIRST=50` begins at another session; a failure names its session. Every fifth
is of strangers, who have no token.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.fuzz.wire import Session, long_stalls

SESSION = 20_000
COUNT = int(os.environ.get("FUZZ", "2500"))
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
SESSIONS = max(2, COUNT // SESSION)
SHOWN = 10


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FIRST, FIRST + SESSIONS))
def test_the_server_answers_whatever_it_is_sent(number: int, recordings: Path, tmp_path: Path) -> None:
    of_strangers = (number - FIRST) % 5 == 1
    outcome = asyncio.run(Session(number, COUNT // SESSIONS, recordings, tmp_path, of_strangers=of_strangers).run())
    assert not outcome.problems, "\n".join(outcome.problems[:SHOWN])
    stalls = long_stalls(outcome.stalls)
    assert not stalls, "\n".join(stalls[:SHOWN])
    assert outcome.strangers == outcome.requests if of_strangers else outcome.strangers < outcome.requests
    assert outcome.statuses.total() > outcome.requests // 2
