"""Checks of probes and lifecycle hooks."""

from __future__ import annotations

from typing import NamedTuple

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import header_faults, port_name_faults, port_number_faults
from bayplan.apiserver.schema.gates import gate_is_on

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_STOP_SIGNALS = {
    "linux": tuple(
        sorted(
            {
                *("SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL"),
                *("SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT"),
                *("SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU"),
                *("SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ", "SIGRTMIN"),
                *(f"SIGRTMIN+{number}" for number in range(1, 16)),
                *(f"SIGRTMAX-{number}" for number in range(1, 15)),
                "SIGRTMAX",
            }
        )
    ),
    "windows": ("SIGKILL", "SIGTERM"),
}
_SCHEMES = ("HTTP", "HTTPS")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def check_probes(container: Document, faults: Faults, path: Path) -> None:
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        if field in container:
            _check_probe(container[field], faults, f"{path}.{field}", is_readiness=field == "readinessProbe")


def _check_probe(probe: Document, faults: Faults, path: Path, *, is_readiness: bool) -> None:
    _check_handler(probe, faults, path)
    for field in _NUMBERS:
        faults.not_negative(f"{path}.{field}", probe.get(field))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        faults.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if is_readiness:
        if grace is not None:
            faults.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
    elif probe["successThreshold"] != 1:
        faults.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


class Ending(NamedTuple):
    """What a pod says of how its containers end."""

    grace_seconds: int | None
    operating_system: str | None
    names_system: bool


def check_lifecycle(lifecycle: Document, ending: Ending, faults: Faults, path: Path) -> None:
    for field in ("postStart", "preStop"):
        if field in lifecycle:
            _check_handler(lifecycle[field], faults, f"{path}.{field}", ending.grace_seconds)
    signal, at = lifecycle.get("stopSignal"), f"{path}.stopSignal"
    if not gate_is_on("ContainerStopSignals"):
        return
    if signal is not None and not ending.names_system:
        faults.forbidden(at, "may not be set for containers with empty `spec.os.name`")
    elif signal is not None and ending.operating_system in _STOP_SIGNALS:
        faults.supported(at, signal, _STOP_SIGNALS[ending.operating_system])


def _check_handler(handler: Document, faults: Faults, path: Path, grace_seconds: int | None = None) -> None:
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        faults.required(path, "must specify a handler type")
        return
    first, *others = given
    action, at = handler[first], f"{path}.{first}"
    if first == "exec" and not action.get("command"):
        faults.required(f"{at}.command")
    elif first == "httpGet":
        _check_http_get(action, faults, at)
    elif first in ("tcpSocket", "grpc"):
        check_port(action["port"], faults, f"{at}.port")
    elif first == "sleep" and grace_seconds is not None and not 0 <= action["seconds"] <= grace_seconds:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
        faults.invalid(at, action["seconds"], text)
    for name in others:
        faults.forbidden(f"{path}.{name}", "may not specify more than 1 handler type")


def _check_http_get(action: Document, faults: Faults, path: Path) -> None:
    if not action.get("path"):
        faults.required(f"{path}.path")
    check_port(action["port"], faults, f"{path}.port")
    if action.get("scheme") not in _SCHEMES:
        faults.unsupported(f"{path}.scheme", action.get("scheme", ""), _SCHEMES)
    for header in action.get("httpHeaders", ()):
        faults.all_invalid(f"{path}.httpHeaders", header["name"], header_faults(header["name"]))


def check_port(port: int | str, faults: Faults, path: Path) -> None:
    """Of a port that is given by its number or by its name."""
    found = port_number_faults(port) if isinstance(port, int) else port_name_faults(port)
    faults.all_invalid(path, port, found)
