"""Pods and templates of pods that are valid and yet hardly meant so. Upstream: pkg/api/pod/warnings.go (v1.36)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from bayplan.apiserver.admitting.app_armor import APP_ARMOR, DEPRECATED, SECCOMP_CONTAINER, SECCOMP_POD, profile_of
from bayplan.apiserver.admitting.defaults.pods import CONTAINER_LISTS
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.warnings.addresses import warn_of_address
from bayplan.apiserver.admitting.warnings.nodes import DEPRECATED_LABELS, warn_of_node_term
from bayplan.apiserver.admitting.warnings.volumes import GONE_SOURCES, fractional, is_fractional, warn_of_claim_spec
from bayplan.model.dns_names import label_faults
from bayplan.model.pod import PREFERRED, REQUIRED

_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_OLD_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_BYTES: Final = ("memory", "ephemeral-storage")
_NO_POD: Final = "a null labelSelector results in matching no pod"

Warner: TypeAlias = Callable[[Document, Document | None], Iterator[str]]


def warn_of_pod(pod: Document, old: Document | None) -> Iterator[str]:
    """Only of new pods: their changes are hardly ever written by people."""
    if old is not None:
        return
    yield from warn_of_name(pod, "the Pod's hostname")
    yield from _warn_of_parts(pod, "")


def warn_of_name(document: Document, use: str) -> Iterator[str]:
    """Of a name that is no DNS label and yet used where one is expected."""
    faults = label_faults(document["metadata"].get("name", ""))
    if faults:
        yield (
            f"metadata.name: this is used in {use}, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(faults)}]"
        )


def warn_of_template(*path: str, named: bool = True) -> Warner:
    """What to warn of in a kind that has a template at the end of this path, and uses its own name in its pods'."""

    def warn(document: Document, old: Document | None) -> Iterator[str]:
        if old is None and named:
            yield from warn_of_name(document, "Pod names and hostnames")
        if old is not None and old["metadata"].get("generation") == document["metadata"].get("generation"):
            return
        template = document
        for step in path:
            template = template.get(step) or {}
        if template:
            yield from _warn_of_parts(template, ".".join(path) + ".")

    return warn


def _warn_of_parts(pod: Document, prefix: Path) -> Iterator[str]:
    spec, annotations = pod["spec"], (pod.get("metadata") or {}).get("annotations", {})
    path = f"{prefix}spec"
    yield from _warn_of_placement(spec, path)
    for key, text in _OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"{prefix}metadata.annotations[{key}]: {text}"
    for position, volume in enumerate(spec.get("volumes", ())):
        yield from _warn_of_volume(volume, f"{path}.volumes[{position}]")
    yield from _warn_of_overlaps(spec.get("volumes", ()))
    yield from _warn_of_repeats(spec.get("hostAliases", ()), "ip", f"{path}.hostAliases")
    secrets = spec.get("imagePullSecrets", ())
    yield from _warn_of_repeats(secrets, "name", f"{path}.imagePullSecrets")
    for position, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{position}].name: invalid empty name ""'
    yield from _warn_of_fractions(spec.get("overhead", {}), f"{path}.overhead")
    if SECCOMP_POD in annotations and "seccompProfile" not in spec.get("securityContext", {}):
        yield f"{prefix}metadata.annotations[{SECCOMP_POD}]: {_OLD_SECCOMP}"
    for container, at in _containers(spec, path):
        yield from _warn_of_annotated(container, spec, annotations, prefix)
        yield from _warn_of_container(container, at)
    yield from _warn_of_ports(spec, path)
    yield from _warn_of_rest(spec, path)


