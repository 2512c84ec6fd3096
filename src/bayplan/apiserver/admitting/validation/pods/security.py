"""Checks of security contexts, of pods and of containers. Upstream: pkg/apis/core/validation/validation.go (v1.36)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.apiserver.admitting.app_armor import PROFILE_PATH_MAX
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import id_faults
from bayplan.apiserver.admitting.validation.volume_sources import check_descending
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.model.dns_names import subdomain_faults

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_CHANGE_POLICIES = ("Always", "OnRootMismatch")
_GROUP_POLICIES = ("Merge", "Strict")
_LABEL_POLICIES = ("MountOption", "Recursive")
_PROC_MOUNTS = ("Default", "Unmasked")
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_NOT_ON_LINUX = "windows options cannot be set for a linux pod"
_SYSCTL = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_NAME = rf"({_SYSCTL}[\./])*{_SYSCTL}"
_SYSCTL_MAX = 253
_SHARED_SYSCTLS = frozenset(
    {
        *("kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced"),
        *("kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"),
    }
)
_DOMAIN_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_CREDENTIAL_KIB_MAX = 64
_DOMAIN_MAX, _USER_MAX = 256, 104
_POD_FIELDS_NOT_ON_WINDOWS = (
    *("appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC", "seccompProfile", "fsGroup"),
    *("fsGroupChangePolicy", "sysctls", "shareProcessNamespace", "runAsUser", "runAsGroup", "supplementalGroups"),
    *("supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
#: Of these, those that are the pod's own, not its security context's.
_OF_THE_POD = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_CONTAINER_FIELDS_NOT_ON_WINDOWS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def check_pod_security_context(context: Document, spec: Document, faults: Faults, path: Path) -> None:
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        if field in context:
            faults.all_invalid(f"{path}.{field}", context[field], id_faults(context[field]))
    for position, group in enumerate(context.get("supplementalGroups", ())):
        faults.all_invalid(f"{path}.supplementalGroups[{position}]", group, id_faults(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        faults.invalid(f"{path}.shareProcessNamespace", True, text)
    _check_sysctls(context.get("sysctls", ()), spec, faults, f"{path}.sysctls")
    faults.supported(f"{path}.fsGroupChangePolicy", context.get("fsGroupChangePolicy"), _CHANGE_POLICIES)
    _check_seccomp(context.get("seccompProfile"), faults, f"{path}.seccompProfile")
    _check_windows_options(context.get("windowsOptions"), faults, f"{path}.windowsOptions")
    _check_app_armor(context.get("appArmorProfile"), faults, f"{path}.appArmorProfile")
    faults.supported(f"{path}.supplementalGroupsPolicy", context.get("supplementalGroupsPolicy"), _GROUP_POLICIES)
    policies = _LABEL_POLICIES if gate_is_on("SELinuxMount") else ("Recursive",)
    faults.supported(f"{path}.seLinuxChangePolicy", context.get("seLinuxChangePolicy"), policies)


def _check_sysctls(sysctls: list[Document], spec: Document, faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for position, sysctl in enumerate(sysctls):
        at, name = f"{path}[{position}].name", sysctl["name"]
        if not name:
            faults.required(at)
        elif len(name) > _SYSCTL_MAX or not re.fullmatch(_SYSCTL_NAME, name):
            text = f"must have at most {_SYSCTL_MAX} characters and match regex ^{_SYSCTL_NAME}$"
            faults.invalid(at, name, text)
        elif name in seen:
            faults.duplicate(at, name)
        dotted = _dotted(name).partition("*")[0]
        if spec.get("hostNetwork") and dotted.startswith("net."):
            faults.invalid(at, name, "may not be specified when 'hostNetwork' is true")
        if spec.get("hostIPC") and (dotted in _SHARED_SYSCTLS or dotted.startswith("fs.mqueue.")):
            faults.invalid(at, name, "may not be specified when 'hostIPC' is true")
        seen.add(name)


def _dotted(sysctl: str) -> str:
    """With dots between its parts, whichever it is written with."""
    first = re.search("[./]", sysctl)
    return sysctl.translate(str.maketrans("./", "/.")) if first is not None and first[0] == "/" else sysctl


def _check_seccomp(profile: Document | None, faults: Faults, path: Path) -> None:
    if profile is None:
        return
    kind, local = profile["type"], profile.get("localhostProfile")
    if not kind:
        faults.required(f"{path}.type", "type is required when seccompProfile is set")
    else:
        faults.supported(f"{path}.type", kind, _PROFILES)
    if kind == "Localhost":
        if local is None:
            faults.required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            check_descending(local, faults, f"{path}.localhostProfile")
    elif local is not None:
        text = "can only be set when seccomp type is Localhost"
        faults.invalid(f"{path}.localhostProfile", internal(profile, "SeccompProfile"), text)


def _check_app_armor(profile: Document | None, faults: Faults, path: Path) -> None:
    if profile is None:
        return
    kind, local = profile["type"], profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        if not local:
            faults.required(at, "must be set when AppArmor type is Localhost")
        elif local.strip() != local:
            faults.invalid(at, local, "must not be padded with whitespace")
        if local is not None and len(local.encode()) > PROFILE_PATH_MAX:
            faults.too_long(at, PROFILE_PATH_MAX)
    elif kind in _PROFILES:
        if local is not None:
            faults.invalid(at, local, "can only be set when AppArmor type is Localhost")
    elif not kind:
        faults.required(f"{path}.type", "type is required when appArmorProfile is set")
    else:
        faults.unsupported(f"{path}.type", kind, _PROFILES)


def _check_windows_options(options: Document | None, faults: Faults, path: Path) -> None:
    if options is None:
        return
    name, spec = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        faults.all_invalid(f"{path}.gmsaCredentialSpecName", name, subdomain_faults(name))
    if spec is not None and not spec:
        faults.invalid(f"{path}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and len(spec) > _CREDENTIAL_KIB_MAX * 1024:
        text = f"gmsaCredentialSpec size must be under {_CREDENTIAL_KIB_MAX} KiB"
        faults.invalid(f"{path}.gmsaCredentialSpec", spec, text)
    user = options.get("runAsUserName")
    if user is not None:
        texts = [f"runAsUserName{text}" for text in _windows_user_faults(user)]
        faults.all_invalid(f"{path}.runAsUserName", user, texts)


def _windows_user_faults(name: str) -> Iterator[str]:
    if not name:
        yield " cannot be an empty string"
        return
    if re.search(r"[\x00-\x1f\x7f]", name):
        yield " cannot contain control characters"
        return
    if name.count("\\") > 1:
        yield " cannot contain more than one backslash"
        return
    domain, backslash, user = name.rpartition("\\")
    if len(domain) >= _DOMAIN_MAX:
        yield f"'s Domain length must be under {_DOMAIN_MAX} characters"
    net_bios = re.fullmatch(r'[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}', domain)
    dns = re.fullmatch(rf"{_DOMAIN_LABEL}(\.{_DOMAIN_LABEL})*", domain)
    if backslash and not net_bios and not dns:
        yield "'s Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "'s User cannot be empty"
    elif len(user) > _USER_MAX:
        yield f"'s User length must not be longer than {_USER_MAX} characters"
    if re.fullmatch(r"[\. ]+", user):
        yield "'s User cannot contain only periods or spaces"
    if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
        yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def has_host_users(spec: Document) -> bool:
    """Whether users are those of the node, as where a pod says nothing."""
    return spec.get("hostUsers") is not False


def check_user_namespace(spec: Document, faults: Faults, path: Path) -> None:
    """What does not go with users of the pod's own."""
    if has_host_users(spec):
        return
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            faults.forbidden(f"{path}.{shown}", "when `hostUsers` is false")
    for container, at in _all_containers(spec, path):
        if container.get("volumeDevices"):
            faults.forbidden(f"{at}.volumeDevices", "when `hostUsers` is false")


