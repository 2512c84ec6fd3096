"""Upstream's families: names, types, labels and buckets as kube-scheduler v1.36 and v1.37 have them.

Only those that mean something here. Which numbers go into them is said where they are filled, and what differs from
upstream's meaning in docs/guide/metrics.md.
"""

from __future__ import annotations

from bayplan.serving.metrics.tallies import Family


def doubling(first: float, count: int, factor: float = 2) -> tuple[float, ...]:
    """Multiplied one by one, as upstream does, so that the last digits agree."""
    buckets = [first]
    while len(buckets) < count:
        buckets.append(buckets[-1] * factor)
    return tuple(buckets)


FROM_1_MS = doubling(0.001, 15)
_FROM_10_MS = doubling(0.01, 20)
_FROM_100_US = doubling(0.0001, 12)
_FROM_10_US = doubling(0.00001, 12)
_FROM_10_US_FINE = doubling(0.00001, 20, 1.5)

SCHEDULE_ATTEMPTS = Family(
    "scheduler_schedule_attempts_total",
    "counter",
    "Attempts to place a pod, by result: scheduled, unschedulable (nothing fits) or error.",
    ("result", "profile"),
)
ATTEMPT_DURATION = Family(
    "scheduler_scheduling_attempt_duration_seconds",
    "histogram",
    "From the start of an attempt to its result, binding included.",
    ("result", "profile"),
    FROM_1_MS,
)
ALGORITHM_DURATION = Family(
    "scheduler_scheduling_algorithm_duration_seconds",
    "histogram",
    "Time to decide on a pod, without binding.",
    (),
    FROM_1_MS,
)
SLI_DURATION = Family(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "histogram",
    "From a pod's first entry into the active queue to its binding, by number of attempts.",
    ("attempts",),
    _FROM_10_MS,
)
POD_ATTEMPTS = Family(
    "scheduler_pod_scheduling_attempts", "histogram", "Attempts that a bound pod needed.", (), doubling(1, 5)
)
SCHEDULED_AFTER_FLUSH = Family(
    "scheduler_pod_scheduled_after_flush_total",
    "counter",
    "Pods bound after they were tried again for their age alone: a sign of a wake-up that was missed.",
)
EVENT_HANDLING = Family(
    "scheduler_event_handling_duration_seconds",
    "histogram",
    "Time to take in a change of an object: cache, then queue.",
    ("event",),
    _FROM_100_US,
)
EXTENSION_POINTS = Family(
    "scheduler_framework_extension_point_duration_seconds",
    "histogram",
    "Time that all plugins of an extension point took in one attempt.",
    ("extension_point", "status", "profile"),
    _FROM_100_US,
)
PLUGINS = Family(
    "scheduler_plugin_execution_duration_seconds",
    "histogram",
    "Time that a plugin took at an extension point in one attempt, for all nodes together.",
    ("plugin", "extension_point", "status"),
    _FROM_10_US_FINE,
)
PLUGIN_EVALUATIONS = Family(
    "scheduler_plugin_evaluation_total",
    "counter",
    "Calls of a plugin in timed attempts, each for any number of nodes (PreFilter, Filter, PreScore, Score).",
    ("plugin", "extension_point", "profile"),
)
HINTS = Family(
    "scheduler_queueing_hint_execution_duration_seconds",
    "histogram",
    "Time that a plugin took to say whether an event may help a pod it rejected.",
    ("plugin", "event", "hint"),
    _FROM_10_US_FINE,
)
PERMIT_WAIT = Family(
    "scheduler_permit_wait_duration_seconds",
    "histogram",
    "Time that pods waited at Permit.",
    ("result",),
    FROM_1_MS,
)
PREEMPTION_ATTEMPTS = Family(
    "scheduler_preemption_attempts_total", "counter", "Attempts in which preemption was asked for a node."
)
PREEMPTION_VICTIMS = Family("scheduler_preemption_victims", "histogram", "Victims of a preemption.", (), doubling(1, 7))
PREEMPTION_DURATION = Family(
    "scheduler_preemption_goroutines_duration_seconds",
    "histogram",
    "From the choice of victims until the API server has answered for all of them.",
    ("result",),
    _FROM_10_MS,
)
PREEMPTION_EXECUTIONS = Family(
    "scheduler_preemption_goroutines_execution_total",
    "counter",
    "Preemptions whose victims have all been answered for.",
    ("result",),
)
PENDING_PODS = Family(
    "scheduler_pending_pods",
    "gauge",
    "Waiting pods, by place: active, backoff, unschedulable (tried in vain) or gated (not to be tried).",
    ("queue",),
)
UNSCHEDULABLE_PODS = Family(
    "scheduler_unschedulable_pods",
    "gauge",
    "Waiting pods that a plugin rejected; a pod counts for each of the plugins that did.",
    ("plugin", "profile"),
)
QUEUE_INCOMING = Family(
    "scheduler_queue_incoming_pods_total",
    "counter",
    "Pods that came to a place of the queue, by what brought them.",
    ("queue", "event"),
)
QUEUED_ENTITIES = Family(
    "scheduler_queued_entities",
    "gauge",
    "What waits by itself, by place: pods that belong to no group, and pod groups.",
    ("queue", "type"),
)
QUEUE_INCOMING_ENTITIES = Family(
    "scheduler_queue_incoming_entities_total",
    "counter",
    "Pods that belong to no group, and pod groups, that came to a place of the queue, by what brought them.",
    ("queue", "event", "type"),
)
CLAIM_CREATES = Family(
    "dynamic_resource_allocation_resourceclaim_creates_total",
    "counter",
    "ResourceClaims that were to be created for extended resources.",
    ("status", "admin_access", "owner_api_group", "owner_api_kind"),
)
CLAIM_CREATES_1_36 = Family("scheduler_resourceclaim_creates_total", "counter", CLAIM_CREATES.help, ("status",))
IN_FLIGHT_EVENTS = Family(
    "scheduler_inflight_events",
    "gauge",
    "Events kept for pods that are being tried (PodPopped: the pods themselves).",
    ("event",),
)
CACHE_SIZE = Family("scheduler_cache_size", "gauge", "Nodes, pods and assumed pods in the cache.", ("type",))
GOROUTINES = Family(
    "scheduler_goroutines",
    "gauge",
    "Work under way: bindings that are not answered. The other operations are done in one go and always 0.",
    ("operation",),
)
BATCH_ATTEMPTS = Family(
    "scheduler_batch_attempts_total",
    "counter",
    "Whether results for an identical pod were reused (hint_used) or worked out anew (no_hint).",
    ("profile", "result"),
)
BATCH_FLUSHED = Family(
    "scheduler_batch_cache_flushed_total",
    "counter",
    "Why results were not reused: node objects changed (expired), or pods like this one have none.",
    ("profile", "reason"),
)
NODE_HINT_DURATION = Family(
    "scheduler_get_node_hint_duration_seconds",
    "histogram",
    "Time to bring the results for identical pods up to date.",
    ("hinted", "profile"),
    _FROM_10_US,
)
STORE_RESULTS_DURATION = Family(
    "scheduler_store_schedule_results_duration_seconds",
    "histogram",
    "Time to work out what is kept for identical pods.",
    ("profile",),
    _FROM_10_US,
)
VOLUME_ERRORS = Family(
    "scheduler_volume_scheduling_stage_error_total",
    "counter",
    "Pods that lost their node because their volumes could not be written.",
    ("operation",),
)
LEADING = Family("leader_election_master_status", "gauge", "Whether this process holds the lease.", ("name",))
REQUESTS = Family("rest_client_requests_total", "counter", "Requests by their answers.", ("code", "host", "method"))
REQUEST_DURATION = Family(
    "rest_client_request_duration_seconds",
    "histogram",
    "Time from a request to its answer.",
    ("host", "verb"),
    (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),
)
