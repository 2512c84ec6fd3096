"""Amounts of resources in the words of a reader: `1.5 cores`, `8Gi of memory`, `2 of nvidia.com/gpu`."""

from __future__ import annotations

from bayplan.analysis.written import written_amount
from bayplan.core.columns.resources import CPU_NAME


def amount_in_words(resource: str, amount: int) -> str:
    """Takes milli-cores for cpu and whole units for all else."""
    plain = bare_amount(resource, amount)
    return plain if resource == CPU_NAME else f"{plain} of {resource}"


def bare_amount(resource: str, amount: int) -> str:
    """The same where the resource has been named: `1.5 cores`, `8Gi`, `2`."""
    if resource != CPU_NAME:
        return written_amount(resource, amount)
    cores = f"{amount / 1000:g}"
    return f"{cores} core" if amount == 1000 else f"{cores} cores"


def percent(share: float) -> str:
    """`25 %`; little is more than nothing."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"
