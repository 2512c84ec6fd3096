"""Checks of containers: names, images, ports, variables, mounts, resources, restarts."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.pod_resources import QOS_RESOURCES
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import port_name_faults, port_number_faults
from bayplan.apiserver.admitting.validation.pods.environment import check_environment
from bayplan.apiserver.admitting.validation.pods.probes import Ending, check_lifecycle, check_probes
from bayplan.apiserver.admitting.validation.pods.resources import check_requirements
from bayplan.apiserver.admitting.validation.pods.security import check_container_security_context, has_host_users
from bayplan.apiserver.admitting.validation.pods.volumes import PULL_POLICIES, check_mounts
from bayplan.model.dns_names import label_faults

PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
RESIZABLE = QOS_RESOURCES
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
CODE_OPERATORS = ("In", "NotIn")
_RESTART_RULES_MAX, _EXIT_CODES_MAX = 20, 255
_NOT_FOR_INIT = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"
_EPHEMERAL_FORBIDDEN = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)


class _Surroundings(NamedTuple):
    """What a container may refer to in its pod, and what the pod says for all of them."""

    volumes: Mapping[str, Document]
    claim_names: Set[str]
    restart_policy: str
    host_users: bool
    ending: Ending
    restarted_before: bool
    """Whether resizing already restarted a container that starts the pod, which new pods may not say."""


def check_all_containers(
    spec: Document,
    volumes: Mapping[str, Document],
    claim_names: Set[str],
    faults: Faults,
    path: Path,
    before: Document | None,
) -> None:
    """Of all three lists."""
    ending = Ending(spec.get("terminationGracePeriodSeconds"), (spec.get("os") or {}).get("name"), "os" in spec)
    around = _Surroundings(
        volumes,
        claim_names,
        spec.get("restartPolicy", ""),
        has_host_users(spec),
        ending,
        _restarts_init_containers(before),
    )
    containers = spec.get("containers") or []
    if not containers:
        faults.required(f"{path}.containers")
    _check_containers(containers, around, faults, f"{path}.containers")
    if "initContainers" in spec:
        _check_init_containers(spec["initContainers"], containers, around, faults, f"{path}.initContainers")
    if "ephemeralContainers" in spec:
        others = [*containers, *spec.get("initContainers", ())]
        _check_ephemeral(spec["ephemeralContainers"], others, around, faults, f"{path}.ephemeralContainers")


def _check_containers(containers: list[Document], around: _Surroundings, faults: Faults, path: Path) -> None:
    names: set[str] = set()
    for position, container in enumerate(containers):
        at = f"{path}[{position}]"
        _check_container(container, around, faults, at)
        if container["name"] in names:
            faults.duplicate(f"{at}.name", container["name"])
        names.add(container["name"])
        if "lifecycle" in container:
            check_lifecycle(container["lifecycle"], around.ending, faults, f"{at}.lifecycle")
        check_probes(container, faults, at)
        _check_restarts(container, faults, at)
    _check_host_ports(containers, faults, path)


def _check_init_containers(
    containers: list[Document], regular: list[Document], around: _Surroundings, faults: Faults, path: Path
) -> None:
    names = {container["name"] for container in regular}
    for position, container in enumerate(containers):
        at = f"{path}[{position}]"
        _check_container(container, around, faults, at)
        _check_restarts(container, faults, at)
        if container["name"] in names:
            faults.duplicate(f"{at}.name", container["name"])
        names.add(container["name"])
        _check_host_ports([container], faults, path)
        if container.get("restartPolicy") == "Always":
            if "lifecycle" in container:
                check_lifecycle(container["lifecycle"], around.ending, faults, f"{at}.lifecycle")
            check_probes(container, faults, at)
        else:
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if field in container:
                    faults.forbidden(f"{at}.{field}", _NOT_FOR_INIT)
            for index, policy in enumerate(container.get("resizePolicy", ())):
                if policy.get("restartPolicy") == "RestartContainer" and not around.restarted_before:
                    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                    faults.invalid(f"{at}.resizePolicy[{index}].restartPolicy", "RestartContainer", text)


def _restarts_init_containers(spec: Document | None) -> bool:
    return any(
        policy.get("restartPolicy") == "RestartContainer"
        for container in (spec or {}).get("initContainers") or ()
        if container.get("restartPolicy") != "Always"
        for policy in container.get("resizePolicy", ())
    )


def _check_ephemeral(
    containers: list[Document], others: list[Document], around: _Surroundings, faults: Faults, path: Path
) -> None:
    targets = {container["name"] for container in others}
    names = set(targets)
    for position, container in enumerate(containers):
        at = f"{path}[{position}]"
        _check_container(container, around, faults, at)
        check_image_padding(container, faults, at)
        if container["name"] in names:
            faults.duplicate(f"{at}.name", container["name"])
        names.add(container["name"])
        target = container.get("targetContainerName")
        if target and target not in targets:
            faults.not_found(f"{at}.targetContainerName", target)
        for field in _EPHEMERAL_FORBIDDEN:
            if container.get(field):
                faults.forbidden(f"{at}.{field}", _NOT_EPHEMERAL)
        for index, mount in enumerate(container.get("volumeMounts", ())):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    faults.forbidden(f"{at}.volumeMounts[{index}].{field}", _NOT_EPHEMERAL)


def check_image_padding(container: Document, faults: Faults, path: Path) -> None:
    """Of a pod's containers; templates may have blanks there."""
    image = container.get("image", "")
    if image != image.strip():
        faults.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _check_container(container: Document, around: _Surroundings, faults: Faults, path: Path) -> None:
    name = container["name"]
    if not name:
        faults.required(f"{path}.name")
    elif label_faults(name):
        faults.all_invalid(f"{path}.name", name, label_faults(name))
    if not container.get("image"):
        faults.required(f"{path}.image")
    faults.one_of(f"{path}.terminationMessagePolicy", container.get("terminationMessagePolicy"), _MESSAGE_POLICIES)
    if "ports" in container:
        _check_ports(container["ports"], faults, f"{path}.ports")
    check_environment(container, faults, path)
    if "volumeMounts" in container or "volumeDevices" in container:
        check_mounts(container, around.volumes, faults, path)
    faults.one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), PULL_POLICIES)
    resources = container["resources"]
    if resources:
        check_requirements(resources, around.claim_names, faults, f"{path}.resources")
    if "resizePolicy" in container:
        _check_resize_policies(container["resizePolicy"], around.restart_policy, faults, f"{path}.resizePolicy")
    if "securityContext" in container:
        context, at = container["securityContext"], f"{path}.securityContext"
        check_container_security_context(context, faults, at, host_users=around.host_users)


