"""`bayplan rbac`: what somebody must be allowed to do for bayplan to answer questions about a cluster."""

from __future__ import annotations

from typing import Any

import click
import yaml

from bayplan.apiserver.schema.messages import RBAC_GROUP
from bayplan.model.kinds import KINDS

_ACCOUNT = "ServiceAccount"


@click.command("rbac", epilog="Exit codes: 0 done; 2 bad usage.")
@click.option("--name", default="bayplan-reader", show_default=True, help="Name of the ClusterRole.")
@click.option("--user", "users", metavar="NAME", multiple=True, help="User to give it to. Can be repeated.")
@click.option("--group", "groups", metavar="NAME", multiple=True, help="Group to give it to. Can be repeated.")
@click.option(
    "--serviceaccount",
    "accounts",
    metavar="NAMESPACE:NAME",
    multiple=True,
    help="ServiceAccount to give it to. Can be repeated.",
)
@click.option("--watch", "watches", is_flag=True, help="Also allow watching, which bayplan record does.")
def command(
    name: str, users: tuple[str, ...], groups: tuple[str, ...], accounts: tuple[str, ...], watches: bool
) -> None:
    """Print a ClusterRole that only allows listing what scheduling depends on: bayplan rbac | kubectl apply -f -

    Secrets, config maps and logs are never read. Where some kinds are forbidden, bayplan reports which ones, and
    answers without them. With --user, --group or --serviceaccount, prints a ClusterRoleBinding as well.
    """
    subjects = [{"kind": "User", "apiGroup": RBAC_GROUP, "name": user} for user in users]
    subjects += [{"kind": "Group", "apiGroup": RBAC_GROUP, "name": group} for group in groups]
    subjects += map(_account, accounts)
    verbs = ["list", "watch"] if watches else ["list"]
    documents = [_role(name, verbs)] + ([_binding(name, subjects)] if subjects else [])
    click.echo(yaml.safe_dump_all(documents, sort_keys=False), nl=False)


def _role(name: str, verbs: list[str]) -> dict[str, Any]:
    groups: dict[str, list[str]] = {}
    for info in KINDS.values():
        groups.setdefault(info.group, []).append(info.plural)
    rules = [{"apiGroups": [group], "resources": sorted(names), "verbs": [*verbs]} for group, names in groups.items()]
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def _binding(name: str, subjects: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name},
        "subjects": subjects,
    }


def _account(text: str) -> dict[str, str]:
    namespace, colon, name = text.partition(":")
    if not (namespace and colon and name):
        raise click.BadParameter(f"{text!r}: expected NAMESPACE:NAME", param_hint="--serviceaccount")
    return {"kind": _ACCOUNT, "namespace": namespace, "name": name}
