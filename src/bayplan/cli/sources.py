"""Where a command's objects come from: files, a live cluster that is only read, or both.

Objects from files go on top of those of the cluster: one that is there already is replaced, as `kubectl apply` would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any

import click

from bayplan.cli.options import note
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.reading import ReadResult, from_texts, read


def live_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--kubeconfig` and `--context`, for a command that can ask a cluster."""
    kubeconfig = click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Read a live cluster, without changing it. Objects in files are laid over it.",
    )
    context = click.option(
        "--context", metavar="NAME", help="Context of the kubeconfig to use. Default: its current context."
    )
    return kubeconfig(context(function))


def read_sources(files: Sequence[str], kubeconfig: str | None, context: str | None) -> ReadResult:
    """The objects of the files, of the cluster, or of both."""
    if kubeconfig is None and context is None:
        if not files:
            raise click.UsageError("Missing option '-f' / '--file' or '--kubeconfig': there is no cluster to read.")
        return read(files)
    live = read_live(kubeconfig, context)
    return _on_top(live, read(files)) if files else live


def source_arguments(files: Sequence[str], kubeconfig: str | None, context: str | None) -> str:
    """The options that name the same source again, for a command to run next."""
    given = [("-f", file) for file in files]
    given += [(option, value) for option, value in (("--kubeconfig", kubeconfig), ("--context", context)) if value]
    return " ".join(f"{option} {quote(value)}" for option, value in given)


def read_live(kubeconfig: str | None, context: str | None) -> ReadResult:
    """The objects of a cluster; pods first, in the order in which they were created."""
    # Files need no network, and start faster without it.
    from bayplan.client.connecting import connect  # noqa: PLC0415
    from bayplan.client.event_loop import run_event_loop  # noqa: PLC0415
    from bayplan.client.snapshots import Snapshot, read_snapshot  # noqa: PLC0415

    async def ask() -> Snapshot:
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
    return ReadResult(objects, live.skipped + given.skipped, given.files, given.sources, live.is_whole)
