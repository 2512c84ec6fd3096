"""Defaults of pods and of the templates of pods.

Takes parts that are in wire form, completes them in place. A pod alone gets requests from its limits, host ports
and `enableServiceLinks`; templates do not, as these come when their pods are made. Tolerations and priorities are
admission's, not defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import lru_cache

from bayplan.admission.defaults import GRACE_SECONDS
from bayplan.admission.resources import HUGEPAGES_PREFIX
from bayplan.apiserver.admitting.defaults.storage import default_claim_spec, default_source
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.pod_resources import container_totals
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.model.quantity import parse_quantity
from bayplan.model.well_known import DEFAULT_SCHEDULER_NAME

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))
_HOOKS = ("postStart", "preStop")
_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600
_GATED_PROJECTIONS = {"clusterTrustBundle": "ClusterTrustBundleProjection", "podCertificate": "PodCertificateRequest"}
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?::[0-9]+)?"
_HEX_ID = re.compile("[a-f0-9]{64}")
_IMAGE_PATH_MAX = 255
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
#: The name of an image, as container runtimes read it.
_IMAGE = re.compile(
    rf"(?P<name>(?:{_HOST}/)?{_PART}(?:/{_PART})*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?"
)


def default_pod(pod: Document) -> None:
    """All defaults of a pod."""
    spec = pod["spec"]
    default_pod_spec(spec)
    # Upstream does so as it reads a pod; templates keep what they are given.
    spec["terminationGracePeriodSeconds"] = _at_least_one_if_negative(spec["terminationGracePeriodSeconds"])
    for container in _all_containers(spec, ("initContainers", "containers")):
        _request_limits(container["resources"])
    if spec.get("resources") and not admission_release().completes_pod_totals_last:
        _default_pod_level(spec, only_beside_limits=True)
    spec.setdefault("enableServiceLinks", True)
    _settle_addresses(pod["status"])
    if spec.get("hostNetwork"):
        for container in _all_containers(spec, ("initContainers", "containers")):
            for port in container.get("ports", ()):
                port.setdefault("hostPort", port["containerPort"])


def _at_least_one_if_negative(seconds: int) -> int:
    return 1 if seconds < 0 else seconds


def _settle_addresses(status: Document) -> None:
    """The one address and the first of all are the same; where they differ, the one counts."""
    one, several = status.get("podIP"), status.get("podIPs")
    if one and (not several or several[0].get("ip") != one):
        status["podIPs"] = [{"ip": one}]
    elif several and not one:
        status["podIP"] = several[0]["ip"]


def default_template(template: Document) -> None:
    """All defaults of a template of pods."""
    default_pod_spec(template["spec"])


def default_pod_spec(spec: Document) -> None:
    """What pods and templates share."""
    setdefault = spec.setdefault
    setdefault("dnsPolicy", "ClusterFirst")
    setdefault("restartPolicy", "Always")
    setdefault("securityContext", {})
    setdefault("terminationGracePeriodSeconds", GRACE_SECONDS)
    setdefault("schedulerName", DEFAULT_SCHEDULER_NAME)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in _all_containers(spec, CONTAINER_LISTS):
        _default_container(container)
    for volume in spec.get("volumes", ()):
        _default_volume(volume)


def _all_containers(spec: Document, lists: Iterable[str]) -> Iterable[Document]:
    for name in lists:
        yield from spec.get(name) or ()


def _default_container(container: Document) -> None:
    setdefault = container.setdefault
    setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    setdefault("terminationMessagePath", "/dev/termination-log")
    setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for name in PROBES:
        if name in container:
            _default_probe(container[name])
    if "lifecycle" in container:
        if not gate_is_on("ContainerStopSignals"):
            container["lifecycle"].pop("stopSignal", None)
        for name in _HOOKS:
            _default_http_get(container["lifecycle"].get(name, {}))
    for variable in container.get("env", ()):
        if "valueFrom" in variable:
            _default_value_source(variable["valueFrom"])


def _default_value_source(source: Document) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


@lru_cache(maxsize=4096)
def _pull_policy(image: str) -> str:
    """Always for the tag latest, which is meant where an image names neither a tag nor a digest."""
    found = _IMAGE.fullmatch(image)
    if found is None or _HEX_ID.fullmatch(image) or len(_path_of(found["name"])) > _IMAGE_PATH_MAX:
        return "IfNotPresent"
    if (found["tag"] or "latest") != "latest":
        return "IfNotPresent"
    return "Always" if found["tag"] or not found["digest"] else "IfNotPresent"


def _path_of(name: str) -> str:
    """The name without the registry, and with `library` where only a registry's own images have no folder."""
    first, slash, rest = name.partition("/")
    if slash and (first == "localhost" or set(first) & {".", ":"} or first.lower() != first):
        return rest if "/" in rest or first not in ("docker.io", "index.docker.io") else f"library/{rest}"
    return name if slash else f"library/{name}"


