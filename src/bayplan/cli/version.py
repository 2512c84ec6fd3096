"""`bayplan version`: what is installed here."""

from __future__ import annotations

import platform
import sys

import click
import numpy as np

from bayplan import __version__
from bayplan.cli.options import output_option
from bayplan.config.releases import RELEASES
from bayplan.core.columns import loops
from bayplan.report.json_output import tagged, write_document


@click.command("version", epilog="Exit codes: 0 done; 2 bad usage.")
@output_option
def command(output: str) -> None:
    """Show the version of bayplan, and which version of kube-scheduler it decides like."""
    versions = [f"v{version}" for version in RELEASES]
    found = {
        "bayplan": __version__,
        "kubernetes": versions[-1],
        "kubernetesVersions": versions,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "compiled": loops.compiled is not None,
    }
    if output != "table":
        write_document(tagged("version", found), output, sys.stdout)
    else:
        speed = "compiled loops" if found["compiled"] else "no compiled loops: slower, with the same decisions"
        click.echo(f"bayplan {__version__}, decides like kube-scheduler {' or '.join(versions)}")
        click.echo(f"Python {found['python']}, numpy {found['numpy']}, {speed}")
