"""Rows of config maps, secrets, leases, quotas, priority classes, role bindings and requests for certificates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.admitting.plugins.quota_usage import LIMITS_PREFIX
from bayplan.apiserver.tables.ages import age, human_duration
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, boolean, integer, wide
from bayplan.apiserver.tables.wording import NONE, condition, labels_text, quantity_text
from bayplan.model.time_units import SECOND


def _config_map_cells(config_map: Document, now: int) -> Cells:
    entries = len(config_map.get("data") or ()) + len(config_map.get("binaryData") or ())
    return [config_map["metadata"].get("name", ""), entries, age(config_map, now)]


def _secret_cells(secret: Document, now: int) -> Cells:
    return [
        secret["metadata"].get("name", ""),
        secret.get("type", ""),
        len(secret.get("data") or ()),
        age(secret, now),
    ]


def _lease_cells(lease: Document, now: int) -> Cells:
    holder = (lease.get("spec") or {}).get("holderIdentity")
    return [lease["metadata"].get("name", ""), holder or "", age(lease, now)]


def _quota_cells(quota: Document, now: int) -> Cells:
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used")
    shown = {name: f"{name}: {quantity_text(used, name)}/{hard[name]}" for name in sorted(hard)}
    return [
        quota["metadata"].get("name", ""),
        ", ".join(text for name, text in shown.items() if not name.startswith(LIMITS_PREFIX)),
        ", ".join(text for name, text in shown.items() if name.startswith(LIMITS_PREFIX)),
        age(quota, now),
    ]


def _priority_class_cells(priority_class: Document, now: int) -> Cells:
    return [
        priority_class["metadata"].get("name", ""),
        priority_class.get("value", 0),
        priority_class.get("globalDefault", False),
        age(priority_class, now),
        priority_class.get("preemptionPolicy", ""),
    ]


def _binding_cells(binding: Document, now: int) -> Cells:
    role = binding.get("roleRef") or {}
    subjects = binding.get("subjects") or []
    return [
        binding["metadata"].get("name", ""),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(binding, now),
        _subjects(subjects, "User"),
        _subjects(subjects, "Group"),
        ", ".join(
            f"{subject.get('namespace', '')}/{subject['name']}"
            for subject in subjects
            if subject["kind"] == "ServiceAccount"
        ),
    ]


def _subjects(subjects: list[Mapping[str, Any]], kind: str) -> str:
    return ", ".join(subject["name"] for subject in subjects if subject["kind"] == kind)


def _signing_request_cells(request: Document, now: int) -> Cells:
    spec = request.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    return [
        request["metadata"].get("name", ""),
        age(request, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(seconds * SECOND),
        _signing_state(request.get("status") or {}),
    ]


def _signing_state(status: Mapping[str, Any]) -> str:
    conditions = status.get("conditions")
    judged = [word for word in ("Denied", "Approved") if condition(conditions, word) is not None]
    state = judged[0] if judged else "Pending"
    if condition(conditions, "Failed") is not None:
        state += ",Failed"
    return f"{state},Issued" if status.get("certificate") else state


def _trust_bundle_cells(bundle: Document, now: int) -> Cells:  # noqa: ARG001 - other kinds show their age
    return [bundle["metadata"].get("name", ""), bundle["spec"].get("signerName") or NONE]


def _certificate_request_cells(request: Document, now: int) -> Cells:  # noqa: ARG001 - likewise
    spec, states = request["spec"], ("Issued", "Denied", "Failed")
    kinds = [one.get("type") for one in (request.get("status") or {}).get("conditions") or ()]
    return [
        request["metadata"].get("name", ""),
        *(spec.get(field, "") for field in ("podName", "serviceAccountName", "nodeName", "signerName")),
        next((kind for kind in reversed(kinds) if kind in states), "Pending"),
        labels_text(spec.get("unverifiedUserAnnotations")),
    ]


def _migration_cells(migration: Document, now: int) -> Cells:  # noqa: ARG001 - other kinds show their age
    resource = migration["spec"]["resource"]
    true = [one["type"] for one in (migration.get("status") or {}).get("conditions") or () if one["status"] == "True"]
    return [
        migration["metadata"].get("name", ""),
        ".".join(part for part in (resource["resource"], resource["group"]) if part),
        next((kind for kind in reversed(true) if kind in ("Running", "Failed", "Succeeded")), "Unknown"),
    ]


CONFIG_MAPS = Printer((NAME, Column("Data", "How many entries there are."), AGE), _config_map_cells)
SECRETS = Printer(
    (NAME, Column("Type", "What the secret is for."), Column("Data", "How many entries there are."), AGE), _secret_cells
)
LEASES = Printer((NAME, Column("Holder", "Who holds the lease."), AGE), _lease_cells)
RESOURCE_QUOTAS = Printer(
    (
        NAME,
        Column("Request", "What is used and may be used, of all but limits."),
        Column("Limit", "What is used and may be used of containers' limits."),
        AGE,
    ),
    _quota_cells,
)
PRIORITY_CLASSES = Printer(
    (
        NAME,
        integer("Value", "Priority of the class's pods."),
        boolean("Global-Default", "Whether pods without a class get this one."),
        AGE,
        Column("PreemptionPolicy", "Whether the class's pods may preempt others."),
    ),
    _priority_class_cells,
)
_BINDING_COLUMNS = (
    NAME,
    Column("Role", "Role that is granted."),
    AGE,
    wide("Users", "Users that have the role."),
    wide("Groups", "Groups that have the role."),
    wide("ServiceAccounts", "Service accounts that have the role."),
)
ROLE_BINDINGS = Printer(_BINDING_COLUMNS, _binding_cells)
CERTIFICATE_SIGNING_REQUESTS = Printer(
    (
        NAME,
        AGE,
        Column("SignerName", "Who is to sign."),
        Column("Requestor", "Who asked for the certificate."),
        Column("RequestedDuration", "How long the certificate is to be valid."),
        Column("Condition", "What became of the request."),
    ),
    _signing_request_cells,
)
CLUSTER_TRUST_BUNDLES = Printer((NAME, Column("SignerName", "Whose certificates these are.")), _trust_bundle_cells)
POD_CERTIFICATE_REQUESTS = Printer(
    (
        NAME,
        Column("PodName", "The pod that gets the certificate."),
        Column("ServiceAccountName", "The account that the pod runs as."),
        Column("NodeName", "Where the pod is."),
        Column("SignerName", "Who is to sign."),
        Column("State", "What became of the request."),
        wide("UnverifiedUserAnnotations", "What the pod's author tells the signer."),
    ),
    _certificate_request_cells,
)
STORAGE_VERSION_MIGRATIONS = Printer(
    (NAME, Column("Resource", "What is to be stored anew."), Column("Status", "How far that has come.")),
    _migration_cells,
)
