"""`bayplan dump`: a live cluster as a file, for questions later or by others."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from bayplan.analysis.anonymizing.objects import anonymized
from bayplan.cli.main import EXIT_YES
from bayplan.cli.options import note, output_file_option
from bayplan.cli.output_files import check_file
from bayplan.cli.sources import read_live
from bayplan.report.cluster_dump import dump_lines
from bayplan.report.words import counted


@click.command("dump", epilog="Exit codes: 0 done; 2 bad input or usage, or a cluster that cannot be read.")
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help="Kubeconfig of the cluster. Default: kubectl's (KUBECONFIG, ~/.kube/config, or the pod this runs in).",
)
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to use. Default: its current context.")
@output_file_option
@click.option(
    "--anonymize",
    is_flag=True,
    help="Rename everything but Kubernetes' own words; the file still leads to the same decisions.",
)
def command(kubeconfig: str | None, context: str | None, output_file: str | None, anonymize: bool) -> int:
    """Write the objects of a live cluster that affect scheduling to a file, for explain, place and simulate.

    Reads only, and never secrets or config maps. Fields that do not affect scheduling, such as the environment of
    containers, are not in the file.
    """
    check_file("--output-file", output_file)
    live = read_live(kubeconfig, context)
    objects = live.objects
    lines = dump_lines(anonymized(objects) if anonymize else objects, live.kubernetes_version)
    if output_file is None:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
    else:
        _write(Path(output_file), lines)
        note(f"{counted(len(objects), 'object')} written to {output_file}")
    return EXIT_YES


def _write(path: Path, lines: Iterable[bytes]) -> None:
    """The file gets its name when it is complete."""
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with gzip.open(unfinished, "wb") if path.suffix == ".gz" else unfinished.open("wb") as stream:
            stream.writelines(lines)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
