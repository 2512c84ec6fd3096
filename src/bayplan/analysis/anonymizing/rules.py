"""Which field of an object holds what kind of text, and what becomes of it.

A table by the name of the field, as the same name means the same nearly everywhere; exceptions by type. Anonymizing
fails on a field that is not in the table, so that none can be forgotten.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from bayplan.admission.defaults import DEFAULT_CLASS_ANNOTATIONS
from bayplan.analysis.answers.moving.stock import LEAVE_ALONE
from bayplan.controllers.budgets.evicting import MIRROR_ANNOTATION
from bayplan.controllers.device_driver import READY_SECONDS
from bayplan.controllers.nodes.kubelet import FAILS, RUN_SECONDS, STOP_SECONDS
from bayplan.controllers.volumes.provisioning import PROVISIONED_BY
from bayplan.controllers.workloads.cron_job import SCHEDULED_FOR
from bayplan.controllers.workloads.deletion_order import DELETION_COST
from bayplan.controllers.workloads.deployment import DESIRED_REPLICAS, MAX_REPLICAS, REVISION
from bayplan.controllers.workloads.job_pods import JOB_INDEX_LABEL
from bayplan.core.plugins.csi_migration import MIGRATED_PLUGINS_ANNOTATION
from bayplan.core.plugins.volume_claims import BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE
from bayplan.model.node import Taint
from bayplan.model.pod import Toleration
from bayplan.model.resource_claims import (
    EXTENDED_RESOURCE_ANNOTATION,
    POD_CLAIM_NAME_ANNOTATION,
    CapacityRequirements,
    Device,
    DeviceConstraint,
    DeviceTaint,
    DeviceToleration,
)
from bayplan.model.storage import CSINodeDriver, CSIStorageCapacity
from bayplan.model.volumes import AzureDiskVolumeSource, RBDVolumeSource
from bayplan.model.well_known import BETA_STORAGE_CLASS


class Rule(Enum):
    """What becomes of a text, or of a map. Whatever is not what its rule expects is renamed."""

    WORD = auto()  # kept if it is one of Kubernetes' own
    AMOUNT = auto()  # kept if it is a quantity, a share or a list of indexes
    SCHEDULE = auto()  # kept if it is one
    DROP = auto()
    NAME = auto()
    SCHEDULER = auto()  # kept if it is the default one
    UID = auto()
    VERSION = auto()  # of an object: numbered
    TIME = auto()  # moved, all by the same span
    KEY = auto()  # of a label, taint or finalizer: kept if it is well known
    VALUE = auto()  # of a label or taint, next to its key
    CONDITION = auto()  # a word, or a key
    KIND = auto()  # kept if it is one that is known here
    GROUP = auto()  # with or without its version: kept if it is Kubernetes' own
    DRIVER = auto()  # of storage or devices: kept if it is treated in a way of its own
    DRIVERS = auto()  # with commas
    RESOURCE = auto()  # the name of one: kept if it is well known
    QUALIFIED = auto()  # the name of something of a device, with its driver's or without
    EXPRESSION = auto()  # CEL: its answers take its place
    IMAGE = auto()
    DISK = auto()  # at a provider of storage
    HOST_IP = auto()
    LABELS = auto()  # a map
    ANNOTATIONS = auto()  # a map
    RESOURCES = auto()  # a map from names of resources to amounts
    QUANTITIES = auto()  # a map from qualified names to amounts
    ATTRIBUTES = auto()  # a map: kept are those that constraints compare
    TIMES = auto()  # a map from names to times


def _rules(rule: Rule, fields: str) -> dict[str, Rule]:
    return dict.fromkeys(fields.split(), rule)


FIELDS: Final = {
    **_rules(
        Rule.NAME,
        "name generate_name namespace node_name nominated_node_name priority_class_name namespaces claim_name"
        " storage_class_name volume_name volume_attributes_class_name current_volume_attributes_class_name"
        " resource_claim_name resource_claim_template_name current_revision update_revision persistent_volume_name"
        " request pool device_class_name device counter_set fingerprint hostname pod_group_name container_name"
        " request_name parent_composite_pod_group_name",
    ),
    **_rules(Rule.SCHEDULER, "scheduler_name"),
    **_rules(Rule.UID, "uid share_id"),
    **_rules(Rule.VERSION, "resource_version"),
    **_rules(
        Rule.TIME,
        "creation_timestamp deletion_timestamp start_time last_transition_time completion_time last_schedule_time"
        " last_successful_time allocation_timestamp time_added",
    ),
    **_rules(Rule.TIMES, "disrupted_pods"),
    **_rules(Rule.KIND, "kind"),
    **_rules(Rule.LABELS, "labels node_selector match_labels selector"),
    **_rules(Rule.ANNOTATIONS, "annotations"),
    **_rules(Rule.KEY, "key finalizers topology_key match_label_keys mismatch_label_keys topology_keys managed_by"),
    **_rules(Rule.VALUE, "values"),
    **_rules(Rule.CONDITION, "type binding_conditions binding_failure_conditions"),
    **_rules(Rule.GROUP, "api_version api_group"),
    **_rules(Rule.DRIVER, "driver provisioner attacher"),
    **_rules(Rule.IMAGE, "image names reference"),
    **_rules(Rule.DISK, "pd_name volume_id monitors iqn disk_uri volume_handle"),
    **_rules(Rule.HOST_IP, "host_ip"),
    **_rules(Rule.DROP, "message time_zone config"),
    **_rules(Rule.RESOURCES, "overhead requests limits allocatable capacity allocated_resources"),
    **_rules(Rule.RESOURCE, "extended_resource_name resource_name"),
    **_rules(Rule.QUANTITIES, "consumed_capacity counters"),
    **_rules(Rule.ATTRIBUTES, "attributes"),
    **_rules(Rule.QUALIFIED, "match_attribute distinct_attribute"),
    **_rules(Rule.EXPRESSION, "expression"),
    **_rules(Rule.SCHEDULE, "schedule"),
    **_rules(
        Rule.AMOUNT,
        "completed_indexes failed_indexes succeeded_indexes max_surge max_unavailable min_available maximum_volume_size"
        " value default valid_values min max step",
    ),
    **_rules(
        Rule.WORD,
        "preemption_policy restart_policy protocol action when_unsatisfiable node_affinity_policy node_taints_policy"
        " access_modes volume_mode phase status reason declared_features reclaim_policy pod_replacement_policy"
        " persistent_volume_reclaim_policy pod_management_policy completion_mode concurrency_policy"
        " volume_binding_mode allocation_mode resource unhealthy_pod_eviction_policy operator effect medium",
    ),
}
"""Field -> rule, for text, lists of text, and maps."""

EXCEPTIONS: Final[dict[tuple[type, str], Rule]] = {
    (AzureDiskVolumeSource, "kind"): Rule.WORD,
    (CSIStorageCapacity, "capacity"): Rule.AMOUNT,
    (CSINodeDriver, "name"): Rule.DRIVER,
    (CapacityRequirements, "requests"): Rule.QUANTITIES,
    (Device, "capacity"): Rule.QUANTITIES,
    (DeviceConstraint, "requests"): Rule.NAME,
    (RBDVolumeSource, "image"): Rule.DISK,
    **{(part, "value"): Rule.VALUE for part in (Taint, Toleration, DeviceTaint, DeviceToleration)},
}


def rule_of(part: type, field: str) -> Rule:
    """Raises KeyError for a field that nobody has thought about."""
    return EXCEPTIONS.get((part, field)) or FIELDS[field]


#: Annotations that something here reads, with what their values are; all others are dropped.
ANNOTATIONS: Final = {
    **dict.fromkeys((SELECTED_NODE, BETA_STORAGE_CLASS, POD_CLAIM_NAME_ANNOTATION, MIRROR_ANNOTATION), Rule.NAME),
    **dict.fromkeys((BIND_COMPLETED, BOUND_BY_CONTROLLER, EXTENDED_RESOURCE_ANNOTATION, FAILS), Rule.WORD),
    **dict.fromkeys((*DEFAULT_CLASS_ANNOTATIONS, *LEAVE_ALONE), Rule.WORD),
    **dict.fromkeys((JOB_INDEX_LABEL, DELETION_COST, REVISION, DESIRED_REPLICAS, MAX_REPLICAS), Rule.AMOUNT),
    **dict.fromkeys((RUN_SECONDS, STOP_SECONDS, READY_SECONDS), Rule.AMOUNT),
    PROVISIONED_BY: Rule.DRIVER,
    MIGRATED_PLUGINS_ANNOTATION: Rule.DRIVERS,
    SCHEDULED_FOR: Rule.TIME,
}