def check_host_processes(spec: Document, faults: Faults, path: Path) -> None:
    """Of Windows: either all containers are processes of the node, or none is."""
    of_pod, containers, found = _is_host_process(spec), 0, 0
    for container, at in _all_containers(spec, path):
        own = _is_host_process(container)
        if own is not None and of_pod is not None and own != of_pod:
            was = str(of_pod).lower()
            text = f"pod hostProcess value must be identical if both are specified, was {was}"
            faults.invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, text)
        containers, found = containers + 1, found + bool(of_pod if own is None else own)
    if not found:
        return
    if found != containers:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        faults.invalid(path, "", text)
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        faults.invalid(f"{path}.hostNetwork", False, text)


def _is_host_process(part: Document) -> bool | None:
    options = (part.get("securityContext") or {}).get("windowsOptions") or {}
    return options.get("hostProcess")


def _all_containers(spec: Document, path: Path) -> Iterator[tuple[Document, Path]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{position}]"


def check_container_security_context(context: Document, faults: Faults, path: Path, *, host_users: bool) -> None:
    for field in ("runAsUser", "runAsGroup"):
        if field in context:
            faults.all_invalid(f"{path}.{field}", context[field], id_faults(context[field]))
    faults.supported(f"{path}.procMount", context.get("procMount"), _PROC_MOUNTS)
    if host_users and context.get("procMount") == "Unmasked":
        faults.invalid(f"{path}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    _check_seccomp(context.get("seccompProfile"), faults, f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            faults.invalid(path, internal(context, "SecurityContext"), text)
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            faults.invalid(path, internal(context, "SecurityContext"), text)
    _check_windows_options(context.get("windowsOptions"), faults, f"{path}.windowsOptions")
    _check_app_armor(context.get("appArmorProfile"), faults, f"{path}.appArmorProfile")


def check_operating_system(spec: Document, faults: Faults, path: Path) -> None:
    """What a pod says of its system, and what does not go with it."""
    name = spec.get("os", {}).get("name")
    if "os" not in spec:
        return
    if not name:
        faults.required(f"{path}.os.name")
    elif name not in ("linux", "windows"):
        faults.unsupported(f"{path}.os", name, ("linux", "windows"))
    context = spec.get("securityContext") or {}
    if name == "windows":
        for field in _POD_FIELDS_NOT_ON_WINDOWS:
            if field in _OF_THE_POD and _is_given(spec.get(field), field):
                faults.forbidden(f"{path}.{field}", _NOT_ON_WINDOWS)
            elif context.get(field) is not None:
                faults.forbidden(f"{path}.securityContext.{field}", _NOT_ON_WINDOWS)
    elif name == "linux" and context.get("windowsOptions") is not None:
        faults.forbidden(f"{path}.securityContext.windowsOptions", _NOT_ON_LINUX)
    for container, at in _all_containers(spec, path):
        _check_container_system(container.get("securityContext", {}), name, faults, f"{at}.securityContext")


def _is_given(value: bool | None, field: str) -> bool:
    """Of two fields false is nothing; of the others it is something."""
    return bool(value) if field in ("hostPID", "hostIPC") else value is not None


def _check_container_system(context: Document, name: str | None, faults: Faults, path: Path) -> None:
    if name == "windows":
        for field in _CONTAINER_FIELDS_NOT_ON_WINDOWS:
            if context.get(field) is not None:
                faults.forbidden(f"{path}.{field}", _NOT_ON_WINDOWS)
    elif name == "linux" and context.get("windowsOptions") is not None:
        faults.forbidden(f"{path}.windowsOptions", _NOT_ON_LINUX)
