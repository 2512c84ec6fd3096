"""Where a command's objects come from: files, a live cluster that is only read, or both.

Without files it is the cluster that kubectl would ask, and the namespace of its context. Objects from files go on top
of those of the cluster: one that is there already is replaced, as `kubectl apply` would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from shlex import quote
from typing import Any

import click

from bayplan.cli.options import note
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.reading import ReadResult, from_texts, read
from bayplan.model.well_known import DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True)
class Source:
    """What the options say."""

    files: tuple[str, ...] = ()
    kubeconfig: str | None = None
    context: str | None = None
    given_namespace: str | None = None
    all_namespaces: bool = False

    @property
    def is_live(self) -> bool:
        """Whether a cluster is asked."""
        return self.names_cluster or not self.files

    @property
    def names_cluster(self) -> bool:
        return self.kubeconfig is not None or self.context is not None

    @property
    def namespace(self) -> str:
        """Of pods named without one."""
        return self.given_namespace or self._context_namespace() or DEFAULT_NAMESPACE

    @property
    def listed_namespace(self) -> str:
        """Of pods that are listed without being named; "" for all namespaces, as for files, which have no context."""
        if self.all_namespaces:
            return ""
        return self.given_namespace or (self.namespace if self.is_live else "")

    def read(self) -> ReadResult:
        """The objects of the files, of the cluster, or of both."""
        if not self.is_live:
            return read(self.files)
        if not self.names_cluster:
            _check_cluster_is_named()
        live = read_live(self.kubeconfig, self.context)
        return _on_top(live, read(self.files)) if self.files else live

    def arguments(self) -> str:
        """The options that name the same source again, for a command to run next."""
        given = [("-f", file) for file in self.files]
        named = (("--kubeconfig", self.kubeconfig), ("--context", self.context))
        given += [(option, value) for option, value in named if value]
        return " ".join(f"{option} {quote(value)}" for option, value in given)

    def _context_namespace(self) -> str:
        if not self.is_live:
            return ""
        from bayplan.client.connecting import current_namespace  # noqa: PLC0415

        return current_namespace(self.kubeconfig, self.context)


def live_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--kubeconfig` and `--context`, for a command that can ask a cluster."""
    kubeconfig = click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig of a live cluster, which is only read. Objects in -f files replace or add to those in it.",
    )
    context = click.option(
        "--context",
        metavar="NAME",
        shell_complete=_complete_context,
        help="Context of the kubeconfig to use. Default: its current context.",
    )
    return kubeconfig(context(function))


def _complete_context(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    from bayplan.client.kubeconfig import read_kubeconfig  # noqa: PLC0415

    try:
        contexts = read_kubeconfig(ctx.params.get("kubeconfig")).contexts
    except InvalidObject:  # a shell has no use for errors here
        return []
    return sorted(name for name in contexts if name.startswith(incomplete))


def _check_cluster_is_named() -> None:
    # Files need no network, and start faster without it; so for all these imports.
    from bayplan.client.connecting import is_cluster_named  # noqa: PLC0415

    if not is_cluster_named():
        raise click.UsageError(
            "There is no cluster to read: name files with -f, or a kubeconfig (--kubeconfig, KUBECONFIG, "
            "~/.kube/config)."
        )


def read_live(kubeconfig: str | None, context: str | None) -> ReadResult:
    """The objects of a cluster; pods first, in the order in which they were created."""
    from bayplan.client.connecting import connect  # noqa: PLC0415
    from bayplan.client.event_loop import run_event_loop  # noqa: PLC0415
    from bayplan.client.snapshots import ListedPages, read_snapshot  # noqa: PLC0415

    async def ask() -> ListedPages:
        client = connect(kubeconfig, context)
        try:
            return await read_snapshot(client)
        finally:
            await client.close()

    snapshot = run_event_loop(ask())
    for text in snapshot.notes:
        note(text)
    result = from_texts(snapshot.pages)
    result.objects.sort(key=_age)
    result.is_whole = snapshot.is_whole
    result.kubernetes_version = snapshot.server_version
    return result


def _age(obj: Object) -> tuple[bool, str, str]:
    """Pods that exist go before those that workloads have yet to make; the older has waited longer."""
    if not isinstance(obj, Pod):
        return True, "", ""
    return False, obj.metadata.creation_timestamp or "", object_key(obj)


def _on_top(live: ReadResult, given: ReadResult) -> ReadResult:
    """Both, where those of the files replace what has their kind and name; in the place of what they replace."""
    new = {(type(obj), object_key(obj)): obj for obj in given.objects if obj.metadata.name}
    objects = [new.pop((type(obj), object_key(obj)), obj) for obj in live.objects]
    replaced = {id(obj) for obj in objects}
    objects += [obj for obj in given.objects if id(obj) not in replaced]
    skipped = live.skipped + given.skipped
    return ReadResult(objects, skipped, given.files, given.sources, live.is_whole, live.kubernetes_version)
