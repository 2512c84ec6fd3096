"""Amounts of resources in the words of a reader: `1.5 cores`, `8Gi of memory`, `62.6 GiB`, `2 of nvidia.com/gpu`."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.analysis.written import COUNTED_IN_BYTES, UNITS, written_amount
from bayplan.core.columns.resources import CPU_NAME, PODS_NAME
from bayplan.model.quantity import milli_quantity, whole_quantity


def amount_in_words(resource: str, amount: int) -> str:
    """Takes milli-cores for cpu and whole units for everything else."""
    plain = bare_amount(resource, amount)
    return plain if resource == CPU_NAME else f"{plain} of {resource}"


def bare_amount(resource: str, amount: int) -> str:
    """An amount where the resource has been named: `1.5 cores`, `8Gi`, `2`."""
    if resource != CPU_NAME:
        return written_amount(resource, amount)
    cores = f"{amount / 1000:.3f}".rstrip("0").rstrip(".")
    return f"{cores} core" if amount == 1000 else f"{cores} cores"


def human_amount(resource: str, amount: int) -> str:
    """For large sums, with one decimal at most: `2,718.8`, `62.6 GiB`."""
    if resource == CPU_NAME:
        return f"{amount / 1000:,.1f}".removesuffix(".0")
    if not resource.startswith(COUNTED_IN_BYTES):
        return f"{amount:,}"
    for unit, size in UNITS:
        if amount >= size:
            return f"{amount / size:,.1f}".removesuffix(".0") + f" {unit}B"
    return f"{amount:,} B" if amount else "0"


def human_capacity(allocatable: Mapping[str, str]) -> str:
    """What a node offers, as it is written on it: `16 cpu, 62.6 GiB memory`; nothing that it has none of, nor pods."""
    amounts = {
        name: milli_quantity(raw) if name == CPU_NAME else whole_quantity(raw)
        for name, raw in allocatable.items()
        if name != PODS_NAME
    }
    return ", ".join(f"{name} {human_amount(name, amount)}" for name, amount in amounts.items() if amount)


def percent(share: float) -> str:
    """`25 %`; little is more than nothing."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"
