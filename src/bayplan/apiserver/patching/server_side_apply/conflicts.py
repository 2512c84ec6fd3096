"""Fields that an applied configuration would take from others, and the refusal that names them.

Takes the fields by their owners; gives the `Conflict` in the server's words. Decides nothing.
"""

from collections.abc import Mapping

from bayplan.apiserver.patching.server_side_apply.field_sets import FieldSet, Path, difference, paths_of
from bayplan.apiserver.patching.server_side_apply.managed_fields import Manager
from bayplan.apiserver.patching.server_side_apply.path_elements import readable
from bayplan.store.errors import Conflict, StatusCause

_REASON = "FieldManagerConflict"


class Conflicts(Exception):  # noqa: N818 - becomes a refusal only if nothing allows them
    """What would be taken, by whom it is owned."""

    def __init__(self, fields: Mapping[Manager, FieldSet]) -> None:
        super().__init__()
        self.fields = fields

    def beyond(self, allowed: FieldSet) -> "Conflicts":
        """What is left of them if some fields may be taken."""
        left = {manager: difference(fields, allowed) for manager, fields in self.fields.items()}
        return Conflicts({manager: fields for manager, fields in left.items() if fields})

    def refusal(self) -> Conflict:
        managers = sorted(self.fields, key=lambda manager: manager.identifier)
        paths = {manager: [_text(path) for path in paths_of(self.fields[manager])] for manager in managers}
        causes = [
            StatusCause(_REASON, f"conflict with {manager}", path) for manager in managers for path in paths[manager]
        ]
        if len(causes) == 1:
            return Conflict(f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}", causes=causes)
        lines = [
            line for manager in managers for line in (f"conflicts with {manager}:", *(f"- {p}" for p in paths[manager]))
        ]
        return Conflict(f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines), causes=causes)


def _text(path: Path) -> str:
    return "".join(map(readable, path))