def _warn_of_placement(spec: Document, path: Path) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector", ())):
        if key in DEPRECATED_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}"
    affinity, at = spec.get("affinity", {}).get("nodeAffinity") or {}, f"{path}.affinity.nodeAffinity"
    for position, term in enumerate((affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from warn_of_node_term(term, f"{at}.{REQUIRED}.nodeSelectorTerms[{position}]")
    for position, term in enumerate(affinity.get(PREFERRED, ())):
        preference = f"{at}.{PREFERRED}[{position}].preference"
        yield from warn_of_node_term(term["preference"], preference, checks_values=True)
    for position, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        key, at = constraint["topologyKey"], f"{path}.topologySpreadConstraints[{position}]"
        if key in DEPRECATED_LABELS:
            yield f"{at}.topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{at}.labelSelector: {_NO_POD}"


def _warn_of_volume(volume: Document, path: Path) -> Iterator[str]:
    for field, (shown, text) in GONE_SOURCES.items():
        if field in volume:
            yield f"{path}.{shown}: {text}"
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template is not None:
        yield from warn_of_claim_spec(template["spec"], f"{path}.ephemeral.volumeClaimTemplate.spec")


class _File(NamedTuple):
    """A file in a volume, and from where it comes."""

    path: str
    source: str = ""

    def __str__(self) -> str:
        return f'"{self.path}" ({self.source})' if self.source else f'"{self.path}"'


_SOURCES_OF_FILES: Final[dict[str, Callable[[Document], str]]] = {
    "configMap": lambda source: f'ConfigMap "{source.get("name", "")}"',
    "secret": lambda source: f'Secret "{source.get("secretName", "")}"',
    "downwardAPI": lambda _source: "DownwardAPI",
}


def _warn_of_overlaps(volumes: Iterable[Document]) -> Iterator[str]:
    for volume in volumes:
        name = volume["name"]
        for field, described in _SOURCES_OF_FILES.items():
            if field in volume:
                files = [_File(item["path"]) for item in volume[field].get("items", ())]
                for overlap in _overlaps(files):
                    yield f'volume "{name}" ({described(volume[field])}): overlapping paths: {overlap}'
        if "projected" in volume:
            yield from _warn_of_projected(name, volume["projected"])


def _warn_of_projected(name: str, projected: Document) -> Iterator[str]:
    files: list[_File] = []
    for source in projected.get("sources") or ():
        if not source:
            yield f'volume "{name}" (Projected) has no sources provided'
        files += _projected_files(source)
    for overlap in _overlaps(files):
        yield f'volume "{name}" (Projected): overlapping paths: {overlap}'


def _projected_files(source: Document) -> list[_File]:
    for field, shown in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if source.get(field, {}).get("items"):
            described = f'{shown} "{source[field].get("name", "")}"'
            return [_File(item["path"], described) for item in source[field]["items"]]
    if source.get("downwardAPI", {}).get("items"):
        return [_File(item["path"], "DownwardAPI") for item in source["downwardAPI"]["items"]]
    if "serviceAccountToken" in source:
        return [_File(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    return []


def _overlaps(files: Iterable[_File]) -> Iterator[str]:
    seen: list[_File] = []
    for given in files:
        file = given._replace(path=given.path.rstrip("/"))
        if file.path:
            here = f"{file.path}/"
            for other in seen:
                there = f"{other.path}/"
                if other.path and (there.startswith(here) or here.startswith(there)):
                    yield f"{file} with {other}"
        seen.append(file)


def _warn_of_repeats(items: Iterable[Document], field: str, path: Path) -> Iterator[str]:
    seen: set[str] = set()
    for position, item in enumerate(items):
        value = item.get(field, "")
        if value in seen:
            yield f'{path}[{position}].{field}: duplicate {field} "{value}"'
        seen.add(value)


def _warn_of_fractions(amounts: Document, path: Path) -> Iterator[str]:
    for name in _BYTES:
        if name in amounts and is_fractional(amounts[name]):
            yield fractional(f"{path}[{name}]", amounts[name])


def _containers(spec: Document, path: Path) -> Iterator[tuple[Document, Path]]:
    for field in CONTAINER_LISTS:
        for position, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{position}]"


def _warn_of_annotated(container: Document, spec: Document, annotations: Document, prefix: Path) -> Iterator[str]:
    context, name = container.get("securityContext", {}), container["name"]
    key = f"{SECCOMP_CONTAINER}{name}"
    if key in annotations and "seccompProfile" not in context:
        yield f"{prefix}metadata.annotations[{key}]: {_OLD_SECCOMP}"
    key = f"{APP_ARMOR}{name}"
    if prefix and key in annotations and "appArmorProfile" not in context:
        profile = spec.get("securityContext", {}).get("appArmorProfile")
        if profile is None or profile != profile_of(annotations[key]):
            yield f"{prefix}metadata.annotations[{key}]: {DEPRECATED}"


def _warn_of_container(container: Document, path: Path) -> Iterator[str]:
    resources = container.get("resources", {})
    for name in _BYTES:
        for which in ("limits", "requests"):
            amounts = {key: raw for key, raw in resources.get(which, {}).items() if key == name}
            yield from _warn_of_fractions(amounts, f"{path}.resources.{which}")
    seen: set[str] = set()
    for position, variable in enumerate(container.get("env", ())):
        name, value = variable["name"], variable.get("value", "")
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            yield (
                f'{path}.env[{position}]: hides previous definition of "{name}", which may be dropped when using apply'
            )
        seen.add(name)


def _warn_of_ports(spec: Document, path: Path) -> Iterator[str]:
    seen: dict[tuple[int, str], list[tuple[Path, str, int]]] = {}
    names: dict[str, Path] = {}
    repeated = []
    for container, container_path in _containers(spec, path):
        for position, port in enumerate(container.get("ports", ())):
            at, address, host_port = (
                f"{container_path}.ports[{position}]",
                port.get("hostIP", ""),
                port.get("hostPort", 0),
            )
            if address and not host_port:
                yield f"{at}: hostIP set without hostPort: {_shown_port(port)}"
            others = seen.setdefault((port["containerPort"], port["protocol"]), [])
            for other, other_address, other_port in others:
                relation = _relation(address, host_port, other_address, other_port)
                if relation:
                    yield f"{at}: {relation} port definition with {other}"
            others.append((at, address, host_port))
            name = port.get("name")
            if name in names:
                text = f'{at}: duplicate port name "{name}" with {names[name]}, services and probes that select ports'
                repeated.append(f"{text} by name will use {names[name]}")
            elif name:
                names[name] = at
    yield from repeated


def _shown_port(port: Document) -> str:
    return (
        f"{{Name:{port.get('name', '')} HostPort:{port.get('hostPort', 0)} ContainerPort:{port['containerPort']} "
        f"Protocol:{port['protocol']} HostIP:{port.get('hostIP', '')}}}"
    )


def _relation(address: str, port: int, other_address: str, other_port: int) -> str:
    if (address, port) == (other_address, other_port):
        return "duplicate"
    if not port or not other_port:
        return "overlapping"
    if port == other_port and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _warn_of_rest(spec: Document, path: Path) -> Iterator[str]:
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {text}"
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity, at = spec.get("affinity", {}).get(kind, {}), f"{path}.affinity.{kind}"
        for position, term in enumerate(affinity.get(REQUIRED, ())):
            if term.get("labelSelector") is None:
                yield f"{at}.{REQUIRED}[{position}].labelSelector: {_NO_POD}"
        for position, term in enumerate(affinity.get(PREFERRED, ())):
            if term["podAffinityTerm"].get("labelSelector") is None:
                yield f"{at}.{PREFERRED}[{position}].podAffinityTerm.labelSelector: {_NO_POD}"
    for position, address in enumerate(spec.get("dnsConfig", {}).get("nameservers", ())):
        yield from warn_of_address(address, f"{path}.dnsConfig.nameservers[{position}]")
    for position, alias in enumerate(spec.get("hostAliases", ())):
        yield from warn_of_address(alias.get("ip", ""), f"{path}.hostAliases[{position}].ip")
