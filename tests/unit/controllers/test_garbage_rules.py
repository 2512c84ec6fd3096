"""What becomes of an object whose owners go."""

from __future__ import annotations

import pytest

from bayplan.controllers.garbage_rules import DependentFate, OwnerStanding, fate_of, propagation_of
from bayplan.store import BACKGROUND, FOREGROUND, ORPHAN

_STANDINGS = {"l": OwnerStanding.LIVING, "w": OwnerStanding.WAITING, "g": OwnerStanding.GONE}


@pytest.mark.parametrize(
    ("owners", "owns_some", "in_circle", "fate"),
    [
        ("lg", True, False, DependentFate(["l"])),
        ("lw", True, True, DependentFate(["l"])),
        ("g", True, False, DependentFate((), BACKGROUND)),
        ("w", False, False, DependentFate((), BACKGROUND)),
        ("w", True, False, DependentFate((), FOREGROUND)),
        ("gw", True, True, DependentFate((), FOREGROUND, unblocks=True)),
        ("g", False, True, DependentFate((), BACKGROUND)),
    ],
)
def test_fates(owners: str, owns_some: bool, in_circle: bool, fate: DependentFate[str]) -> None:
    found = fate_of(owners, _STANDINGS.__getitem__, (), owns_some=owns_some, awaits_itself=lambda: in_circle)
    assert found == fate


def test_an_object_is_deleted_as_an_earlier_request_said() -> None:
    assert propagation_of(()) == BACKGROUND
    assert propagation_of(("foregroundDeletion",)) == FOREGROUND
    assert propagation_of(("x", "orphan")) == ORPHAN
