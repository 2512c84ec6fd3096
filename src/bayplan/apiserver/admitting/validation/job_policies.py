"""Checks of the policies of a Job: which failures count, and when it has succeeded.

Upstream: pkg/apis/batch/validation/validation.go (v1.36).
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.conditions import STATUSES
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.job_indexes import IndexFault, count_indexes
from bayplan.apiserver.admitting.validation.pods.containers import CODE_OPERATORS
from bayplan.controllers.workloads.job_policies import FAIL_INDEX
from bayplan.model.names import label_key_faults

_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_CONDITIONS_MAX: Final = 20
_INDEXES_LENGTH_MAX: Final = 64 * 1024
_ACTIONS: Final = ("Count", FAIL_INDEX, "FailJob", "Ignore")


def check_failure_policy(spec: Document, faults: Faults, path: Path) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _RULES_MAX:
        faults.too_many(f"{path}.rules", len(rules), _RULES_MAX)
    pod = spec["template"]["spec"]
    names = {one["name"] for field in ("containers", "initContainers") for one in pod.get(field) or ()}
    for position, rule in enumerate(rules):
        at = f"{path}.rules[{position}]"
        _check_action(rule["action"], spec, faults, f"{at}.action")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            _check_exit_codes(codes, names, faults, f"{at}.onExitCodes")
        if conditions:
            _check_conditions(conditions, faults, f"{at}.onPodConditions")
        if codes is not None and conditions:
            faults.invalid_whole(at, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            faults.invalid_whole(at, "specifying one of OnExitCodes and OnPodConditions is required")


def _listed(values: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(f'"{value}"' for value in values) + "]"


def _check_choice(value: str, choices: tuple[str, ...], faults: Faults, path: Path) -> None:
    if not value:
        faults.required(path, _listed(choices))
    elif value not in choices:
        faults.unsupported(path, value, choices)


def _check_action(action: str, spec: Document, faults: Faults, path: Path) -> None:
    if action == FAIL_INDEX and "backoffLimitPerIndex" not in spec:
        faults.invalid(path, action, "requires the backoffLimitPerIndex to be set")
    _check_choice(action, _ACTIONS, faults, path)


def _check_conditions(conditions: list[Document], faults: Faults, path: Path) -> None:
    if len(conditions) > _CONDITIONS_MAX:
        faults.too_many(path, len(conditions), _CONDITIONS_MAX)
    for position, pattern in enumerate(conditions):
        at = f"{path}[{position}]"
        faults.all_invalid(f"{at}.type", pattern["type"], label_key_faults(pattern["type"]))
        _check_choice(pattern["status"], STATUSES, faults, f"{at}.status")


def _check_exit_codes(codes: Document, names: set[str], faults: Faults, path: Path) -> None:
    operator, values = codes["operator"], codes.get("values") or []
    _check_choice(operator, CODE_OPERATORS, faults, f"{path}.operator")
    container = codes.get("containerName")
    if container is not None and container not in names:
        text = "must be one of the container or initContainer names in the pod template"
        faults.invalid(f"{path}.containerName", container, text)
    if not values:
        faults.invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > _EXIT_CODES_MAX:
        faults.too_many(f"{path}.values", len(values), _EXIT_CODES_MAX)
    seen = set()
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            faults.invalid(f"{path}.values[{position}]", value, "must not be 0 for the In operator")
        if value in seen:
            faults.duplicate(f"{path}.values[{position}]", value)
        seen.add(value)
    if values != sorted(values):
        faults.invalid(f"{path}.values", values, "must be ordered")


def check_success_policy(spec: Document, faults: Faults, path: Path) -> None:
    """Of an indexed Job."""
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        faults.required(f"{path}.rules", text)
    if len(rules) > _RULES_MAX:
        faults.too_many(f"{path}.rules", len(rules), _RULES_MAX)
    # A real server falls over a policy of a Job without completions, which is refused for that.
    for position, rule in enumerate(rules if "completions" in spec else ()):
        _check_success_rule(rule, spec["completions"], faults, f"{path}.rules[{position}]")


def _check_success_rule(rule: Document, completions: int, faults: Faults, path: Path) -> None:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        faults.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        if len(indexes) > _INDEXES_LENGTH_MAX:
            faults.too_long(f"{path}.succeededIndexes", _INDEXES_LENGTH_MAX)
        try:
            total = count_indexes(indexes, completions)
        except IndexFault as error:
            faults.invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    at = f"{path}.succeededCount"
    faults.not_negative(at, count)
    most = "must be less than or equal to"
    if count > completions:
        faults.invalid(at, count, f"{most} {completions} (the number of specified completions)")
    if indexes is not None and count > total:
        text = f"{most} {total} (the number of indexes in the specified succeededIndexes field)"
        faults.invalid(at, count, text)
