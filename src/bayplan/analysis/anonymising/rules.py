"""Which text of an object is a name, which is a word of Kubernetes, and what becomes of each.

A table by the name of the field, as the same name means the same nearly everywhere; exceptions by type. A field that is
not in the table cannot be anonymised, so that a new one is thought about before anything of it gets out.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from bayplan.admission.defaults import DEFAULT_CLASS_ANNOTATIONS
from bayplan.controllers.device_driver import READY_SECONDS
from bayplan.controllers.nodes.kubelet import FAILS, RUN_SECONDS, STOP_SECONDS
from bayplan.controllers.ownership import TEMPLATE_HASH
from bayplan.controllers.volumes.provisioning import PROVISIONED_BY
from bayplan.controllers.workloads.cron_job import SCHEDULED_FOR
from bayplan.controllers.workloads.deletion_order import DELETION_COST
from bayplan.controllers.workloads.deployment import DESIRED_REPLICAS, MAX_REPLICAS, REVISION
from bayplan.controllers.workloads.expand import POD_INDEX_LABEL
from bayplan.controllers.workloads.job_pods import JOB_INDEX_LABEL
from bayplan.controllers.workloads.templates import REVISION_HASH
from bayplan.core.plugins.csi_migration import MIGRATED_PLUGINS_ANNOTATION
from bayplan.core.plugins.volume_claims import BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE
from bayplan.model.resource_claims import (
    EXTENDED_RESOURCE_ANNOTATION,
    POD_CLAIM_NAME_ANNOTATION,
    CounterSet,
    Device,
    DeviceConstraint,
)
from bayplan.model.selectors import NODE_NAME_FIELD
from bayplan.model.storage import CSINodeDriver
from bayplan.model.volumes import AzureDiskVolumeSource, RBDVolumeSource
from bayplan.model.well_known import ARCHITECTURE, BETA_STORAGE_CLASS, OPERATING_SYSTEM


class Rule(Enum):
    """What becomes of a text, or of a map's keys."""

    KEEP = auto()  # a word of Kubernetes, a time, an amount, a driver, an expression
    DROP = auto()
    NAME = auto()
    UID = auto()
    KEY = auto()  # of a label, taint, finalizer or gate: kept if it is Kubernetes' own
    CONDITION = auto()  # kept unless it has a prefix of its own
    KIND = auto()  # kept if it is one that is known here
    GROUP = auto()  # with its version: kept if it is Kubernetes' own
    IMAGE = auto()
    DISK = auto()  # at a provider of storage
    HOST_IP = auto()
    LABELS = auto()  # a map
    ANNOTATIONS = auto()  # a map
    RESOURCES = auto()  # the keys of a map; an amount by itself


def _rules(rule: Rule, fields: str) -> dict[str, Rule]:
    return dict.fromkeys(fields.split(), rule)


FIELDS: Final = {
    **_rules(
        Rule.NAME,
        "name generate_name namespace node_name nominated_node_name priority_class_name namespaces claim_name"
        " storage_class_name volume_name volume_attributes_class_name current_volume_attributes_class_name"
        " resource_claim_name resource_claim_template_name current_revision update_revision persistent_volume_name"
        " request pool device_class_name disrupted_pods",
    ),
    **_rules(Rule.UID, "uid"),
    **_rules(Rule.KIND, "kind"),
    **_rules(Rule.LABELS, "labels node_selector match_labels selector"),
    **_rules(Rule.ANNOTATIONS, "annotations"),
    **_rules(Rule.KEY, "finalizers topology_key match_label_keys mismatch_label_keys topology_keys"),
    **_rules(Rule.CONDITION, "type binding_conditions binding_failure_conditions"),
    **_rules(Rule.GROUP, "api_version"),
    **_rules(Rule.IMAGE, "image names reference"),
    **_rules(Rule.DISK, "pd_name volume_id monitors iqn disk_uri volume_handle"),
    **_rules(Rule.HOST_IP, "host_ip"),
    **_rules(Rule.DROP, "message"),
    **_rules(
        Rule.RESOURCES,
        "overhead requests limits allocatable capacity allocated_resources consumed_capacity attributes counters",
    ),
    **_rules(
        Rule.KEEP,
        "creation_timestamp deletion_timestamp resource_version scheduler_name preemption_policy restart_policy"
        " protocol action when_unsatisfiable node_affinity_policy node_taints_policy access_modes volume_mode driver"
        " phase start_time status reason last_transition_time declared_features fingerprint reclaim_policy"
        " persistent_volume_reclaim_policy pod_management_policy completion_mode completed_indexes completion_time"
        " schedule time_zone concurrency_policy last_schedule_time last_successful_time provisioner"
        " volume_binding_mode attacher allocation_mode expression match_attribute distinct_attribute device share_id"
        " allocation_timestamp api_group resource extended_resource_name string_value string_values version_value"
        " version_values counter_set"
        " max_surge max_unavailable min_available maximum_volume_size value default valid_values min max step"
        " unhealthy_pod_eviction_policy",
    ),
}
"""Field -> rule, for text, lists of text, and maps."""