def _default_probe(probe: Document) -> None:
    for name, value in _PROBE_DEFAULTS:
        probe.setdefault(name, value)
    _default_http_get(probe)
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _default_http_get(handler: Document) -> None:
    if "httpGet" in handler:
        handler["httpGet"].setdefault("path", "/")
        handler["httpGet"].setdefault("scheme", "HTTP")


def _default_volume(volume: Document) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
        return
    default_source(volume)
    for source, default in _VOLUME_SOURCES.items():
        if source in volume:
            default(volume[source])


def _default_files(source: Document) -> None:
    source.setdefault("defaultMode", _FILE_MODE)
    _default_items(source)


def _default_items(source: Document) -> None:
    for item in source.get("items", ()):
        _default_value_source(item)


def _default_projected(source: Document) -> None:
    source.setdefault("defaultMode", _FILE_MODE)
    for projection in source.get("sources") or ():
        for kind, gate in _GATED_PROJECTIONS.items():
            # The server drops what is off by default, and leaves an empty source.
            if not gate_is_on(gate):
                projection.pop(kind, None)
        if "serviceAccountToken" in projection:
            projection["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
        if "downwardAPI" in projection:
            _default_items(projection["downwardAPI"])


def _default_ephemeral(source: Document) -> None:
    if "volumeClaimTemplate" in source:
        default_claim_spec(source["volumeClaimTemplate"]["spec"])


def _default_image(source: Document) -> None:
    source.setdefault("pullPolicy", _pull_policy(source.get("reference", "")))


_VOLUME_SOURCES: dict[str, Callable[[Document], None]] = {
    "secret": _default_files,
    "configMap": _default_files,
    "downwardAPI": _default_files,
    "projected": _default_projected,
    "ephemeral": _default_ephemeral,
    "image": _default_image,
}


def _request_limits(resources: Document) -> None:
    """A limit without a request is a request too."""
    if "limits" in resources:
        requests = resources.setdefault("requests", {})
        for name, quantity in resources["limits"].items():
            requests.setdefault(name, quantity)


def complete_pod_totals(spec: Document) -> None:
    """What a pod that asks for something as a whole asks for besides, where that waits until admission is through."""
    # Upstream: pkg/api/pod/util.go DefaultPodLevelResources (v1.37).
    if spec.get("resources") and admission_release().completes_pod_totals_last:
        _default_pod_level(spec, only_beside_limits=False)
        _limit_pod_level(spec)


def keep_pod_totals(spec: Document, before: Document) -> None:
    """Of a resize: what it leaves out of what the pod as a whole asks for, and what follows from it."""
    if admission_release().completes_pod_totals_last:
        if "resources" not in spec and "resources" in before:
            spec["resources"] = deepcopy(before["resources"])
        complete_pod_totals(spec)


def _limit_pod_level(spec: Document) -> None:
    """A limit for each request, if all containers have one of that resource."""
    resources = spec["resources"]
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    totals = container_totals(spec, "limits")
    for name, request in requests.items():
        containers = [each.get("resources", {}).get("limits", {}) for each in _all_containers(spec, CONTAINER_LISTS)]
        if is_pod_level(name) and name not in limits and all(name in each for each in containers):
            limits[name] = request if parse_quantity(request) > parse_quantity(totals[name]) else totals[name]
    if limits:
        resources["limits"] = limits


def is_pod_level(name: str) -> bool:
    """Whether pods as a whole can ask for the resource."""
    return name in ("cpu", "memory") or name.startswith(HUGEPAGES_PREFIX)


def _default_pod_level(spec: Document, *, only_beside_limits: bool) -> None:
    # Upstream: pkg/apis/core/v1/defaults.go defaultHugePagePodLimits, defaultPodRequests (v1.36).
    resources = spec["resources"]
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    if not limits and not requests:
        return
    for name, total in container_totals(spec, "limits").items():
        if name.startswith(HUGEPAGES_PREFIX) and name not in requests:
            limits.setdefault(name, total)
    if limits:
        resources["limits"] = limits
    elif only_beside_limits:
        return
    for name, total in container_totals(spec, "requests").items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, total)
    for name, quantity in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, quantity)
    if requests:
        resources["requests"] = requests
