"""Amounts that a user writes for something that does not exist yet: a pod to make room for, a node to buy.

An API server rejects negative amounts; amounts beyond any machine are mistakes as well, and would overflow when they
are added up. Says what is wrong. Text that is no quantity is reported by whoever reads it.
"""

from __future__ import annotations

from typing import Final

from bayplan.core.columns.resources import CPU_NAME
from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity

#: Cores, and whole units of anything else, that no machine has.
_CORES_MAX: Final = 10**7
_UNITS_MAX: Final = 10**16


def fault_in_amount(resource: str, amount: RawQuantity) -> str:
    """Why nothing can have or need so much; "" if it can."""
    try:
        nano = parse_quantity(amount)
    except ValueError:
        return ""
    if nano < 0:
        return f"{amount} is negative"
    if nano > (_CORES_MAX if resource == CPU_NAME else _UNITS_MAX) * NANO_PER_UNIT:
        return f"{amount} is more than any machine has"
    return ""
