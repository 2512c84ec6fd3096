"""Options shared by several commands, and notes to standard error.

`-f`, `--apply` and `--pods` take several files at once, as a shell expands `*.yaml`: arguments after them are files as
long as they look like files, which no pod name does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import isnan
from typing import Any, TypeVar

import click

from bayplan.analysis.tie_breaks import tie_break
from bayplan.config.feature_gates import FeatureGateError, GateSettings, read_feature_gates
from bayplan.config.loading import ConfigSource, load_configuration
from bayplan.config.releases import (
    DEFAULT_RELEASE,
    NEAREST,
    NEWEST_RELEASE,
    RELEASES,
    KubernetesRelease,
    UnknownReleaseError,
    release_named,
)
from bayplan.core.preemption.safety import ForeignVictims
from bayplan.model.durations import parse_span
from bayplan.model.errors import Fault, InvalidObject
from bayplan.report.hidden_characters import visible
from bayplan.report.words import counted, listed

#: What click makes a command of.
Callback = TypeVar("Callback", bound=Callable[..., Any])

_FILE_OPTIONS = ("-f", "--file")
_TAKING_FILES = (*_FILE_OPTIONS, "--apply", "--pods")
_KINDS_NAMED = 6
#: Commands that decide on pod groups.
_KNOWING_GROUPS = frozenset(
    [
        *("audit", "capacity", "consolidate", "defrag", "drain", "explain", "exposure", "fix", "place", "plan", "run"),
        *("simulate", "up", "whatif"),
    ]
)
_COMPOSITE = "CompositePodGroup"
#: What switches them on.
GROUPS_ON = "--kubernetes-version 1.37 --feature-gates GenericWorkload=true"
_FILE_ENDINGS = (".yaml", ".yml", ".json", ".gz", "/")


class CommandWithFiles(click.Command):
    """A command whose `-f` (or `--apply`) may be followed by several files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, repeat_file_option(args))


def repeat_file_option(arguments: list[str]) -> list[str]:
    """`-f a.yaml b.yaml pod` as `-f a.yaml -f b.yaml pod`."""
    repeated: list[str] = []
    option = ""  # of the list of files we are in
    for position, argument in enumerate(arguments):
        is_value = position > 0 and arguments[position - 1] in _TAKING_FILES
        if option and not is_value:
            if argument.endswith(_FILE_ENDINGS) and not argument.startswith("-"):
                repeated.append(option)
            else:
                option = ""
        if argument in _TAKING_FILES:
            option = argument
        repeated.append(argument)
    return repeated


