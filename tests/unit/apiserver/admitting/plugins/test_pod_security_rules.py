"""What the levels of Pod Security say of a pod; words are those of the real server's rules."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.plugins.pod_security_rules import BASELINE, RESTRICTED

Part = dict[str, Any]
SAFE: Part = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
LAX: Part = {}
CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
SYSCTLS = (
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start"),
    *("net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports"),
    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
    *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
)
VOLUMES = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
    "secret",
)


def container(name: str = "a", context: Part | None = None, **more: Any) -> Part:
    return {"name": name, "securityContext": SAFE if context is None else context, **more}


def restricted(name: str = "a", **context: Any) -> Part:
    """A container that is as the strictest level wants it, but for this."""
    return container(name, {**SAFE, **context})


def pod(*containers: Part, annotations: Part | None = None, **spec: Any) -> Part:
    metadata = {"annotations": annotations} if annotations else {}
    return {"metadata": metadata, "spec": {"containers": [*(containers or (container(),))], **spec}}


def found(rules: Any, given: Part) -> list[tuple[str, str]]:
    return [(violation.reason, violation.detail) for rule in rules if (violation := rule(given)) is not None]


@pytest.mark.parametrize(
    ("given", "reason", "detail"),
    [
        (
            pod(container("a", {"appArmorProfile": {"type": "Unconfined"}})),
            "forbidden AppArmor profile",
            'container "a" must not set AppArmor profile type to "Unconfined"',
        ),
        (
            pod(
                container("a", {"appArmorProfile": {"type": "X"}}),
                container("b", {"appArmorProfile": {"type": "Y"}}),
                securityContext={"appArmorProfile": {"type": "X"}},
            ),
            "forbidden AppArmor profiles",
            'pod and containers "a", "b" must not set AppArmor profile type to "X", "Y"',
        ),
        (
            pod(annotations={"container.apparmor.security.beta.kubernetes.io/a": "unconfined", "other": "x"}),
            "forbidden AppArmor profile",
            "annotation must not set AppArmor profile type to "
            '"container.apparmor.security.beta.kubernetes.io/a="unconfined""',
        ),
        (
            pod(container("a", {"capabilities": {"add": ["NET_RAW", "KILL"]}})),
            "non-default capabilities",
            'container "a" must not include "NET_RAW" in securityContext.capabilities.add',
        ),
        (
            pod(
                container("a", {"capabilities": {"add": ["NET_RAW"]}}),
                container("b", {"capabilities": {"add": ["BPF"]}}),
            ),
            "non-default capabilities",
            'containers "a", "b" must not include "BPF", "NET_RAW" in securityContext.capabilities.add',
        ),
        (
            pod(hostNetwork=True, hostPID=True, hostIPC=True),
            "host namespaces",
            "hostNetwork=true, hostPID=true, hostIPC=true",
        ),
        (pod(volumes=[{"name": "v", "hostPath": {}}]), "hostPath volumes", 'volume "v"'),
        (
            pod(volumes=[{"name": "v", "hostPath": {}}, {"name": "w", "hostPath": {}}, {"name": "x"}]),
            "hostPath volumes",
            'volumes "v", "w"',
        ),
        (pod(container(ports=[{"hostPort": 80}, {}])), "hostPort", 'container "a" uses hostPort 80'),
        (
            pod(container(ports=[{"hostPort": 80}, {"hostPort": 9}]), container("b", ports=[{"hostPort": 80}])),
            "hostPort",
            'containers "a", "b" use hostPorts 80, 9',
        ),
        (
            pod(container(livenessProbe={"httpGet": {"host": "h"}})),
            "probe or lifecycle host",
            'container "a" uses probe or lifecycle host "h"',
        ),
        (
            pod(
                container(readinessProbe={"tcpSocket": {"host": "h"}}),
                container("b", lifecycle={"preStop": {"httpGet": {"host": "i"}}, "postStart": {"tcpSocket": {}}}),
                initContainers=[container("c", startupProbe={"httpGet": {}})],
            ),
            "probe or lifecycle host",
            'containers "a", "b" use probe or lifecycle hosts "h", "i"',
        ),
        (
            pod(container(lifecycle={"postStart": {"httpGet": {"host": "h"}}})),
            "probe or lifecycle host",
            'container "a" uses probe or lifecycle host "h"',
        ),
        (
            pod(container("a", {"privileged": True})),
            "privileged",
            'container "a" must not set securityContext.privileged=true',
        ),
        (
            pod(
                container("a", LAX),
                initContainers=[container("b", {"privileged": True})],
                ephemeralContainers=[container("c", {"privileged": True})],
            ),
            "privileged",
            'containers "b", "c" must not set securityContext.privileged=true',
        ),
        (
            pod(container("a", {"procMount": "Unmasked"}), hostUsers=True),
            "procMount",
            'container "a" must not set securityContext.procMount to "Unmasked"',
        ),
        (
            pod(container("a", {"seLinuxOptions": {"type": "spc_t", "user": "u"}})),
            "seLinuxOptions",
            'container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set',
        ),
        (
            pod(
                container("a", {"seLinuxOptions": {"type": "x"}}),
                securityContext={"seLinuxOptions": {"type": "y", "role": "r"}},
            ),
            "seLinuxOptions",
            'pod and container "a" set forbidden securityContext.seLinuxOptions: types "x", "y"; role may not be set',
        ),
        (
            pod(container("a", {"seccompProfile": {"type": "Unconfined"}})),
            "seccompProfile",
            'container "a" must not set securityContext.seccompProfile.type to "Unconfined"',
        ),
        (
            pod(securityContext={"sysctls": [{"name": "a"}, {"name": "net.ipv4.tcp_rmem"}, {"name": "b"}]}),
            "forbidden sysctls",
            "a, b",
        ),
        (
            pod(
                container("a", {"windowsOptions": {"hostProcess": True}}),
                securityContext={"windowsOptions": {"hostProcess": True}},
            ),
            "hostProcess",
            'pod and container "a" must not set securityContext.windowsOptions.hostProcess=true',
        ),
    ],
)
def test_what_the_baseline_forbids(given: Part, reason: str, detail: str) -> None:
    assert found(BASELINE, given) == [(reason, detail)]


@pytest.mark.parametrize(
    "given",
    [
        pod(container("a", LAX)),
        pod(container("a", {"appArmorProfile": {"type": "Localhost"}})),
        pod(container("a", {"appArmorProfile": {"type": "RuntimeDefault"}})),
        *(
            pod(annotations={"container.apparmor.security.beta.kubernetes.io/a": profile})
            for profile in ("", "runtime/default", "localhost/x")
        ),
        *(pod(container("a", {"capabilities": {"add": [name]}})) for name in CAPABILITIES),
        pod(container(ports=[{"hostPort": 0}])),
        pod(container(livenessProbe={"httpGet": {"host": ""}, "tcpSocket": {}})),
        pod(container("a", {"privileged": False})),
        pod(container("a", {"procMount": "Unmasked"}), hostUsers=False),
        pod(container("a", {"procMount": "Default"})),
        *(
            pod(container("a", {"seLinuxOptions": {"type": name}}))
            for name in ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
        ),
        *(pod(container("a", {"seccompProfile": {"type": name}})) for name in ("RuntimeDefault", "Localhost")),
        *(pod(securityContext={"sysctls": [{"name": name}]}) for name in SYSCTLS),
        pod(container("a", {"windowsOptions": {"hostProcess": False}})),
    ],
)
def test_what_the_baseline_allows(given: Part) -> None:
    assert found(BASELINE, given) == []


@pytest.mark.parametrize(
    ("given", "reason", "detail"),
    [
        (
            pod(restricted(allowPrivilegeEscalation=True), restricted("b", allowPrivilegeEscalation=None)),
            "allowPrivilegeEscalation != false",
            'containers "a", "b" must set securityContext.allowPrivilegeEscalation=false',
        ),
        (
            pod(restricted(capabilities={"drop": ["KILL"], "add": ["CHOWN", "NET_BIND_SERVICE"]})),
            "unrestricted capabilities",
            'container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "CHOWN" '
            "in securityContext.capabilities.add",
        ),
        (
            pod(volumes=[{"name": "v", "hostPath": {}}]),
            "restricted volume types",
            'volume "v" uses restricted volume type "hostPath"',
        ),
        (
            pod(volumes=[{"name": "v", "nfs": {}}, {"name": "w", "hostPath": {}}, {"name": "x"}]),
            "restricted volume types",
            'volumes "v", "w", "x" use restricted volume types "hostPath", "nfs", "unknown"',
        ),
        (
            pod(restricted(runAsNonRoot=False), securityContext={"runAsNonRoot": False}),
            "runAsNonRoot != true",
            'pod and container "a" must not set securityContext.runAsNonRoot=false',
        ),
        (
            pod(container("a", {name: value for name, value in SAFE.items() if name != "runAsNonRoot"})),
            "runAsNonRoot != true",
            'pod or container "a" must set securityContext.runAsNonRoot=true',
        ),
        (
            pod(restricted(runAsUser=0), securityContext={"runAsUser": 0}),
            "runAsUser=0",
            'pod and container "a" must not set runAsUser=0',
        ),
        (
            pod(container("a", {name: value for name, value in SAFE.items() if name != "seccompProfile"})),
            "seccompProfile",
            'pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"',
        ),
        (
            pod(restricted(seccompProfile={"type": "Unconfined"})),
            "seccompProfile",
            'container "a" must not set securityContext.seccompProfile.type to "Unconfined"',
        ),
        (pod(hostNetwork=True), "host namespaces", "hostNetwork=true"),
    ],
)
def test_what_the_strictest_level_forbids(given: Part, reason: str, detail: str) -> None:
    assert found(RESTRICTED, given) == [(reason, detail)]


@pytest.mark.parametrize(
    "given",
    [
        pod(),
        pod(restricted(capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})),
        pod(restricted(runAsUser=1)),
        pod(
            container("a", {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}),
            securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "Localhost"}},
        ),
        pod(container("a", {"runAsNonRoot": True}), os={"name": "windows"}),
        pod(
            restricted(runAsNonRoot=False, runAsUser=0),
            hostUsers=False,
        ),
        *(pod(volumes=[{"name": "v", source: {}}]) for source in VOLUMES),
    ],
)
def test_what_the_strictest_level_allows(given: Part) -> None:
    assert found(RESTRICTED, given) == []


def test_all_that_is_wrong_is_said_in_one_order() -> None:
    given = pod(
        container("a", {"privileged": True}),
        hostNetwork=True,
        securityContext={"sysctls": [{"name": "a"}]},
    )
    assert [reason for reason, _ in found(BASELINE, given)] == ["host namespaces", "privileged", "forbidden sysctls"]
    assert [reason for reason, _ in found(RESTRICTED, given)] == [
        "host namespaces",
        "privileged",
        "forbidden sysctls",
        "allowPrivilegeEscalation != false",
        "unrestricted capabilities",
        "runAsNonRoot != true",
        "seccompProfile",
    ]