EXCEPTIONS: Final[dict[tuple[type, str], Rule]] = {
    (AzureDiskVolumeSource, "kind"): Rule.KEEP,
    (CSINodeDriver, "name"): Rule.KEEP,
    (CounterSet, "name"): Rule.KEEP,
    (Device, "name"): Rule.KEEP,
    (DeviceConstraint, "requests"): Rule.NAME,
    (RBDVolumeSource, "image"): Rule.DISK,
}


def rule_of(part: type, field: str) -> Rule:
    """Raises KeyError for a field that nobody has thought about."""
    return EXCEPTIONS.get((part, field)) or FIELDS[field]


#: Annotations that something here reads, with what their values are; all others are dropped.
ANNOTATIONS: Final = {
    **dict.fromkeys((SELECTED_NODE, BETA_STORAGE_CLASS, POD_CLAIM_NAME_ANNOTATION), Rule.NAME),
    **dict.fromkeys((BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, MIGRATED_PLUGINS_ANNOTATION), Rule.KEEP),
    **dict.fromkeys((EXTENDED_RESOURCE_ANNOTATION, JOB_INDEX_LABEL, DELETION_COST, SCHEDULED_FOR), Rule.KEEP),
    **dict.fromkeys((REVISION, DESIRED_REPLICAS, MAX_REPLICAS, *DEFAULT_CLASS_ANNOTATIONS), Rule.KEEP),
    **dict.fromkeys((RUN_SECONDS, STOP_SECONDS, FAILS, READY_SECONDS), Rule.KEEP),
}

#: Labels whose values are numbers or words of Kubernetes.
VALUES_KEPT: Final = frozenset({OPERATING_SYSTEM, ARCHITECTURE, POD_INDEX_LABEL, JOB_INDEX_LABEL})

_KEYS_KEPT: Final = frozenset({TEMPLATE_HASH, REVISION_HASH, "job-name", "controller-uid", NODE_NAME_FIELD})
_DOMAINS_KEPT: Final = ("kubernetes.io", "k8s.io")
_TOPOLOGY_PREFIX: Final = "topology."  # of keys of storage drivers, some of which are known by name
#: Domains of Kubernetes under which people put names of their own.
_OPEN_DOMAINS: Final = ("node-role.", "node-restriction.")


def is_domain_kept(domain: str) -> bool:
    """Whether a domain is Kubernetes' own."""
    return domain.startswith(_TOPOLOGY_PREFIX) or any(
        domain == kept or domain.endswith(f".{kept}") for kept in _DOMAINS_KEPT
    )


def is_key_kept(key: str) -> bool:
    """Whether the key of a label or taint says nothing of whose it is."""
    domain, slash, _ = key.partition("/")
    if not slash:
        return key in _KEYS_KEPT
    return is_domain_kept(domain) and not domain.startswith(_OPEN_DOMAINS)
