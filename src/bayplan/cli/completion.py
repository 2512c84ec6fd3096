"""`bayplan completion`: the shell completes commands, options, pods, nodes and contexts.

kubectl asks a program `kubectl_complete-bayplan` for completions of its plugin: `complete_for_kubectl`.
"""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_BAYPLAN_COMPLETE"
#: For kubectl: complete with these alone, not with files too; see cobra's directives.
_NO_FILES, _FILES = ":4", ":0"


@click.command("completion", epilog="Exit codes: 0 done; 2 bad usage.")
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print a completion script for SHELL: bash, zsh or fish.

    \b
    bash: echo 'eval "$(bayplan completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(bayplan completion zsh)"' >> ~/.zshrc
    fish: bayplan completion fish > ~/.config/fish/completions/bayplan.fish
    """
    made = get_completion_class(shell)
    assert made is not None, "click has the three of them"
    click.echo(made(_root(), {}, "bayplan", _VARIABLE).source())


def complete_for_kubectl() -> None:
    """The entry point of `kubectl_complete-bayplan`: the words so far are its arguments."""
    *before, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(_root(), {}, "bayplan", _VARIABLE).get_completions(before, incomplete)
    for item in found:
        if item.type == "plain":
            click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(_FILES if any(item.type != "plain" for item in found) else _NO_FILES)


def _root() -> click.Group:
    from bayplan.cli.main import cli  # noqa: PLC0415 - main loads this module

    return cli
