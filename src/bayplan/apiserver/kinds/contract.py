"""`Kind`: what the server knows of one built-in kind in one version, as a value that is never changed.

Every part has a default that suits most kinds, so a kind only names what is particular to it. The functions take
documents; those that complete a document do so in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import NameRule
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.selecting.selectable_fields import NAME_AND_NAMESPACE, SelectableFields
from bayplan.apiserver.tables.columns import Printer
from bayplan.apiserver.tables.printers import DEFAULT
from bayplan.model.dns_names import subdomain_faults
from bayplan.store.errors import StatusCause

Check: TypeAlias = Callable[[Document, Faults], None]
"""Adds what is wrong with a document that has its defaults."""

Comparison: TypeAlias = Callable[[Document, Document, Faults], None]
"""Adds what is wrong with a new document in place of an old one."""

Completion: TypeAlias = Callable[[Resource, Document, Document | None, str, ClusterView], None]
"""Admission that completes a document: resource, new, old (None on creation), name to show, cluster."""

Admission: TypeAlias = Callable[[Resource, Document, Document | None, ClusterView], None]
"""Admission that only refuses: resource, new, old (None on creation), cluster."""


class ChangeCheck(Enum):
    """One of the checks of a change; upstream does some of them twice, and clients see each fault as often."""

    METADATA = "metadata of the new document beside the old one's"
    NEW = "the new document as if it were created: metadata and check"
    CHECK = "check"
    UPDATE = "check_update"
    IMMUTABLE = "immutable"


Warnings: TypeAlias = Callable[[Document, Document | None], Iterable[str]]
"""What the writer of a valid document, which replaces another or none, is to be warned of."""


@dataclass(frozen=True, slots=True, eq=False)
class StorageForm:
    """How documents are stored, where that is not the form in which they are served."""

    resource: str
    """The name under which they are stored: `events`."""
    stored: Callable[[Document], Document]
    served: Callable[[Document], Document]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind in one version."""

    api_version: str
    kind: str

    # On the way in, in this order.
    defaults: Callable[[Document], None] | None = None
    complete: Completion | None = None
    """Admission on a write to the object itself, before validation."""
    on_create: Callable[[Document, int], None] | None = None
    """Completes a new document (which has uid and name) at that time."""
    on_update: Callable[[Document, Document], None] | None = None
    """Keeps more of the old document than its status in the new one."""
    on_status: Callable[[Document, Document, int], None] | None = None
    """Keeps parts of the old document in one whose status is written."""
    permit: Callable[[Document, ClusterView], list[StatusCause]] | None = None
    """Faults of a new document that depend on other objects; they come before all others."""
    check: Check | None = None
    check_update: Comparison | None = None
    """Replaces `check` on a change; without one, a change is checked as a creation is."""
    immutable: Comparison | None = None
    """Checked on a change, after everything else."""
    steps: tuple[ChangeCheck, ...] = ()
    """What is checked on a change, in order; usually metadata, `check_update` or else `check`, and `immutable`."""
    subresources: Mapping[str, Comparison] = field(default_factory=dict)
    """Checks of writes to subresources, by name."""
    warn_beforehand: Warnings | None = None
    """Asked about new documents, valid or not, before `on_create` completes them."""
    warn: Warnings | None = None
    """Asked about valid documents on a write to the object itself."""
    allocate: Callable[[Document, Document | None, ClusterView], list[StatusCause]] | None = None
    """Reserves addresses and ports of a new document, or one that replaces another, before it is checked."""
    admit: Admission | None = None
    """Admission on a write to the object itself, after validation."""
    admit_subresources: Mapping[str, Admission] = field(default_factory=dict)
    """Admission on writes to subresources, after validation, by name."""

    # Metadata.
    name_rule: NameRule = subdomain_faults
    names_itself: bool = False
    """Whether an object without a name gets one that nobody chose."""
    any_finalizers: bool = False
    """Whether finalizers need no domain, as those of other kinds do."""
    watched: tuple[str, ...] | None = None
    """Fields in which a change means a new generation; None for kinds without generations."""
    watched_since: str = ""
    """The feature gate without which the kind has no generations either."""
    watched_metadata: tuple[str, ...] = ()
    counted_at_creation: bool = True
    """Whether new objects have generation 1, or none until the first change."""
    resets_status: bool = True
    """Whether the status of a new document is the server's."""
    kept_by_status: tuple[str, ...] = ()
    """Metadata that a write to the status leaves alone."""
    update_needs_version: bool = False
    """Whether a PUT must name the resourceVersion that it replaces."""
    created_by_update: bool = False
    """Whether a PUT of a name that does not exist creates the object."""

    without_effect: str = ""
    """Why objects of the kind are stored and nothing else comes of them; whoever creates one is told."""

    def has_generations(self) -> bool:
        return self.watched is not None and (not self.watched_since or gate_is_on(self.watched_since))

    # On the way out.
    printer: Printer = DEFAULT
    selectable: SelectableFields = NAME_AND_NAMESPACE
    storage: StorageForm | None = None
    completed_status: Callable[[Document, Document, str, ClusterView], Document] | None = None
    """The status as real components write it, from what controllers write through structs."""
