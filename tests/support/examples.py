"""How many examples a property test tries: as many as it says, times `TIMES` from the environment."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

TIMES = int(os.environ.get("TIMES", "1"))


def examples(count: int, **others: Any) -> settings:
    """Settings for a property test; `make search TIMES=20` tries twenty times as many."""
    return settings(max_examples=count * TIMES, **others)
