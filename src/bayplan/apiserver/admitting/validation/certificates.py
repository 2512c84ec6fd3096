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
_CONDITIONS: Final = "status.conditions"
_DECISIONS: Final = ("Approved", "Denied")
_SECONDS_MIN: Final = 600
_DOMAIN_MAX: Final = 253
_SIGNER_MAX: Final = 571
_USAGES: Final = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)


def check_signing_request(request: Document, faults: Faults) -> None:
    spec = request["spec"]
    if not _is_request(spec.get("request")):
        faults.invalid("spec.request", spec.get("request") or None, "PEM block type must be CERTIFICATE REQUEST")
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


def check_signing_status(new: Document, old: Document, faults: Faults) -> None:
    """Of a write to the status, or of an approval; what was wrong before may stay so."""
    status, before = new.get("status") or {}, old.get("status") or {}
    conditions = status.get("conditions") or []
    known = before.get("conditions") or []
    for position, condition in enumerate(conditions):
        _check_condition(condition, conditions[:position], known, faults, position)
    certificate = status.get("certificate") or ""
    if certificate != (before.get("certificate") or "") and certificate:
        fault = _certificate_fault(base64.b64decode(certificate))
        if fault:
            faults.invalid("status.certificate", "<certificate data>", fault)
    for kind in (*_DECISIONS, "Failed"):
        if _count(conditions, kind) < _count(known, kind):
            faults.forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')


def _check_condition(
    condition: Document, others: list[Document], known: list[Document], faults: Faults, position: int
) -> None:
    path, kind, status = f"{_CONDITIONS}[{position}]", condition.get("type") or "", condition.get("status")
    if not kind and _count(known, "") == 0:
        faults.required(f"{path}.type")
    faults.one_of(f"{path}.status", status, ("True",) if kind in (*_DECISIONS, "Failed") else STATUSES)
    both = all(_count(known, each) for each in _DECISIONS)
    if kind in _DECISIONS and not both and any(_count(others, each) for each in _DECISIONS if each != kind):
        faults.declared.invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive")
    if _count(others, kind) and _count(known, kind) < 2:
        faults.duplicate(f"{path}.type", kind)


def _count(conditions: list[Document], kind: str) -> int:
    return sum((condition.get("type") or "") == kind for condition in conditions)


def _certificate_fault(text: bytes) -> str:
    kinds = [found[1] for found in _PEM.finditer(text)]
    other = next((kind for kind in kinds if kind != b"CERTIFICATE"), None)
    if other is not None:
        return f'only CERTIFICATE PEM blocks are allowed, found "{other.decode()}"'
    return "" if kinds else "must contain at least one CERTIFICATE PEM block"


def check_decision(new: Document, old: Document, faults: Faults) -> None:
    """Of a write to the status, which neither approves nor denies."""
    check_signing_status(new, old, faults)
    conditions, known = ((each.get("status") or {}).get("conditions") or [] for each in (new, old))
    for kind in _DECISIONS:
        if _count(conditions, kind) > _count(known, kind):
            faults.forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"')


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
