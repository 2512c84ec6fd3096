"""How an answer shows itself: one sentence as its repr, and in a notebook what its page says.

Both are written by `report`, which comes after this package; they are asked for through the front door of `bayplan`,
as a user would ask for them.
"""

from __future__ import annotations


class Shown:
    """An answer that `report` can write."""

    __slots__ = ()

    def __repr__(self) -> str:
        import bayplan  # noqa: PLC0415

        return f"<{type(self).__name__}: {bayplan.sentence_of(self)}>"

    def _repr_html_(self) -> str:
        import bayplan  # noqa: PLC0415

        shown: str = bayplan.html_of(self)
        return shown
