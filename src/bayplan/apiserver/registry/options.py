"""How a write was asked for: by whom, and whether only to see what would happen."""

from __future__ import annotations

from typing import NamedTuple


class WriteOptions(NamedTuple):
    """What comes with a write beside the document."""

    manager: str = "bayplan"
    """Who owns the fields that are written, for server-side apply."""
    dry_run: bool = False
    trusted: bool = False
    """Written by this cluster's own controllers: neither validated nor held against quotas again."""
