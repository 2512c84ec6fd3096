"""CertificateSigningRequest."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.keeping import keep
from bayplan.apiserver.admitting.plugins.certificate_subjects import check_subject
from bayplan.apiserver.admitting.validation.certificates import (
    check_request_approval,
    check_request_status,
    check_signing_request,
)
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_ONLY, SelectableFields, fields
from bayplan.apiserver.tables.configuration import CERTIFICATE_SIGNING_REQUESTS
from bayplan.model.timestamps import format_time


def approved(old: Document, new: Document, time: str) -> Document:
    """A CertificateSigningRequest with the conditions that were written, and with the certificate that it had."""
    # Upstream: pkg/registry/certificates/certificates/strategy.go csrApprovalStrategy (v1.36).
    status = {field: value for field, value in (new.get("status") or {}).items() if field != "certificate"}
    before = old.get("status") or {}
    if "certificate" in before:
        status["certificate"] = before["certificate"]
    return {**new, "status": _timed(status, before, time)}


def _timed(status: Document, before: Document, time: str) -> Document:
    """A status whose conditions say since when they hold."""
    known = {(one.get("type"), one.get("status")): one for one in before.get("conditions") or ()}
    conditions = []
    for given in status.get("conditions") or ():
        same = known.get((given.get("type"), given.get("status")), {})
        since = given.get("lastTransitionTime") or same.get("lastTransitionTime") or time
        conditions.append({**given, "lastUpdateTime": given.get("lastUpdateTime") or time, "lastTransitionTime": since})
    return {**status, "conditions": conditions} if conditions else status


def _keep_request(new: Document, old: Document) -> None:
    """What is asked for never changes."""
    keep(new, old, "spec")


def _any_name(_name: str) -> tuple[str, ...]:
    return ()


def _time_conditions(new: Document, old: Document, now: int) -> None:
    new["status"] = _timed(new["status"], old.get("status") or {}, format_time(now))


CERTIFICATE_SIGNING_REQUEST = Kind(
    "certificates.k8s.io/v1",
    "CertificateSigningRequest",
    on_update=_keep_request,
    on_status=_time_conditions,
    check=check_signing_request,
    subresources={"status": check_request_status, "approval": check_request_approval},
    name_rule=_any_name,
    without_effect="there is no signer; an approved request gets its certificate from whoever writes its status",
    admit=check_subject,
    printer=CERTIFICATE_SIGNING_REQUESTS,
    selectable=SelectableFields({**NAME_ONLY, **fields("spec.signerName")}),
)
