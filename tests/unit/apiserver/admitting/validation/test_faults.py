"""How faults are worded."""

from __future__ import annotations

import pytest

from bayplan.apiserver.admitting.validation.faults import Faults


@pytest.mark.parametrize(("most", "items"), [(0, "0 items"), (1, "1 item"), (2, "2 items")])
def test_how_many_items_there_may_be(most: int, items: str) -> None:
    faults = Faults()
    faults.too_many("a", 3, most)
    assert [cause.message for cause in faults] == [f"Too many: 3: must have at most {items}"]
