"""What the levels of Pod Security forbid. A rule takes a pod and gives what it violates, or None.

Upstream: pod-security-admission/policy (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from bayplan.apiserver.admitting.app_armor import APP_ARMOR
from bayplan.apiserver.admitting.defaults.pods import PROBES
from bayplan.apiserver.admitting.documents import Document
from bayplan.model.selectors import quoted


class Violation(NamedTuple):
    """Something that a level forbids."""

    reason: str
    detail: str


Rule: TypeAlias = Callable[[Document], Violation | None]

_DEFAULT_CAPABILITIES: Final = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
_SELINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS: Final = frozenset(
    {
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start"),
        *("net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports"),
        *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
        *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    }
)
_PLAIN_VOLUMES: Final = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
    "secret",
)


def _containers(pod: Document) -> Iterator[Document]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod["spec"].get(field) or ()


def _context(owner: Document) -> Document:
    return owner.get("securityContext") or {}


def _quoted(values: Iterable[Any]) -> str:
    return ", ".join(f'"{value}"' for value in values)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _named(names: list[str]) -> str:
    return f"{_plural('container', len(names))} {_quoted(names)}"


def _setters(pod: Document, is_bad: Callable[[Document], bool]) -> list[str]:
    """Who sets something bad in a security context: the pod, containers."""
    found = ["pod"] if is_bad(_context(pod["spec"])) else []
    names = [container["name"] for container in _containers(pod) if is_bad(_context(container))]
    return [*found, _named(names)] if names else found


def _all_contexts(pod: Document) -> Iterator[Document]:
    yield _context(pod["spec"])
    for container in _containers(pod):
        yield _context(container)


def _is_windows(pod: Document) -> bool:
    return bool((pod["spec"].get("os") or {}).get("name") == "windows")


def _app_armor(pod: Document) -> Violation | None:
    def kind(context: Document) -> str:
        return str((context.get("appArmorProfile") or {"type": "RuntimeDefault"})["type"])

    allowed = ("RuntimeDefault", "Localhost")
    setters = _setters(pod, lambda context: kind(context) not in allowed)
    values = sorted({kind(context) for context in _all_contexts(pod)} - {*allowed})
    annotations = [
        f"{key}={quoted(value)}"
        for key, value in sorted(pod.get("metadata", {}).get("annotations", {}).items())
        if key.startswith(APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    ]
    if annotations:
        values += annotations
        setters.append(_plural("annotation", len(annotations)))
    if not setters:
        return None
    reason = _plural("forbidden AppArmor profile", len(values))
    return Violation(reason, f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}")


def _added(container: Document) -> list[str]:
    return (_context(container).get("capabilities") or {}).get("add") or []


def _added_capabilities(pod: Document, allowed: Iterable[str]) -> str:
    """Containers that add others than these, and which."""
    others = {container["name"]: {*_added(container)} - {*allowed} for container in _containers(pod)}
    bad = [name for name, capabilities in others.items() if capabilities]
    if not bad:
        return ""
    listed = _quoted(sorted(set().union(*others.values())))
    return f"{_named(bad)} must not include {listed} in securityContext.capabilities.add"


def _capabilities_baseline(pod: Document) -> Violation | None:
    found = _added_capabilities(pod, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", found) if found else None


def _capabilities_restricted(pod: Document) -> Violation | None:
    if _is_windows(pod):
        return None
    keeping = [
        container["name"]
        for container in _containers(pod)
        if "ALL" not in ((_context(container).get("capabilities") or {}).get("drop") or ())
    ]
    details = [f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    added = _added_capabilities(pod, ("NET_BIND_SERVICE",))
    details += [added] if added else []
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(pod: Document) -> Violation | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if pod["spec"].get(name)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def _host_paths(pod: Document) -> Violation | None:
    names = [volume["name"] for volume in pod["spec"].get("volumes") or () if "hostPath" in volume]
    return Violation("hostPath volumes", f"{_plural('volume', len(names))} {_quoted(names)}") if names else None


def _host_ports(pod: Document) -> Violation | None:
    ports = {
        container["name"]: [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort")]
        for container in _containers(pod)
    }
    names = [name for name, numbers in ports.items() if numbers]
    found = sorted({str(number) for numbers in ports.values() for number in numbers})
    if not names:
        return None
    uses = "uses" if len(names) == 1 else "use"
    return Violation("hostPort", f"{_named(names)} {uses} {_plural('hostPort', len(found))} {', '.join(found)}")


def _probed_hosts(container: Document) -> set[str]:
    handlers = [container.get(name) or {} for name in PROBES]
    handlers += [(container.get("lifecycle") or {}).get(name) or {} for name in ("postStart", "preStop")]
    hosts = {(handler.get(kind) or {}).get("host") for handler in handlers for kind in ("httpGet", "tcpSocket")}
    return {host for host in hosts if host}


def _probe_hosts(pod: Document) -> Violation | None:
    hosts = {container["name"]: _probed_hosts(container) for container in _containers(pod)}
    names = sorted(name for name, found in hosts.items() if found)
    if not names:
        return None
    found = sorted(set().union(*hosts.values()))
    uses, what = "uses" if len(names) == 1 else "use", _plural("probe or lifecycle host", len(found))
    return Violation("probe or lifecycle host", f"{_named(names)} {uses} {what} {_quoted(found)}")


def _privileged(pod: Document) -> Violation | None:
    names = [container["name"] for container in _containers(pod) if _context(container).get("privileged")]
    text = "must not set securityContext.privileged=true"
    return Violation("privileged", f"{_named(names)} {text}") if names else None


def _proc_mount(pod: Document) -> Violation | None:
    mounts = {container["name"]: _context(container).get("procMount", "Default") for container in _containers(pod)}
    names = [name for name, mount in mounts.items() if mount != "Default"]
    if not names or pod["spec"].get("hostUsers") is False:
        return None
    values = _quoted(sorted({mounts[name] for name in names}))
    return Violation("procMount", f"{_named(names)} must not set securityContext.procMount to {values}")


def _selinux(pod: Document) -> Violation | None:
    def options(context: Document) -> Document:
        return context.get("seLinuxOptions") or {}

    def is_bad(context: Document) -> bool:
        given = options(context)
        return given.get("type", "") not in _SELINUX_TYPES or bool(given.get("user") or given.get("role"))

    setters = _setters(pod, is_bad)
    if not setters:
        return None
    given = [options(context) for context in _all_contexts(pod)]
    types = sorted({one.get("type", "") for one in given} - {*_SELINUX_TYPES})
    details = [f"{_plural('type', len(types))} {_quoted(types)}"] if types else []
    details += [f"{field} may not be set" for field in ("user", "role") if any(one.get(field) for one in given)]
    text = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(details)}"
    return Violation("seLinuxOptions", text)


def _seccomp_type(context: Document) -> str | None:
    profile = context.get("seccompProfile")
    return None if profile is None else profile["type"]


def _bad_seccomp(pod: Document) -> Violation | None:
    allowed = (None, "RuntimeDefault", "Localhost")
    setters = _setters(pod, lambda context: _seccomp_type(context) not in allowed)
    if not setters:
        return None
    values = sorted({str(_seccomp_type(context)) for context in _all_contexts(pod)} - {str(one) for one in allowed})
    text = f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {_quoted(values)}"
    return Violation("seccompProfile", text)


def _seccomp_restricted(pod: Document) -> Violation | None:
    if _is_windows(pod):
        return None
    bad = _bad_seccomp(pod)
    if bad is not None or _seccomp_type(_context(pod["spec"])) is not None:
        return bad
    names = [container["name"] for container in _containers(pod) if _seccomp_type(_context(container)) is None]
    if not names:
        return None
    text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_named(names)} {text}")


def _sysctls(pod: Document) -> Violation | None:
    names = [one["name"] for one in _context(pod["spec"]).get("sysctls") or () if one["name"] not in _SYSCTLS]
    return Violation("forbidden sysctls", ", ".join(names)) if names else None


def _windows_processes(pod: Document) -> Violation | None:
    setters = _setters(pod, lambda context: bool((context.get("windowsOptions") or {}).get("hostProcess")))
    text = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{' and '.join(setters)} {text}") if setters else None


def _escalation(pod: Document) -> Violation | None:
    names = [
        container["name"]
        for container in _containers(pod)
        if _context(container).get("allowPrivilegeEscalation") is not False
    ]
    if not names or _is_windows(pod):
        return None
    text = f"{_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", text)


def _restricted_volumes(pod: Document) -> Violation | None:
    bad = {
        volume["name"]: next((source for source in volume if source != "name"), "unknown")
        for volume in pod["spec"].get("volumes") or ()
        if not any(source in volume for source in _PLAIN_VOLUMES)
    }
    if not bad:
        return None
    uses, types = "uses" if len(bad) == 1 else "use", sorted({*bad.values()})
    what = f"{_plural('restricted volume type', len(types))} {_quoted(types)}"
    return Violation("restricted volume types", f"{_plural('volume', len(bad))} {_quoted(bad)} {uses} {what}")


def _non_root(pod: Document) -> Violation | None:
    if pod["spec"].get("hostUsers") is False:
        return None
    reason = "runAsNonRoot != true"
    setters = _setters(pod, lambda context: context.get("runAsNonRoot") is False)
    if setters:
        return Violation(reason, f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false")
    if _context(pod["spec"]).get("runAsNonRoot"):
        return None
    names = [container["name"] for container in _containers(pod) if "runAsNonRoot" not in _context(container)]
    text = f"pod or {_named(names)} must set securityContext.runAsNonRoot=true"
    return Violation(reason, text) if names else None


def _user(pod: Document) -> Violation | None:
    setters = _setters(pod, lambda context: context.get("runAsUser") == 0)
    if not setters or pod["spec"].get("hostUsers") is False:
        return None
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0")


#: In the order in which they are reported.
BASELINE: Final[tuple[Rule, ...]] = (
    *(_app_armor, _capabilities_baseline, _host_namespaces, _host_paths, _host_ports, _probe_hosts, _privileged),
    *(_proc_mount, _selinux, _bad_seccomp, _sysctls, _windows_processes),
)
_STRICTER: Final = (_escalation, _capabilities_restricted, _restricted_volumes, _non_root, _user, _seccomp_restricted)
_REPLACED: Final = (_capabilities_baseline, _host_paths, _bad_seccomp)
RESTRICTED: Final[tuple[Rule, ...]] = (*(rule for rule in BASELINE if rule not in _REPLACED), *_STRICTER)