def _check_feature_gates(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str:
    text = ",".join(value)
    with_groups = ctx.info_name in _KNOWING_GROUPS
    asked = ctx.params.get("kubernetes_version")
    # Which gates there are depends on the version. The cluster may be yet to say it; `check_gates` follows.
    releases = [release_named(asked)] if asked not in (None, NEAREST) else [*RELEASES.values()]
    refused: list[FeatureGateError] = []
    for release in releases:
        try:
            read_feature_gates(text, release, with_groups=with_groups)
        except FeatureGateError as error:
            refused.append(error)
    if len(refused) == len(releases):
        raise click.BadParameter(str(refused[-1]), ctx, parameter) from refused[-1]
    return text


def check_gates(feature_gates: GateSettings, release: KubernetesRelease, *, with_groups: bool = False) -> None:
    """Raises InvalidObject for `--feature-gates` that the version, which is known by now, does not have.

    Commands that decide on pod groups, `with_groups`, have more.
    """
    try:
        read_feature_gates(feature_gates, release, with_groups=with_groups)
    except FeatureGateError as error:
        raise bad_option("--feature-gates", f"{error} (Kubernetes v{release.version})") from error


def _check_version(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    try:
        return value if value in (None, NEAREST) else release_named(value).version
    except UnknownReleaseError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error


def _check_own_version(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        return release_named(value).version
    except UnknownReleaseError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error


# Eager, as which feature gates there are depends on it.
kubernetes_version_option = click.option(
    "--kubernetes-version",
    metavar="VERSION",
    is_eager=True,
    callback=_check_version,
    help=f"Whose scheduler decides: {', '.join(RELEASES)}, or {NEAREST} to the cluster's. Default: the cluster's own "
    f"version, as its API server or dump says, else {NEWEST_RELEASE.version}.",
)


def own_kubernetes_version_option(what: str) -> Callable[[Callback], Callback]:
    """The option of a command that makes the cluster itself; `what` says what the version is of."""
    return click.option(
        "--kubernetes-version",
        metavar="VERSION",
        is_eager=True,
        default=DEFAULT_RELEASE.version,
        show_default=True,
        callback=_check_own_version,
        help=f"{what}: {' or '.join(RELEASES)}.",
    )


def foreign_victims_option(otherwise: ForeignVictims) -> Callable[[Callback], Callback]:
    """The option of a command for which that holds where nobody says anything."""
    return click.option(
        "--foreign-victims",
        type=click.Choice([each.value for each in ForeignVictims]),
        help=f"Whether pods of other schedulers may be preempted. Default: the configuration's, else {otherwise}.",
    )


def _check_number(ctx: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """`nan` is in no range, and no comparison says so."""
    if value is not None and isnan(value):
        raise click.BadParameter("nan is not a number of seconds", ctx, parameter)
    return value


def seconds_option(goal: str, default: float) -> Callable[[Callback], Callback]:
    """How long a solver may search; the answer says how far from the best it may be."""
    return click.option(
        "--seconds",
        type=click.FloatRange(0.1, 3600),
        callback=_check_number,
        help=f"How long to search for {goal}. Default: {default:g}.",
    )


files_option = click.option(
    *_FILE_OPTIONS,
    "files",
    metavar="FILES",
    multiple=True,
    help="YAML or JSON files or directories (.gz too); - is standard input. Can be repeated.",
)
config_option = click.option(
    "--config", metavar="FILE", help="KubeSchedulerConfiguration (v1) to use. Default: kube-scheduler's defaults."
)
namespace_option = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Namespace of pods named without one. Default: that of the kubeconfig's context; for files, default.",
)
all_namespaces_option = click.option("-A", "--all-namespaces", is_flag=True, help="List pods of all namespaces.")
selector_option = click.option(
    "-l", "--selector", metavar="LABELS", default="", help="List only pods with these labels, such as app=web,tier!=db."
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Output format.",
)
output_file_option = click.option(
    "--output-file", metavar="FILE", help="File to write (.gz: compressed). Default: standard output."
)
call_extenders_option = click.option(
    "--call-extenders",
    is_flag=True,
    help="Call the extenders in the configuration, over the network. They are never called to bind.",
)
script_option = click.option("--script", is_flag=True, help="Print a shell script with the kubectl commands instead.")


def fail_on_option(kinds: Sequence[str]) -> Callable[[Callback], Callback]:
    """`--fail-on`, for a command that can fail for these reasons."""
    return click.option(
        "--fail-on",
        metavar="GATE,...",
        multiple=True,
        help="Exit with code 1 if this happens: " + ", ".join(_GATES[kind] for kind in kinds) + ". Can be repeated.",
    )


_GATES = {
    "evicts": "pods are evicted (evicts; evicts=CLASS: of that PriorityClass)",
    "pdb": "a disruption budget is violated (pdb)",
    "pending": "pods are left without a node (pending)",
    "loop": "workloads keep evicting each other (loop)",
    "deadlock": "pod groups wait for each other (deadlock)",
}
report_option = click.option("--report", metavar="FILE", help="Write an HTML report.")
feature_gates_option = click.option(
    "--feature-gates",
    metavar="GATE=BOOL,...",
    multiple=True,
    callback=_check_feature_gates,
    help="kube-scheduler's feature gates, such as PodLevelResources=false.",
)


def check_span(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """A time greater than 0, in nanoseconds."""
    if value is None:
        return None
    try:
        found = int(parse_span(value))
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error
    if found <= 0:
        raise click.BadParameter("must be greater than 0", ctx, parameter)
    return found


def check_ties(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """A click callback for `--ties`."""
    try:
        tie_break(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error
    return value


def refuse_groups(feature_gates: str, release: KubernetesRelease) -> None:
    """For a question that knows no groups, of a command that has others that do."""
    try:
        read_feature_gates(feature_gates, release)
    except FeatureGateError as error:
        raise click.UsageError(f"{error}; ask about [NAMESPACE/]podgroup/NAME") from error


def knows_groups(config: ConfigSource, feature_gates: str, release: KubernetesRelease) -> bool:
    """Whether the scheduler that is asked about decides on pod groups."""
    return load_configuration(config, feature_gates, release=release, with_groups=True).gates.generic_workload


def require_groups(config: ConfigSource, feature_gates: str, release: KubernetesRelease, asked: str) -> None:
    """For a question about a group, or all of a Workload: raises UsageError where groups are off."""
    if not knows_groups(config, feature_gates, release):
        raise click.UsageError(f"pod groups are off by default; to ask about {asked}, add {GROUPS_ON}")


def note(text: str) -> None:
    """Something worth knowing that is not the answer, on standard error."""
    click.echo(f"note: {visible(text)}", err=True)


def note_skipped(skipped: Counter[str]) -> None:
    """Which kinds were ignored."""
    if skipped:
        if _COMPOSITE in skipped:
            note(f"{_COMPOSITE}s are not known here: pod groups that are part of one are taken to stand alone")
        kinds = listed([f"{number} {kind}" for kind, number in skipped.most_common()], _KINDS_NAMED)
        note(f"ignored {counted(skipped.total(), 'object')} of kinds that do not affect scheduling: {kinds}")


def note_extenders(
    config: ConfigSource,
    feature_gates: GateSettings,
    release: KubernetesRelease,
    *,
    how_to_ask: str = "use --call-extenders",
) -> None:
    """Who has no say, though the configuration names it."""
    if config is None:
        return
    extenders = load_configuration(config, feature_gates, release=release, with_groups=True).extenders
    if extenders:
        urls = listed([extender.url_prefix for extender in extenders], _KINDS_NAMED)
        note(f"the extenders in {config} are not called ({urls}); to call them, {how_to_ask}")


def bad_option(option: str, message: str) -> InvalidObject:
    """What is wrong with an option's value, reported like any other bad input."""
    return InvalidObject([Fault("", "", option, message)])
