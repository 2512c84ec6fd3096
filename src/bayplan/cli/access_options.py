"""Options of `bayplan run` about who may see what on the secure port, beyond whom to ask; kube-scheduler's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from bayplan.cli.go_flags import GO_BOOL, GO_DURATION, list_option

F = TypeVar("F", bound=Callable[..., Any])

_REMEMBERED = "10s"


def _memory(flag: str, help_text: str) -> Callable[[F], F]:
    return click.option(flag, type=GO_DURATION, default=_REMEMBERED, show_default=True, help=help_text)


_OPTIONS: tuple[Callable[[F], F], ...] = (
    click.option(
        "--authentication-skip-lookup",
        type=GO_BOOL,
        default=False,
        help="With --authentication-kubeconfig: do not look up there whose client certificates count.",
    ),
    click.option(
        "--authentication-tolerate-lookup-failure",
        type=GO_BOOL,
        default=True,
        help="Go on if that cannot be looked up. Default: true.",
    ),
    _memory("--authentication-token-webhook-cache-ttl", "How long it is remembered whose a token is."),
    _memory("--authorization-webhook-cache-authorized-ttl", "How long it is remembered who may."),
    _memory("--authorization-webhook-cache-unauthorized-ttl", "How long it is remembered who may not."),
    click.option(
        "--requestheader-client-ca-file",
        metavar="FILE",
        help="Whose certificates are those of proxies, which name users in headers.",
    ),
    list_option("--requestheader-allowed-names", (), "The names of such proxies. Default: any."),
    list_option("--requestheader-username-headers", ("x-remote-user",), "Headers with the user."),
    list_option("--requestheader-group-headers", ("x-remote-group",), "Headers with groups."),
    list_option("--requestheader-uid-headers", (), "Headers with the user's uid."),
    list_option("--requestheader-extra-headers-prefix", ("x-remote-extra-",), "How headers with more begin."),
)


def access_options(function: F) -> F:
    """Gives a command these options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
