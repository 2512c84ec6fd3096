"""What another version of Kubernetes changes, as SARIF: one result for each pod, setting and name that is concerned.

A pod points at the file it came from, a metric at the file of the rules; settings have names only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from bayplan.analysis.answers.upgrading.configuration import ConfigurationChange
from bayplan.analysis.answers.upgrading.metric_names import StaleName
from bayplan.analysis.answers.upgrading.upgrade import DifferenceKind, Upgrade, VersionDifference
from bayplan.report.answers.sarif import Lines, SarifResult, SarifRule, line_of, sarif_log

_REFUSED: Final = "refused-setting"
_DEFAULT: Final = "other-default"
_METRIC: Final = "metric-gone"
_LEVELS: Final[Mapping[DifferenceKind, str]] = MappingProxyType(
    {DifferenceKind.NODE: "error", DifferenceKind.VICTIMS: "warning", DifferenceKind.MESSAGE: "note"}
)
_TITLES: Final[Mapping[DifferenceKind, str]] = MappingProxyType(
    {
        DifferenceKind.NODE: "The other version puts the pod on another node, or on none, or only now on one.",
        DifferenceKind.VICTIMS: "The other version evicts other pods for this one.",
        DifferenceKind.MESSAGE: "The other version says something else about the pod.",
    }
)
_EXPLAIN: Final = "Ask bayplan explain with --kubernetes-version for both versions."
RULES: Final[Mapping[str, SarifRule]] = MappingProxyType(
    {f"other-{kind.value}": SarifRule(_TITLES[kind], _EXPLAIN, level) for kind, level in _LEVELS.items()}
    | {
        _REFUSED: SarifRule("The other version refuses the setting.", "Remove or replace it.", "error"),
        _DEFAULT: SarifRule("The setting has another default.", "Set it if the old one is wanted.", "note"),
        _METRIC: SarifRule("The other version has no such metric or label.", "Use what replaces it.", "warning"),
    }
)


def upgrade_sarif(answer: Upgrade, source_of: Callable[[str], str], lines: Lines) -> dict[str, Any]:
    """`source_of` says which file an object came from, if any."""
    return sarif_log(RULES, _results(answer, source_of, lines))


def _results(answer: Upgrade, source_of: Callable[[str], str], lines: Lines) -> Iterator[SarifResult]:
    for each in answer.differences:
        yield _of_pod(each, answer, source_of, lines)
    for change in answer.configuration:
        yield _of_setting(change, answer)
    for name in answer.metrics:
        yield _of_metric(name, answer)


def _of_pod(each: VersionDifference, answer: Upgrade, source_of: Callable[[str], str], lines: Lines) -> SarifResult:
    name = pod_name(each)
    source = source_of(name)
    gravest = each.kinds[0]
    why = "; ".join(f"{cause.plugin or cause.gate}: {cause.text}" for cause in each.causes)
    sides = ((answer.before, each.before), (answer.after, each.after))
    text = ". ".join(f"v{version}: {outcome.node or outcome.message or 'no node'}" for version, outcome in sides)
    return SarifResult(
        f"other-{gravest.value}",
        _LEVELS[gravest],
        name,
        f"{name}: {text.rstrip('.')}. Because of {why}.",
        source,
        line_of(name, source, lines),
    )


def pod_name(each: VersionDifference) -> str:
    """As in a fault."""
    return f"Pod {each.pod}"


def _of_setting(change: ConfigurationChange, answer: Upgrade) -> SarifResult:
    rule = _REFUSED if change.is_refused else _DEFAULT
    text = f"v{answer.after}, {change.setting}: {change.text}."
    return SarifResult(rule, RULES[rule].level, change.setting, text)


def _of_metric(name: StaleName, answer: Upgrade) -> SarifResult:
    text = f"v{answer.after} has no {name.name}: {name.advice}."
    return SarifResult(_METRIC, RULES[_METRIC].level, f"{name.where} {name.name}", text, name.file)