def _check_ports(ports: list[Document], faults: Faults, path: Path) -> None:
    names: set[str] = set()
    for position, port in enumerate(ports):
        at = f"{path}[{position}]"
        name = port.get("name")
        if name:
            if port_name_faults(name):
                faults.all_invalid(f"{at}.name", name, port_name_faults(name))
            elif name in names:
                faults.duplicate(f"{at}.name", name)
            names.add(name)
        if not port["containerPort"]:
            faults.required(f"{at}.containerPort")
        else:
            faults.all_invalid(f"{at}.containerPort", port["containerPort"], port_number_faults(port["containerPort"]))
        if port.get("hostPort"):
            faults.all_invalid(f"{at}.hostPort", port["hostPort"], port_number_faults(port["hostPort"]))
        faults.one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)


def _check_host_ports(containers: list[Document], faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports", ())):
            if port.get("hostPort"):
                taken = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if taken in seen:
                    faults.duplicate(f"{path}[{index}].ports[{position}].hostPort", taken)
                seen.add(taken)


def _check_restarts(container: Document, faults: Faults, path: Path) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if rules:
            faults.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTART_POLICIES:
        faults.unsupported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if len(rules) > _RESTART_RULES_MAX:
        faults.too_many(f"{path}.restartPolicyRules", len(rules), _RESTART_RULES_MAX)
    for position, rule in enumerate(rules):
        at, codes = f"{path}.restartPolicyRules[{position}]", rule.get("exitCodes")
        if (action := rule.get("action", "")) not in _RESTART_ACTIONS:
            faults.unsupported(f"{at}.action", action, _RESTART_ACTIONS)
        if codes is None:
            faults.required(f"{at}.exitCodes", "must be specified")
            continue
        if (operator := codes.get("operator", "")) not in CODE_OPERATORS:
            faults.unsupported(f"{at}.exitCodes.operator", operator, CODE_OPERATORS)
        if len(codes.get("values", ())) > _EXIT_CODES_MAX:
            faults.too_many(f"{at}.exitCodes.values", len(codes["values"]), _EXIT_CODES_MAX)


def _check_resize_policies(policies: list[Document], restart_policy: str, faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            faults.duplicate(f"{path}[{position}]", name)
        seen.add(name)
        faults.one_of(path, name, RESIZABLE)
        faults.one_of(path, restart, _RESIZE_POLICIES)
        if restart_policy == "Never" and restart != "NotRequired":
            faults.invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
