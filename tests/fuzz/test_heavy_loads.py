"""What the server does on its own keeps nobody waiting, however much it is: controllers, kubelets and the scheduler.

`HEAVY=4000` makes loads of that size.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.fuzz.heavy_loads import LOADS, Client
from tests.fuzz.wire import Server, long_stalls

SIZE = int(os.environ.get("HEAVY", "200"))
NODES = 30


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_nobody_waits_while_much_is_done(load: str, tmp_path: Path) -> None:
    async def run() -> tuple[list[str], str]:
        server = Server(tmp_path, nodes=max(NODES, SIZE // 50))
        await server.start()
        client = Client(server.port)
        try:
            await LOADS[load](client, SIZE)
        finally:
            client.close()
            stalls, traceback, _ = await server.end()
        return long_stalls(stalls), traceback

    stalls, traceback = asyncio.run(run())
    assert not traceback, traceback
    assert not stalls, "\n".join(stalls)
