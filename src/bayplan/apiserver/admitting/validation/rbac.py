"""Checks of roles and of who has them. Upstream: pkg/apis/rbac/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector, is_selector
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.schema.messages import RBAC_GROUP
from bayplan.model.dns_names import subdomain_faults

_KINDS = ("ServiceAccount", "User", "Group")


def check_role(role: Document, faults: Faults) -> None:
    """Of a Role or a ClusterRole; only the latter reaches beyond its namespace."""
    for position, rule in enumerate(role["rules"] or ()):
        _check_rule(rule, role["kind"] == "Role", faults, f"rules[{position}]")
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors", ())
        if not selectors:
            faults.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for position, selector in enumerate(selectors):
            check_label_selector(selector, faults, f"{path}[{position}]")
            if not is_selector(selector):
                faults.invalid(f"{path}[{position}]", None, "invalid label selector.")


def _check_rule(rule: Document, is_namespaced: bool, faults: Faults, path: Path) -> None:
    if not rule["verbs"]:
        faults.declared.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if is_namespaced:
            faults.invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            faults.invalid(f"{path}.nonResourceURLs", urls, text)
        return
    if not rule.get("apiGroups"):
        faults.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        faults.required(f"{path}.resources", "resource rules must supply at least one resource")


def check_binding(binding: Document, faults: Faults, *, is_new: bool = True) -> None:
    """Of a RoleBinding or a ClusterRoleBinding; declarations say nothing about a role in place of another."""
    role = binding["roleRef"]
    is_namespaced = binding["kind"] == "RoleBinding"
    if role["apiGroup"] != RBAC_GROUP:
        faults.unsupported("roleRef.apiGroup", role["apiGroup"], (RBAC_GROUP,))
    kinds = ("Role", "ClusterRole") if is_namespaced else ("ClusterRole",)
    if role["kind"] not in kinds:
        faults.unsupported("roleRef.kind", role["kind"], kinds)
    if not role["name"]:
        (faults.declared if is_new else faults).required("roleRef.name")
    else:
        faults.all_invalid("roleRef.name", role["name"], path_segment_faults(role["name"]))
    for position, subject in enumerate(binding.get("subjects", ())):
        _check_subject(subject, is_namespaced, faults, f"subjects[{position}]")


def _check_subject(subject: Document, is_namespaced: bool, faults: Faults, path: Path) -> None:
    name, kind, group = subject["name"], subject["kind"], subject.get("apiGroup", "")
    if not name:
        faults.declared.required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            faults.all_invalid(f"{path}.name", name, subdomain_faults(name))
        if group:
            faults.unsupported(f"{path}.apiGroup", group, ("",))
        if not is_namespaced and not subject.get("namespace"):
            faults.required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != RBAC_GROUP:
            faults.unsupported(f"{path}.apiGroup", group, (RBAC_GROUP,))
    else:
        faults.unsupported(f"{path}.kind", kind, _KINDS)


def check_binding_update(new: Document, old: Document, faults: Faults) -> None:
    check_binding(new, faults, is_new=new["roleRef"] == old["roleRef"])
    if new["roleRef"] != old["roleRef"]:
        text = IMMUTABLE if admission_release().role_references_are_fixed else "cannot change roleRef"
        faults.invalid("roleRef", internal(new["roleRef"], "RoleRef"), text)
