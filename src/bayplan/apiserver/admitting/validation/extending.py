"""Checks of CustomResourceDefinitions: names, versions, scope.

Their schemas are checked by whoever serves the resources they define. Upstream:
apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import dns1035_faults, subdomain_faults

_SCOPES = ("Cluster", "Namespaced")


def check_definition(definition: Document, faults: Faults) -> None:
    spec = definition["spec"]
    names, group = spec["names"], spec["group"]
    name = definition["metadata"].get("name", "")
    expected = f"{names.get('plural', '')}.{group}"
    if name != expected:
        faults.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if not group:
        faults.required("spec.group")
    else:
        faults.all_invalid("spec.group", group, subdomain_faults(group))
        if "." not in group:
            faults.invalid("spec.group", group, "should be a domain with at least one dot")
    faults.one_of("spec.scope", spec["scope"], _SCOPES)
    _check_versions(spec["versions"] or [], faults)
    for field in ("plural", "singular", "kind", "listKind"):
        text = names.get(field, "")
        if not text:
            faults.required(f"spec.names.{field}")
        elif dns1035_faults(text.lower()):
            faults.invalid(f"spec.names.{field}", text, ",".join(dns1035_faults(text.lower())))


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
        faults.invalid("spec.versions", versions, "must have exactly one version marked as storage version")


def check_definition_update(new: Document, old: Document, faults: Faults) -> None:
    check_definition(new, faults)
    if new["spec"]["scope"] != old["spec"]["scope"]:
        faults.immutable("spec.scope", new["spec"]["scope"], old["spec"]["scope"])
    for field in ("group", "names.plural", "names.kind"):
        part, other = new["spec"], old["spec"]
        for name in field.split("."):
            part, other = part[name], other[name]
        faults.immutable(f"spec.{field}", part, other)
