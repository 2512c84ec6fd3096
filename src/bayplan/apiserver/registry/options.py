"""How a write was asked for: by whom, and whether only to see what would happen."""

from __future__ import annotations

from dataclasses import dataclass, field

from bayplan.apiserver.registry.users import ADMIN, UserInfo


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What comes with a write beside the document."""

    manager: str = "bayplan"
    """Who owns the fields that are written, for server-side apply."""
    dry_run: bool = False
    trusted: bool = False
    """Written by this cluster's own controllers: neither validated nor held against quotas again."""
    user: UserInfo = ADMIN
    warnings: list[str] = field(default_factory=list)
    """Collects what the writer is to be warned of."""
