"""StatefulSet and ControllerRevision."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.apiserver.admitting.defaults.apps import default_stateful_set
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.workload_statuses import check_stateful_set_status
from bayplan.apiserver.admitting.validation.workloads import (
    check_controller_revision,
    check_controller_revision_update,
    check_stateful_set,
    check_stateful_set_update,
)
from bayplan.apiserver.admitting.warnings.pods import warn_of_template
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.apiserver.statuses.workloads import completed_counts
from bayplan.apiserver.tables.workloads import CONTROLLER_REVISIONS, STATEFUL_SETS
from bayplan.model.dns_names import label_faults


def _create(stateful_set: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    _drop_max_unavailable(stateful_set, {})


def _drop_max_unavailable(new: Document, old: Document) -> None:
    """Where its feature is off, nobody can begin to use the field."""
    # Upstream: pkg/registry/apps/statefulset/strategy.go dropStatefulSetDisabledFields (v1.36).
    if not gate_is_on("MaxUnavailableStatefulSet") and "maxUnavailable" not in _rolling(old):
        _rolling(new).pop("maxUnavailable", None)


def _rolling(stateful_set: Document) -> Document:
    rolling: Document = stateful_set.get("spec", {}).get("updateStrategy", {}).get("rollingUpdate") or {}
    return rolling


_warn_of_template = warn_of_template("spec", "template", named=False)


def _warn(document: Document, old: Document | None) -> Iterator[str]:
    yield from _warn_of_template(document, old)
    if (document["spec"].get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {text}"


STATEFUL_SET = Kind(
    "apps/v1",
    "StatefulSet",
    defaults=default_stateful_set,
    on_create=_create,
    on_update=_drop_max_unavailable,
    check=check_stateful_set,
    check_update=check_stateful_set_update,
    subresources={"status": check_stateful_set_status},
    name_rule=label_faults,
    watched=("spec",),
    warn=_warn,
    printer=STATEFUL_SETS,
    completed_status=completed_counts,
)
CONTROLLER_REVISION = Kind(
    "apps/v1",
    "ControllerRevision",
    check=check_controller_revision,
    check_update=check_controller_revision_update,
    steps=(ChangeCheck.METADATA, ChangeCheck.UPDATE),
    printer=CONTROLLER_REVISIONS,
)
