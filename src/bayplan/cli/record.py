"""`bayplan record`: watch a cluster, and write what happens to a file that `bayplan simulate` plays again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from bayplan.analysis.recordings.disguise import write_anonymized
from bayplan.analysis.recordings.recorder import Recorder
from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.cli.main import EXIT_YES
from bayplan.cli.options import bad_option, check_span, note
from bayplan.cli.output_files import check_file, check_folder_of
from bayplan.client.connecting import connect
from bayplan.client.event_loop import run_event_loop
from bayplan.client.server_version import found_version
from bayplan.client.watched_kinds import every_kind
from bayplan.config.releases import NEAREST, choose_release
from bayplan.model.time_units import SECOND
from bayplan.report.words import counted
from bayplan.worlds.live import SystemClock
from bayplan.worlds.live_journal import BYTES_PER_MB

_OUTPUT = "--output-file"
#: What is recorded to be anonymized is in such a file until it is.
_PLAIN_SUFFIX = ".plain"


@click.command(
    "record", epilog="Exit codes: 0 ended by a signal or by --for; 2 bad input or usage, or a disk that is full."
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help="Kubeconfig of the cluster. Default: kubectl's (KUBECONFIG, ~/.kube/config, or the pod this runs in).",
)
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to use. Default: its current context.")
@click.option(
    "-o",
    _OUTPUT,
    "path",
    metavar="FILE|DIR",
    required=True,
    help="Recording to write. One that exists is continued. A directory (DIR/) gets files that take turns.",
)
@click.option(
    "--for", "for_ns", metavar="TIME", callback=check_span, help="Stop after this time, such as 90s, 24h or 7d."
)
@click.option(
    "--rotate-size",
    metavar="MB",
    type=click.FloatRange(0, min_open=True),
    help="Begin the next file of the directory when one is this large.",
)
@click.option("--rotate-after", metavar="TIME", callback=check_span, help="Begin the next file after this time.")
@click.option("--keep", metavar="N", type=click.IntRange(1), help="Delete the oldest files beyond N.")
@click.option(
    "--anonymize",
    is_flag=True,
    help="When recording ends, rename everything but Kubernetes' own words, as bayplan dump does.",
)
@click.option(
    "--from", "source", metavar="FILE|DIR", help="With --anonymize: a recording to take instead of a cluster."
)
def command(
    kubeconfig: str | None,
    context: str | None,
    path: str,
    for_ns: int | None,
    rotate_size: float | None,
    rotate_after: int | None,
    keep: int | None,
    anonymize: bool,
    source: str | None,
) -> int:
    """Record what happens in a live cluster, for bayplan simulate --recording: pods, nodes, workloads, decisions.

    Lists and watches, and writes nothing to the cluster; bayplan rbac --watch prints the permissions it needs. Never
    reads secrets or config maps. Ends with Ctrl-C. What was recorded is safe after a few seconds: a file that is cut
    off can be read up to there, and continued.
    """
    is_folder = path.endswith("/") or Path(path).is_dir()
    _check_options(path, is_folder, rotates=bool(rotate_size or rotate_after or keep), anonymize=anonymize)
    if source is not None:
        if not anonymize:
            raise bad_option("--from", "needs --anonymize: it takes a recording to write it under other names")
        _anonymize(source, path)
        return EXIT_YES
    open_writer = partial(
        RecordingWriter,
        f"{path}{_PLAIN_SUFFIX}" if anonymize else path,
        file_bytes=int((rotate_size or 0) * BYTES_PER_MB),
        file_ns=rotate_after or 0,
        files_max=keep or 0,
    )
    run_event_loop(_record(kubeconfig, context, for_ns, open_writer))
    if anonymize:
        _anonymize(f"{path}{_PLAIN_SUFFIX}", path)
        os.unlink(f"{path}{_PLAIN_SUFFIX}")
    return EXIT_YES


def _check_options(path: str, is_folder: bool, *, rotates: bool, anonymize: bool) -> None:
    if rotates and not is_folder:
        raise bad_option("--rotate-size, --rotate-after and --keep", f"need a directory: -o {path}/")
    if anonymize and is_folder:
        raise bad_option("--anonymize", "writes one file: record to the directory, then anonymize it with --from")
    if is_folder:
        check_folder_of(_OUTPUT, path.rstrip("/"))
    else:
        check_file(_OUTPUT, path)


def _anonymize(source: str, path: str) -> None:
    events = write_anonymized(source, path)
    note(f"{counted(events, 'event')} written to {path} under other names")


async def _record(
    kubeconfig: str | None, context: str | None, for_ns: int | None, open_writer: Callable[..., RecordingWriter]
) -> None:
    loop = asyncio.get_running_loop()
    stopping: asyncio.Future[None] = loop.create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, stopping)
    client = connect(kubeconfig, context)
    try:
        version = await found_version(client, stopping, note)
        writer = open_writer(head={"kubernetesVersion": version})

        def begun(objects: int) -> None:
            note(f"{counted(objects, 'object')} at first; recording until Ctrl-C")
            if for_ns:
                loop.call_later(for_ns / SECOND, _stop, stopping)

        # Pods that have ended are of interest, too: how long they ran.
        kinds = every_kind(choose_release(NEAREST, version).release)
        recorder = Recorder(client, kinds, writer, clock=SystemClock(), on_trouble=note, on_begun=begun)
        await recorder.run(stopping)
        note(f"{counted(writer.events, 'event')} recorded in {writer.bytes_written / BYTES_PER_MB:,.1f} MB")
    finally:
        await client.close()


def _stop(stopping: asyncio.Future[None]) -> None:
    if not stopping.done():
        stopping.set_result(None)
