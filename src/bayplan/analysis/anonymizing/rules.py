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


class TextRule(Enum):
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


def _rules(rule: TextRule, fields: str) -> dict[str, TextRule]:
    return dict.fromkeys(fields.split(), rule)


FIELDS: Final = {
    **_rules(
        TextRule.NAME,
        "name generate_name namespace node_name nominated_node_name priority_class_name namespaces claim_name"
        " storage_class_name volume_name volume_attributes_class_name current_volume_attributes_class_name"
        " resource_claim_name resource_claim_template_name current_revision update_revision persistent_volume_name"
        " request pool device_class_name device counter_set fingerprint hostname pod_group_name container_name"
        " request_name parent_composite_pod_group_name workload_name template_name",
    ),
    **_rules(TextRule.SCHEDULER, "scheduler_name"),
    **_rules(TextRule.UID, "uid share_id"),
    **_rules(TextRule.VERSION, "resource_version"),
    **_rules(
        TextRule.TIME,
        "creation_timestamp deletion_timestamp start_time last_transition_time completion_time last_schedule_time"
        " last_successful_time allocation_timestamp time_added",
    ),
    **_rules(TextRule.TIMES, "disrupted_pods"),
    **_rules(TextRule.KIND, "kind"),
    **_rules(TextRule.LABELS, "labels node_selector match_labels selector"),
    **_rules(TextRule.ANNOTATIONS, "annotations"),
    **_rules(TextRule.KEY, "key finalizers topology_key match_label_keys mismatch_label_keys topology_keys managed_by"),
    **_rules(TextRule.VALUE, "values"),
    **_rules(TextRule.CONDITION, "type binding_conditions binding_failure_conditions"),
    **_rules(TextRule.GROUP, "api_version api_group"),
    **_rules(TextRule.DRIVER, "driver provisioner attacher"),
    **_rules(TextRule.IMAGE, "image names reference"),
    **_rules(TextRule.DISK, "pd_name volume_id monitors iqn disk_uri volume_handle"),
    **_rules(TextRule.HOST_IP, "host_ip"),
    **_rules(TextRule.DROP, "message time_zone config"),
    **_rules(TextRule.RESOURCES, "overhead requests limits allocatable capacity allocated_resources"),
    **_rules(TextRule.RESOURCE, "extended_resource_name resource_name"),
    **_rules(TextRule.QUANTITIES, "consumed_capacity counters"),
    **_rules(TextRule.ATTRIBUTES, "attributes"),
    **_rules(TextRule.QUALIFIED, "match_attribute distinct_attribute"),
    **_rules(TextRule.EXPRESSION, "expression"),
    **_rules(TextRule.SCHEDULE, "schedule"),
    **_rules(
        TextRule.AMOUNT,
        "completed_indexes failed_indexes succeeded_indexes max_surge max_unavailable min_available maximum_volume_size"
        " value default valid_values min max step",
    ),
    **_rules(
        TextRule.WORD,
        "preemption_policy restart_policy protocol action when_unsatisfiable node_affinity_policy node_taints_policy"
        " access_modes volume_mode phase status reason declared_features reclaim_policy pod_replacement_policy"
        " persistent_volume_reclaim_policy pod_management_policy completion_mode concurrency_policy"
        " volume_binding_mode allocation_mode resource unhealthy_pod_eviction_policy operator effect medium"
        " skip_node_operations",
    ),
}
"""Field -> rule, for text, lists of text, and maps."""

EXCEPTIONS: Final[dict[tuple[type, str], TextRule]] = {
    (AzureDiskVolumeSource, "kind"): TextRule.WORD,
    (CSIStorageCapacity, "capacity"): TextRule.AMOUNT,
    (CSINodeDriver, "name"): TextRule.DRIVER,
    (CapacityRequirements, "requests"): TextRule.QUANTITIES,
    (Device, "capacity"): TextRule.QUANTITIES,
    (DeviceConstraint, "requests"): TextRule.NAME,
    (RBDVolumeSource, "image"): TextRule.DISK,
    **{(part, "value"): TextRule.VALUE for part in (Taint, Toleration, DeviceTaint, DeviceToleration)},
}


def rule_of(part: type, field: str) -> TextRule:
    """Raises KeyError for a field that nobody has thought about."""
    return EXCEPTIONS.get((part, field)) or FIELDS[field]


#: Annotations that something here reads, with what their values are; all others are dropped.
ANNOTATIONS: Final = {
    **dict.fromkeys((SELECTED_NODE, BETA_STORAGE_CLASS, POD_CLAIM_NAME_ANNOTATION, MIRROR_ANNOTATION), TextRule.NAME),
    **dict.fromkeys((BIND_COMPLETED, BOUND_BY_CONTROLLER, EXTENDED_RESOURCE_ANNOTATION, FAILS), TextRule.WORD),
    **dict.fromkeys((*DEFAULT_CLASS_ANNOTATIONS, *LEAVE_ALONE), TextRule.WORD),
    **dict.fromkeys((JOB_INDEX_LABEL, DELETION_COST, REVISION, DESIRED_REPLICAS, MAX_REPLICAS), TextRule.AMOUNT),
    **dict.fromkeys((RUN_SECONDS, STOP_SECONDS, READY_SECONDS), TextRule.AMOUNT),
    PROVISIONED_BY: TextRule.DRIVER,
    MIGRATED_PLUGINS_ANNOTATION: TextRule.DRIVERS,
    SCHEDULED_FOR: TextRule.TIME,
}
