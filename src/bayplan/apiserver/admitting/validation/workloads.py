"""Checks of Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

Upstream: pkg/apis/apps/validation/validation.go (v1.36).
"""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.admitting.defaults.apps import ROLLING_UPDATE
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.selecting_labels import matches
from bayplan.apiserver.admitting.validation.faults import Faults, shown_labels_of, shown_selector
from bayplan.apiserver.admitting.validation.metadata import (
    check_annotations,
    check_label_selector,
    check_labels,
    check_metadata,
    is_selector,
)
from bayplan.apiserver.admitting.validation.names import percent_faults
from bayplan.apiserver.admitting.validation.pods.spec import check_template
from bayplan.apiserver.admitting.validation.volumes import check_claim_spec
from bayplan.model.dns_names import label_faults

_STATEFUL_CHANGES = (
    *("replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit"),
    "persistentVolumeClaimRetentionPolicy",
)
_STATEFUL_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
UNMATCHED = "`selector` does not match template `labels`"


def check_deployment(deployment: Document, faults: Faults) -> None:
    spec = deployment["spec"]
    faults.not_negative("spec.replicas", spec.get("replicas"))
    if _check_selector(spec.get("selector"), "deployment", faults):
        _check_replica_template(spec, faults)
    strategy = spec["strategy"]
    if strategy["type"] == "Recreate":
        if "rollingUpdate" in strategy:
            text = "may not be specified when strategy `type` is 'Recreate'"
            faults.forbidden("spec.strategy.rollingUpdate", text)
    elif strategy["type"] == ROLLING_UPDATE:
        _check_rolling_deployment(strategy["rollingUpdate"], faults, "spec.strategy.rollingUpdate")
    else:
        faults.unsupported("spec.strategy", internal(strategy, "DeploymentStrategy"), ("Recreate", ROLLING_UPDATE))
    faults.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    faults.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    faults.not_negative("spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        faults.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def check_replica_set(replica_set: Document, faults: Faults) -> None:
    spec = replica_set["spec"]
    faults.not_negative("spec.replicas", spec.get("replicas"))
    faults.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    # The real server says deployment here too.
    if _check_selector(spec.get("selector"), "deployment", faults):
        _check_replica_template(spec, faults)


def check_selector_update(new: Document, old: Document, faults: Faults) -> None:
    """The selector of a workload never changes."""
    selector = new["spec"].get("selector")
    faults.immutable("spec.selector", selector, old["spec"].get("selector"), shown_selector(selector))


def _check_selector(
    selector: Document | None, kind: str, faults: Faults, malformed: str = "invalid label selector"
) -> bool:
    """Whether the template can be compared with it."""
    if selector is None:
        faults.required("spec.selector")
        return True
    check_label_selector(selector, faults, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        faults.invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
    if is_selector(selector):
        return True
    faults.invalid("spec.selector", shown_selector(selector), malformed)
    return False


def _check_replica_template(spec: Document, faults: Faults) -> None:
    _check_matching(spec.get("selector"), spec["template"], faults)
    check_template(spec["template"], faults, "spec.template")
    _check_lasting(spec["template"], "ReplicaSet", faults)


def _check_matching(selector: Document | None, template: Document, faults: Faults) -> None:
    labels = template.get("metadata", {}).get("labels", {})
    if selector is None or (selector and not matches(selector, labels)):
        faults.invalid("spec.template.metadata.labels", shown_labels_of(template), UNMATCHED)


def _check_lasting(template: Document, kind: str, faults: Faults) -> None:
    """Pods of these workloads run until they are stopped."""
    spec = template["spec"]
    if spec.get("restartPolicy") != "Always":
        faults.unsupported("spec.template.spec.restartPolicy", spec.get("restartPolicy"), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        faults.forbidden("spec.template.spec.activeDeadlineSeconds", text)


def _check_rolling_deployment(rolling: Document, faults: Faults, path: Path) -> None:
    check_int_or_percent(rolling["maxUnavailable"], faults, f"{path}.maxUnavailable")
    check_int_or_percent(rolling["maxSurge"], faults, f"{path}.maxSurge")
    if _is_zero(rolling["maxUnavailable"]) and _is_zero(rolling["maxSurge"]):
        text = "may not be 0 when `maxSurge` is 0"
        faults.invalid(f"{path}.maxUnavailable", rolling["maxUnavailable"], text)
    check_percent_at_most_100(rolling["maxUnavailable"], faults, f"{path}.maxUnavailable")


def check_int_or_percent(value: int | str, faults: Faults, path: Path) -> None:
    """Of a number that may be given as a share."""
    if isinstance(value, str):
        faults.all_invalid(path, value, percent_faults(value))
    else:
        faults.not_negative(path, value)


def check_percent_at_most_100(value: int | str, faults: Faults, path: Path) -> None:
    if isinstance(value, str) and not percent_faults(value) and int(value[:-1]) > 100:
        faults.invalid(path, value, "must not be greater than 100%")


def _is_zero(value: int | str) -> bool:
    if isinstance(value, str):
        number = value if percent_faults(value) else value[:-1]
        # What is no number counts as none.
        return not number.isdecimal() or int(number) == 0
    return value == 0


def check_daemon_set(daemon_set: Document, faults: Faults) -> None:
    spec = daemon_set["spec"]
    selector = spec.get("selector")
    check_label_selector(selector, faults, "spec.selector")
    labels = spec["template"].get("metadata", {}).get("labels", {})
    if selector is None or (is_selector(selector) and not matches(selector, labels)):
        faults.invalid("spec.template.metadata.labels", shown_labels_of(spec["template"]), UNMATCHED)
    if selector is not None and not selector:
        faults.invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    check_template(spec["template"], faults, "spec.template")
    _check_lasting(spec["template"], "DaemonSet", faults)
    faults.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    _check_daemon_strategy(spec["updateStrategy"], faults, "spec.updateStrategy")
    faults.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def check_daemon_set_update(new: Document, old: Document, faults: Faults) -> None:
    check_selector_update(new, old, faults)
    check_daemon_set(new, faults)


def _check_daemon_strategy(strategy: Document, faults: Faults, path: Path) -> None:
    if strategy["type"] == "OnDelete":
        return
    if strategy["type"] != ROLLING_UPDATE:
        faults.unsupported(path, internal(strategy, "DaemonSetUpdateStrategy"), (ROLLING_UPDATE, "OnDelete"))
        return
    rolling = strategy["rollingUpdate"]
    for field in ("maxUnavailable", "maxSurge"):
        check_int_or_percent(rolling[field], faults, f"{path}.rollingUpdate.{field}")
    for field in ("maxUnavailable", "maxSurge"):
        check_percent_at_most_100(rolling[field], faults, f"{path}.rollingUpdate.{field}")
    no_unavailable, no_surge = _is_zero(rolling["maxUnavailable"]), _is_zero(rolling["maxSurge"])
    if not no_unavailable and not no_surge:
        text = "may not be set when maxUnavailable is non-zero"
        faults.invalid(f"{path}.rollingUpdate.maxSurge", rolling["maxSurge"], text)
    elif no_unavailable and no_surge:
        faults.required(f"{path}.rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0")


def check_stateful_set(stateful_set: Document, faults: Faults, *, is_new: bool = True) -> None:
    spec = stateful_set["spec"]
    if spec["podManagementPolicy"] not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        faults.invalid("spec.podManagementPolicy", spec["podManagementPolicy"], text)
    strategy = spec["updateStrategy"]
    if strategy["type"] not in (ROLLING_UPDATE, "OnDelete"):
        shown = internal(strategy, "StatefulSetUpdateStrategy")
        faults.invalid("spec.updateStrategy", shown, f"must be '{ROLLING_UPDATE}' or 'OnDelete'")
    elif "rollingUpdate" in strategy:
        _check_rolling_stateful_set(strategy, faults, "spec.updateStrategy.rollingUpdate")
    for field in ("whenDeleted", "whenScaled"):
        policy = spec["persistentVolumeClaimRetentionPolicy"][field]
        if policy not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            faults.unsupported(at, policy, ("Retain", "Delete"))
    if is_new:
        for position, claim in enumerate(spec.get("volumeClaimTemplates", ())):
            check_claim_spec(claim["spec"], faults, f"spec.volumeClaimTemplates[{position}].spec")
    faults.not_negative("spec.replicas", spec.get("replicas"))
    faults.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    if "ordinals" in spec:
        faults.not_negative("spec.ordinals.start", spec["ordinals"]["start"])
    if is_new and spec.get("serviceName"):
        faults.all_invalid("spec.serviceName", spec["serviceName"], label_faults(spec["serviceName"]))
    if _check_selector(spec.get("selector"), "statefulset", faults, malformed=""):
        _check_matching(spec.get("selector"), spec["template"], faults)
        check_template(_with_claimed_volumes(spec), faults, "spec.template")
        metadata = spec["template"].get("metadata", {})
        check_labels(metadata.get("labels", {}), faults, "spec.template.labels")
        check_annotations(metadata.get("annotations", {}), faults, "spec.template.annotations")
    _check_lasting(spec["template"], "StatefulSet", faults)


def _check_rolling_stateful_set(strategy: Document, faults: Faults, path: Path) -> None:
    rolling = strategy["rollingUpdate"]
    if strategy["type"] == "OnDelete":
        shown = internal(rolling, "RollingUpdateStatefulSetStrategy")
        faults.invalid(path, shown, f"only allowed for updateStrategy '{ROLLING_UPDATE}'")
        return
    faults.not_negative(f"{path}.partition", rolling.get("partition"))
    if "maxUnavailable" in rolling:
        check_int_or_percent(rolling["maxUnavailable"], faults, f"{path}.maxUnavailable")
        if _is_zero(rolling["maxUnavailable"]):
            faults.invalid(f"{path}.maxUnavailable", rolling["maxUnavailable"], "cannot be 0")
        check_percent_at_most_100(rolling["maxUnavailable"], faults, f"{path}.maxUnavailable")


def _with_claimed_volumes(spec: Document) -> Document:
    """The template as its pods will be: with a volume for each claim."""
    claims = {
        claim["metadata"].get("name", ""): {"claimName": "template-validation"}
        for claim in spec.get("volumeClaimTemplates", ())
    }
    template: Document = spec["template"]
    if not claims:
        return template
    volumes = [{"name": name, "persistentVolumeClaim": source} for name, source in claims.items()]
    volumes += [volume for volume in template["spec"].get("volumes", ()) if volume["name"] not in claims]
    return {**template, "spec": {**template["spec"], "volumes": volumes}}


def _shown_fixed(field: str, value: Any) -> Any:
    if field != "volumeClaimTemplates" or value is None:
        return value
    return [internal(claim, "PersistentVolumeClaim") for claim in value]


def check_stateful_set_update(new: Document, old: Document, faults: Faults) -> None:
    check_stateful_set(new, faults, is_new=False)
    if admission_release().names_fixed_fields:
        check_selector_update(new, old, faults)
        for field in ("volumeClaimTemplates", "serviceName", "podManagementPolicy"):
            value, before = new["spec"].get(field), old["spec"].get(field)
            faults.immutable(f"spec.{field}", value, before, _shown_fixed(field, value))
        return
    kept, before = (
        {name: value for name, value in spec.items() if name not in _STATEFUL_CHANGES}
        for spec in (new["spec"], old["spec"])
    )
    if kept != before:
        faults.forbidden("spec", _STATEFUL_FORBIDDEN)


def check_replication_controller(controller: Document, faults: Faults) -> None:
    spec = controller["spec"]
    faults.declared.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    if not spec.get("selector"):
        faults.required("spec.selector")
    faults.declared.not_negative("spec.replicas", spec.get("replicas"))
    template = spec.get("template")
    if template is None:
        faults.required("spec.template")
        return
    labels = template.get("metadata", {}).get("labels", {})
    if not spec.get("selector", {}).items() <= labels.items():
        faults.invalid("spec.template.metadata.labels", shown_labels_of(template), UNMATCHED)
    check_template(template, faults, "spec.template")
    _check_lasting(template, "ReplicationController", faults)


def check_pod_template(pod_template: Document, faults: Faults) -> None:
    check_template(pod_template["template"], faults, "template")


def check_controller_revision(revision: Document, faults: Faults) -> None:
    faults.not_negative("revision", revision["revision"])
    data = revision.get("data")
    if data is None:
        faults.required("data", "data is mandatory")
    elif not isinstance(data, dict):
        faults.required("data", "data must be a valid JSON object")


def check_controller_revision_update(new: Document, old: Document, faults: Faults) -> None:
    """What holds for new ones but for the data, which never changes."""
    check_metadata(new["metadata"], faults)
    faults.not_negative("revision", new["revision"])
    faults.immutable("data", new.get("data"), old.get("data"))
