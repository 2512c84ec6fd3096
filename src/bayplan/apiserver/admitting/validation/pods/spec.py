"""Checks of the spec of a pod or a template as a whole, and of a new pod."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_annotations, check_labels
from bayplan.apiserver.admitting.validation.names import (
    loose_address_faults,
    range_faults,
    underscored_subdomain_faults,
)
from bayplan.apiserver.admitting.validation.pods.annotations import check_annotated_profiles, check_pod_annotations
from bayplan.apiserver.admitting.validation.pods.containers import check_all_containers, check_image_padding
from bayplan.apiserver.admitting.validation.pods.environment import check_file_volumes
from bayplan.apiserver.admitting.validation.pods.placement import (
    check_affinity,
    check_spread_constraints,
    check_tolerations,
)
from bayplan.apiserver.admitting.validation.pods.resources import check_amounts, check_pod_resources
from bayplan.apiserver.admitting.validation.pods.security import (
    check_host_processes,
    check_operating_system,
    check_pod_security_context,
    check_user_namespace,
)
from bayplan.apiserver.admitting.validation.pods.volumes import check_images_named, check_volumes
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.meta import INT32_MAX
from bayplan.model.names import label_key_faults

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_NAMESERVERS_MAX, _SEARCHES_MAX, _SEARCH_LIST_MAX = 3, 32, 2048
_HOSTNAME_MAX = 64
_GATED_NODE = "cannot be set until all schedulingGates have been cleared"


def check_new_pod(pod: Document, faults: Faults) -> None:
    """All but the metadata of a pod that is created."""
    check_pod(pod, faults)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        faults.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        faults.forbidden("spec.nodeName", _GATED_NODE)
    check_annotated_profiles(pod["metadata"].get("annotations", {}), spec, faults, "spec")


def check_pod(pod: Document, faults: Faults, before: Document | None = None) -> None:
    """What holds for every pod: a new one, or one that had another spec before."""
    spec = pod["spec"]
    check_pod_annotations(pod["metadata"].get("annotations", {}), spec, faults, "metadata.annotations")
    check_pod_spec(spec, faults, "spec", name=pod["metadata"].get("name", ""), is_pod=True, before=before)
    _check_token_sources(spec, faults)
    for field in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            check_image_padding(container, faults, f"spec.{field}[{position}]")


def _check_token_sources(spec: Document, faults: Faults) -> None:
    """A token needs an account."""
    if spec.get("serviceAccountName"):
        return
    for index, volume in enumerate(spec.get("volumes", ())):
        for position, source in enumerate(volume.get("projected", {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                at = f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken"
                faults.forbidden(at, "must not be specified when serviceAccountName is not set")


def check_template(template: Document, faults: Faults, path: Path) -> None:
    """Of a template in a workload."""
    metadata = template.get("metadata", {})
    check_labels(metadata.get("labels", {}), faults, f"{path}.labels")
    annotations = metadata.get("annotations", {})
    check_annotations(annotations, faults, f"{path}.annotations")
    check_pod_annotations(annotations, template["spec"], faults, f"{path}.annotations")
    check_pod_spec(template["spec"], faults, f"{path}.spec")
    check_annotated_profiles(annotations, template["spec"], faults, f"{path}.spec")
    if template["spec"].get("ephemeralContainers"):
        faults.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def check_pod_spec(
    spec: Document,
    faults: Faults,
    path: Path,
    *,
    name: str = "",
    is_pod: bool = False,
    before: Document | None = None,
) -> None:
    """Of a pod, or of a template, whose pods have no name yet."""
    volumes = check_volumes(spec.get("volumes", ()), name, faults, f"{path}.volumes")
    if is_pod or admission_release().needs_images_of_volumes:
        check_images_named(spec.get("volumes", ()), faults, f"{path}.volumes")
    claim_names = _check_resource_claims(spec.get("resourceClaims", ()), faults, f"{path}.resourceClaims")
    check_all_containers(spec, volumes, claim_names, faults, path, before)
    if "resources" in spec:
        check_pod_resources(spec, claim_names, faults, path)
    _check_host_network(spec, faults, path, is_pod)
    faults.one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES)
    faults.one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    if "nodeSelector" in spec:
        check_labels(spec["nodeSelector"], faults, f"{path}.nodeSelector")
    check_pod_security_context(spec.get("securityContext") or {}, spec, faults, f"{path}.securityContext")
    if "affinity" in spec:
        check_affinity(spec["affinity"], faults, f"{path}.affinity")
    _check_dns(spec, faults, f"{path}.dnsConfig")
    for position, gate in enumerate(spec.get("readinessGates", ())):
        at = f"{path}.readinessGates[{position}].conditionType"
        faults.all_invalid(at, gate["conditionType"], label_key_faults(gate["conditionType"]))
    if "schedulingGates" in spec:
        _check_scheduling_gates(spec["schedulingGates"], faults, f"{path}.schedulingGates")
    if "topologySpreadConstraints" in spec:
        check_spread_constraints(spec["topologySpreadConstraints"], faults, f"{path}.topologySpreadConstraints")
    check_host_processes(spec, faults, path)
    check_user_namespace(spec, faults, path)
    _check_hostname_override(spec, faults, f"{path}.hostnameOverride")
    _check_names(spec, faults, path)
    _check_rest(spec, faults, path)
    if spec.get("schedulingGroup") is not None:
        _check_scheduling_group(spec["schedulingGroup"], faults, f"{path}.schedulingGroup")
    check_file_volumes(spec, faults, path)


def _check_scheduling_group(reference: Document, faults: Faults, path: Path) -> None:
    name = reference.get("podGroupName")
    if name is None:
        faults.invalid(path, "", "must specify one of: `podGroupName`")
    else:
        faults.all_invalid(f"{path}.podGroupName", name, subdomain_faults(name))


def _check_resource_claims(claims: list[Document], faults: Faults, path: Path) -> set[str]:
    names: set[str] = set()
    for position, claim in enumerate(claims):
        at = f"{path}[{position}]"
        name = claim["name"]
        if not name:
            faults.required(f"{at}.name")
        elif name in names:
            faults.duplicate(f"{at}.name", name)
        else:
            faults.all_invalid(f"{at}.name", name, label_faults(name))
        if name:
            names.add(name)
        sources = [
            field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None
        ]
        if len(sources) > 1:
            faults.invalid(
                at,
                internal(claim, "PodResourceClaim"),
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            )
        if not sources:
            faults.invalid(
                at,
                internal(claim, "PodResourceClaim"),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            )
        for field in sources:
            faults.all_invalid(f"{at}.{field}", claim[field], subdomain_faults(claim[field]))
    return names


def _check_host_network(spec: Document, faults: Faults, path: Path, is_pod: bool) -> None:
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers") or ()):
        for position, port in enumerate(container.get("ports", ())):
            host_port = port.get("hostPort", 0)
            if (is_pod or host_port) and host_port != port["containerPort"]:
                text = "must match `containerPort` when `hostNetwork` is true"
                faults.invalid(f"{path}.containers[{index}].ports[{position}].hostPort", host_port, text)


def _check_dns(spec: Document, faults: Faults, path: Path) -> None:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            faults.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            faults.required(f"{path}.nameservers", text)
            return
    if config is None:
        return
    servers, searches = config.get("nameservers", []), config.get("searches", [])
    if len(servers) > _NAMESERVERS_MAX:
        faults.invalid(f"{path}.nameservers", servers, f"must not have more than {_NAMESERVERS_MAX} nameservers")
    for position, server in enumerate(servers):
        check_address(server, faults, f"{path}.nameservers[{position}]")
    if len(searches) > _SEARCHES_MAX:
        faults.invalid(f"{path}.searches", searches, f"must not have more than {_SEARCHES_MAX} search paths")
    if len(" ".join(searches).encode()) > _SEARCH_LIST_MAX:
        text = f"must not have more than {_SEARCH_LIST_MAX} characters (including spaces) in the search list"
        faults.invalid(f"{path}.searches", searches, text)
    for position, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            faults.all_invalid(f"{path}.searches[{position}]", name, underscored_subdomain_faults(name))
    for position, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            faults.required(f"{path}.options[{position}]", "must not be empty")


def check_address(text: str, faults: Faults, path: Path) -> None:
    """Of an IP address of either family."""
    faults.all_invalid(path, text, loose_address_faults(text))


def _check_scheduling_gates(gates: list[Document], faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for position, gate in enumerate(gates):
        name = gate["name"]
        faults.all_invalid(f"{path}[{position}]", name, label_key_faults(name))
        if name in seen:
            faults.duplicate(f"{path}[{position}]", name)
        seen.add(name)


def _check_names(spec: Document, faults: Faults, path: Path) -> None:
    for field in ("serviceAccountName", "nodeName"):
        faults.named_if_given(f"{path}.{field}", spec.get(field), subdomain_faults)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        faults.all_invalid(f"{path}.activeDeadlineSeconds", deadline, range_faults(deadline, 1, INT32_MAX))
    for field in ("hostname", "subdomain"):
        faults.named_if_given(f"{path}.{field}", spec.get(field), label_faults)


def _check_hostname_override(spec: Document, faults: Faults, path: Path) -> None:
    name = spec.get("hostnameOverride")
    if name is None:
        return
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            faults.forbidden(path, f"may not be specified when {field} is true")
    if len(name.encode()) > _HOSTNAME_MAX:
        faults.too_long(path, _HOSTNAME_MAX)
    faults.all_invalid(path, name, subdomain_faults(name))


def _check_rest(spec: Document, faults: Faults, path: Path) -> None:
    if "tolerations" in spec:
        check_tolerations(spec["tolerations"], faults, f"{path}.tolerations")
    for position, alias in enumerate(spec.get("hostAliases", ())):
        check_address(alias["ip"], faults, f"{path}.hostAliases[{position}].ip")
        for index, hostname in enumerate(alias.get("hostnames", ())):
            at = f"{path}.hostAliases[{position}].hostnames[{index}]"
            faults.all_invalid(at, hostname, subdomain_faults(hostname))
    for field in ("priorityClassName", "runtimeClassName"):
        name = spec.get(field)
        if name and subdomain_faults(name):
            faults.all_invalid(f"{path}.{field}", name, subdomain_faults(name))
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        faults.one_of(f"{path}.preemptionPolicy", policy, PREEMPTION_POLICIES)
    if "overhead" in spec:
        check_amounts({"limits": spec["overhead"]}, faults, f"{path}.overhead")
    check_operating_system(spec, faults, path)
