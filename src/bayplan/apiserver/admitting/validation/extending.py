"""Checks of CustomResourceDefinitions (names, versions, scope) and APIServices.

Schemas are checked by whoever serves the resources that they define. Upstream:
apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go (v1.36).
"""

from __future__ import annotations

import base64

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import (
    dns1035_faults,
    path_segment_faults,
    port_number_faults,
    subdomain_faults,
)

_SCOPES = ("Cluster", "Namespaced")
_CONVERSIONS = ("None", "Webhook")


def check_definition(definition: Document, faults: Faults) -> None:
    spec = definition["spec"]
    metadata, expected = definition["metadata"], f"{spec['names'].get('plural', '')}.{spec['group']}"
    for field in ("generateName", "name"):
        if metadata.get(field, expected) != expected:
            faults.invalid(f"metadata.{field}", metadata[field], 'must be spec.names.plural+"."+spec.group')
    _check_spec(spec, faults)
    if not definition["status"].get("storedVersions"):
        faults.invalid("status.storedVersions", None, "must have at least one stored version")


def _check_spec(spec: Document, faults: Faults) -> None:
    names, group = spec["names"], spec["group"]
    if not group:
        faults.required("spec.group")
    else:
        faults.all_invalid("spec.group", group, subdomain_faults(group))
        if not subdomain_faults(group) and "." not in group:
            faults.invalid("spec.group", group, "should be a domain with at least one dot")
    faults.one_of("spec.scope", spec["scope"], _SCOPES)
    _check_versions(spec["versions"] or [], faults)
    first = (spec["versions"] or [{"name": "v1"}])[0]["name"]
    if dns1035_faults(first):
        # The field of definitions that had one version; the server still fills it.
        faults.invalid("spec.version", first, ",".join(dns1035_faults(first)))
    for field in ("plural", "singular", "kind", "listKind"):
        text = names.get(field, "")
        if not text:
            faults.required(f"spec.names.{field}")
        elif dns1035_faults(text.lower()):
            fault = ",".join(dns1035_faults(text.lower()))
            is_kind = field in ("kind", "listKind")
            mixed = "may have mixed case, but should otherwise match: " if is_kind else ""
            faults.invalid(f"spec.names.{field}", text, mixed + fault)
    for field in ("shortNames", "categories"):
        for position, text in enumerate(names.get(field, ())):
            if dns1035_faults(text):
                faults.invalid(f"spec.names.{field}[{position}]", text, ",".join(dns1035_faults(text)))
    faults.one_of("spec.conversion.strategy", spec.get("conversion", {}).get("strategy"), _CONVERSIONS)


def _check_versions(versions: list[Document], faults: Faults) -> None:
    seen: set[str] = set()
    for position, version in enumerate(versions):
        path = f"spec.versions[{position}]"
        if dns1035_faults(version["name"]):
            faults.invalid(f"{path}.name", version["name"], ",".join(dns1035_faults(version["name"])))
        if version["name"] in seen:
            faults.invalid("spec.versions", [known["name"] for known in versions], "must contain unique version names")
        seen.add(version["name"])
        if not version.get("schema", {}).get("openAPIV3Schema"):
            faults.required(f"{path}.schema.openAPIV3Schema")
    if sum(1 for version in versions if version["storage"]) != 1:
        text = "must have exactly one version marked as storage version"
        faults.invalid("spec.versions", versions or None, text)


def check_definition_update(new: Document, old: Document, faults: Faults) -> None:
    _check_spec(new["spec"], faults)
    served = [version["name"] for version in new["spec"]["versions"] or ()]
    for position, version in enumerate(old.get("status", {}).get("storedVersions") or ()):
        if version not in served:
            text = (
                f"missing from spec.versions; {version} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {version} and removes "
                f"{version} from status.storedVersions"
            )
            faults.invalid(f"status.storedVersions[{position}]", version, text)
    if new["spec"]["scope"] != old["spec"]["scope"]:
        faults.immutable("spec.scope", new["spec"]["scope"], old["spec"]["scope"])
    for field in ("group", "names.kind", "names.plural"):
        part, other = new["spec"], old["spec"]
        for name in field.split("."):
            part, other = part[name], other[name]
        faults.immutable(f"spec.{field}", part, other)


def check_api_service(api_service: Document, faults: Faults) -> None:
    spec, name = api_service["spec"], api_service["metadata"].get("name", "")
    group, version, service = spec.get("group", ""), spec.get("version", ""), spec.get("service")
    needed = f"{version}.{group}"
    if name and name != needed and not path_segment_faults(name):
        faults.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{needed}"')
    if not group and version != "v1":
        faults.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    faults.named_if_given("spec.group", group, subdomain_faults)
    faults.all_invalid("spec.version", version, dns1035_faults(version))
    for field, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)):
        if not 0 < spec[field] <= most:
            faults.invalid(f"spec.{field}", spec[field], f"must be positive and less than {most}")
    bundle, insecure = spec.get("caBundle", ""), spec.get("insecureSkipTLSVerify", False)
    if service is None:
        if bundle:
            length = len(base64.b64decode(bundle))
            faults.invalid("spec.caBundle", f"{length} bytes", "local APIServices may not have a caBundle")
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            faults.invalid("spec.insecureSkipTLSVerify", insecure, text)
        return
    for field in ("namespace", "name"):
        if not service.get(field):
            faults.required(f"spec.service.{field}")
    wrong = port_number_faults(service["port"])
    if wrong:
        faults.invalid("spec.service.port", service["port"], f"port is not valid: {', '.join(wrong)}")
    if insecure and bundle:
        faults.invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present")
