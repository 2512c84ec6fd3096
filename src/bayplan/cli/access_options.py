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
        help="With --authentication-kubeconfig: do not look up client CAs in that cluster.",
    ),
    click.option(
        "--authentication-tolerate-lookup-failure",
        type=GO_BOOL,
        default=True,
        help="Continue if that lookup fails. Default: true.",
    ),
    _memory("--authentication-token-webhook-cache-ttl", "How long to cache TokenReview responses."),
    _memory("--authorization-webhook-cache-authorized-ttl", "How long to cache 'allowed' responses."),
    _memory("--authorization-webhook-cache-unauthorized-ttl", "How long to cache 'denied' responses."),
    click.option(
        "--requestheader-client-ca-file",
        metavar="FILE",
        help="CA of authenticating proxies, which pass user names in headers.",
    ),
    list_option("--requestheader-allowed-names", (), "Names of such proxies. Default: any."),
    list_option("--requestheader-username-headers", ("x-remote-user",), "Headers with the user name."),
    list_option("--requestheader-group-headers", ("x-remote-group",), "Headers with the groups."),
    list_option("--requestheader-uid-headers", (), "Headers with the user's UID."),
    list_option("--requestheader-extra-headers-prefix", ("x-remote-extra-",), "Prefixes of headers with extra data."),
)


def access_options(function: F) -> F:
    """Gives a command these options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
