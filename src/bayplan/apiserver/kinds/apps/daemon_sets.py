"""DaemonSet."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.apps import TEMPLATE_GENERATION, default_daemon_set
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.workload_statuses import check_daemon_set_status
from bayplan.apiserver.admitting.validation.workloads import check_daemon_set, check_daemon_set_update
from bayplan.apiserver.admitting.warnings.pods import warn_of_template
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.statuses.workloads import completed_counts
from bayplan.apiserver.tables.workloads import DAEMON_SETS


def _create(daemon_set: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations[TEMPLATE_GENERATION] = "1"


def _count_templates(new: Document, old: Document) -> None:
    before = int(old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0"))
    changed = new["spec"]["template"] != old["spec"]["template"]
    new["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(before + changed)


def _keep_count(new: Document, old: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    before = old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0")
    new["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = before


DAEMON_SET = Kind(
    "apps/v1",
    "DaemonSet",
    defaults=default_daemon_set,
    on_create=_create,
    on_update=_count_templates,
    on_status=_keep_count,
    check=check_daemon_set,
    check_update=check_daemon_set_update,
    subresources={"status": check_daemon_set_status},
    watched=("spec",),
    warn=warn_of_template("spec", "template", named=False),
    printer=DAEMON_SETS,
    completed_status=completed_counts,
)
