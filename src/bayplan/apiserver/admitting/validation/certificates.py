"""Checks of CertificateSigningRequests. Upstream: pkg/apis/certificates/validation/validation.go (v1.36)."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.conditions import STATUSES
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.model.dns_names import label_faults, subdomain_faults

_PEM: Final = re.compile(rb"-----BEGIN ([A-Z ]+)-----\r?\n")
_REQUEST: Final = b"CERTIFICATE REQUEST"
_SECONDS_MIN: Final = 600
_DOMAIN_MAX: Final = 253
_SIGNER_MAX: Final = 571
_USAGES: Final = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
_CONDITIONS: Final = "status.conditions"
_DECISIONS: Final = ("Approved", "Denied")
#: Conditions that stay once they hold.
_LASTING: Final = (*_DECISIONS, "Failed")


def check_signing_request(request: Document, faults: Faults) -> None:
    spec = request["spec"]
    if not _is_request(spec.get("request")):
        faults.invalid("spec.request", spec.get("request", ""), "PEM block type must be CERTIFICATE REQUEST")
    usages = spec.get("usages") or []
    if not usages:
        faults.required("spec.usages")
    for position, usage in enumerate(usages):
        if usage not in _USAGES:
            faults.unsupported(f"spec.usages[{position}]", usage, _USAGES)
    for position, usage in enumerate(usages):
        if usage in usages[:position]:
            faults.duplicate(f"spec.usages[{position}]", usage)
    check_signer(spec.get("signerName", ""), faults)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SECONDS_MIN:
        text = f"may not specify a duration less than {_SECONDS_MIN} seconds (10 minutes)"
        faults.invalid("spec.expirationSeconds", seconds, text)


def check_request_status(new: Document, old: Document, faults: Faults) -> None:
    """Of the conditions of a request, which only its approval may decide."""
    check_request_approval(new, old, faults)
    for decision in _DECISIONS:
        if _count(new, decision) > _count(old, decision):
            faults.forbidden(_CONDITIONS, f'updates may not add a condition of type "{decision}"')


def check_request_approval(new: Document, old: Document, faults: Faults) -> None:
    """Of the conditions of a request, one of which may be its approval."""
    seen: set[str] = set()
    for position, condition in enumerate(_conditions(new)):
        path, kind, holds = f"{_CONDITIONS}[{position}]", condition["type"], condition.get("status")
        if not kind:
            faults.required(f"{path}.type")
        faults.one_of(f"{path}.status", holds, ("True",) if kind in _LASTING else STATUSES)
        if kind in _DECISIONS and seen & {*_DECISIONS} - {kind}:
            faults.invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen:
            faults.duplicate(f"{path}.type", kind)
        seen.add(kind)
    certificate, known = ((each.get("status") or {}).get("certificate") or "" for each in (new, old))
    fault = _certificate_fault(base64.b64decode(certificate)) if certificate != known else ""
    if fault:
        faults.invalid("status.certificate", "<certificate data>", fault)
    for kind in _LASTING:
        if _count(new, kind) < _count(old, kind):
            faults.forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')


def _certificate_fault(text: bytes) -> str:
    kinds = [found[1] for found in _PEM.finditer(text)]
    other = next((kind for kind in kinds if kind != b"CERTIFICATE"), None)
    if other is not None:
        return f'only CERTIFICATE PEM blocks are allowed, found "{other.decode()}"'
    return "" if kinds or not text else "must contain at least one CERTIFICATE PEM block"


def _conditions(request: Document) -> list[Document]:
    return request.get("status", {}).get("conditions") or []


def _count(request: Document, kind: str) -> int:
    return sum(condition["type"] == kind for condition in _conditions(request))


def _is_request(text: str | None) -> bool:
    try:
        found = _PEM.search(base64.b64decode(text or ""))
    except binascii.Error:
        return False
    return found is not None and found[1] == _REQUEST


def check_signer(name: str, faults: Faults, path: Path = "spec.signerName") -> None:
    """Of the name of whoever signs, such as example.com/what."""
    if not name:
        faults.required(path)
        return
    parts = name.split("/")
    if len(parts) != 2:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        faults.invalid(path, name, text)
        return
    domain, rest = parts
    if len(domain) > _DOMAIN_MAX:
        faults.too_long(path, _DOMAIN_MAX)
    for label in domain.split("."):
        wrong = label_faults(label)
        faults.all_invalid(path, domain, (f"validating label {json.dumps(label)}: {text}" for text in wrong))
        if wrong:
            break
    if "." not in domain:
        faults.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    for label in rest.split("."):
        wrong = subdomain_faults(label)
        faults.all_invalid(path, rest, (f"validating label {json.dumps(label)}: {text}" for text in wrong))
        if wrong:
            break
    if len(name) > _SIGNER_MAX:
        faults.too_long(path, _SIGNER_MAX)
