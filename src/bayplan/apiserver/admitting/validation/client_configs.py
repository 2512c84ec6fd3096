"""Checks of how a webhook is called: its address, and the versions that it speaks.

Upstream: apiserver/pkg/util/webhook/validation.go (v1.36).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import port_number_faults
from bayplan.model.dns_names import dns1035_faults, subdomain_faults

REVIEW_VERSIONS: Final = ("v1", "v1beta1")


def check_client(client: Document, faults: Faults, path: Path) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        faults.required(path, "exactly one of url or service is required")
    elif url is not None:
        _check_url(url, faults, f"{path}.url")
    else:
        _check_service(service or {}, faults, f"{path}.service")


def _check_url(url: str, faults: Faults, path: Path) -> None:
    form = "; desired format: https://host[/path]"
    parts = urlsplit(url)
    if parts.scheme != "https":
        faults.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{form}")
    if not parts.netloc:
        faults.invalid(path, parts.netloc, f"host must be specified{form}")
    user, at_sign, _ = parts.netloc.rpartition("@")
    if at_sign:
        faults.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        faults.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        faults.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _check_service(service: Document, faults: Faults, path: Path) -> None:
    # The real server takes the one for the other.
    for field, named in (("namespace", "name"), ("name", "namespace")):
        if not service.get(field):
            faults.required(f"{path}.{named}")
    port = service.get("port")
    if port is not None and port_number_faults(port):
        faults.invalid(f"{path}.port", port, "port is not valid: " + ", ".join(port_number_faults(port)))
    _check_url_path(service.get("path") or "/", faults, f"{path}.path")


def _check_url_path(text: str, faults: Faults, path: Path) -> None:
    if text == "/":
        return
    if text == "//":
        faults.invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        faults.invalid(path, text, "must start with a '/'")
    for position, segment in enumerate(text[1:].removesuffix("/").split("/")):
        wrong = subdomain_faults(segment) if segment else ()
        faults.all_invalid(path, text, (f"segment[{position}]: {what}" for what in wrong))
        if not segment:
            faults.invalid(path, text, f"segment[{position}] may not be empty")


def check_review_versions(versions: list[str], faults: Faults, path: Path, text: str) -> None:
    if not versions:
        faults.required(path, text)
        return
    seen: set[str] = set()
    for position, version in enumerate(versions):
        if version in seen:
            faults.invalid(f"{path}[{position}]", version, "duplicate version")
        else:
            faults.all_invalid(f"{path}[{position}]", version, dns1035_faults(version))
        seen.add(version)
    if not seen & {*REVIEW_VERSIONS}:
        faults.invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")
