"""Names that a shell can complete: pods and workloads, nodes.

They come from where the command would read the cluster: from the files on the line, or from the cluster, of which only
names are asked for, briefly. Whatever goes wrong, there is nothing to complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import click
import msgspec
from click.shell_completion import CompletionItem

from bayplan.cli.sources import Source
from bayplan.controllers.ownership import WORKLOADS
from bayplan.model.kinds import KINDS

_SECONDS = 3.0
_MOST = 1000


def complete_pod(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Pods of the namespace; with a slash, workloads as KIND/NAME or pods as NAMESPACE/NAME."""
    return _complete(ctx, incomplete, _pods_and_workloads)


def complete_node(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _complete(ctx, incomplete, lambda source, _: _names(source, "Node", ""))


def _complete(
    ctx: click.Context, incomplete: str, find: Callable[[Source, str], Iterable[str]]
) -> list[CompletionItem]:
    given = ctx.params
    source = Source(
        tuple(given.get("files") or ()), given.get("kubeconfig"), given.get("context"), given.get("namespace")
    )
    try:
        found = sorted(set(find(source, incomplete)))
    except Exception:
        return []
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def _pods_and_workloads(source: Source, incomplete: str) -> Iterable[str]:
    kind, slash, _ = incomplete.partition("/")
    if not slash:
        return [*_names(source, "Pod", source.namespace), *(f"{each}/" for each in _KINDS_BY_WORD)]
    if kind in _KINDS_BY_WORD:
        return [f"{kind}/{name}" for name in _names(source, _KINDS_BY_WORD[kind], source.namespace)]
    return [f"{kind}/{name}" for name in _names(source, "Pod", kind)]


#: deployment -> Deployment
_KINDS_BY_WORD = {each.__name__.lower(): each.__name__ for each in WORKLOADS}


def _names(source: Source, kind: str, namespace: str) -> list[str]:
    if source.is_live:
        return asyncio.run(_live_names(source, kind, namespace))
    return [
        obj.metadata.name
        for obj in source.read().objects
        if type(obj).__name__ == kind and namespace in ("", obj.metadata.namespace)
    ]


class _Named(msgspec.Struct):
    name: str = ""


class _Item(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


class _List(msgspec.Struct):
    items: list[_Item] = []


async def _live_names(source: Source, kind: str, namespace: str) -> list[str]:
    from bayplan.client.connecting import connect  # noqa: PLC0415 - files need no network
    from bayplan.client.paths import list_path  # noqa: PLC0415

    info = KINDS[kind]
    path = list_path(info)
    if namespace:
        plural = info.plural
        path = f"{path.removesuffix(plural)}namespaces/{namespace}/{plural}"
    client = connect(source.kubeconfig, source.context)
    try:
        async with asyncio.timeout(_SECONDS):
            response = await client.request("GET", f"{path}?limit={_MOST}", agent="completion")
        return [item.metadata.name for item in msgspec.json.decode(response.body, type=_List).items]
    finally:
        await client.close()
