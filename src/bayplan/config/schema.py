"""The shape of a KubeSchedulerConfiguration file, version `kubescheduler.config.k8s.io/v1`.

One struct for each object of the file, one attribute for each field, with upstream's defaults where a
constant can say them. `decoding` fills them; a field that is not here is refused. Plugin args stay plain
data at this stage: `args` knows their shapes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bayplan.model.durations import Duration
from bayplan.model.meta import Int32, Int64
from bayplan.model.time_units import SECOND

API_VERSION = "kubescheduler.config.k8s.io/v1"


class Part(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Any object of the file."""


class Plugin(Part, frozen=True):
    """A plugin at an extension point. Weight 0 means that none was given."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(Part, frozen=True):
    """What one extension point enables and disables; `*` among the disabled means all."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(Part, frozen=True):
    """The plugin sets of a profile."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """The set of the extension point with this key of the file, such as `preFilter`."""
        plugin_set: PluginSet = getattr(self, _ATTRIBUTE_BY_KEY[point])
        return plugin_set


_ATTRIBUTE_BY_KEY = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}


class PluginConfig(Part, frozen=True):
    """The args of one plugin, not yet read."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(Part, frozen=True):
    """One scheduler of several that share a process."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ManagedResource(Part, frozen=True):
    """An extended resource that an extender looks after."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTls(Part, frozen=True):
    """How to reach an extender over TLS. Data wins over files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(Part, frozen=True):
    """An HTTP service that filters, scores, preempts or binds. An empty verb is one it does not support."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    bind_verb: str = ""
    weight: Int64 = 0
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTls | None = None
    http_timeout_ns: Duration = msgspec.field(default=Duration(0), name="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False


class LeaderElection(Part, frozen=True):
    """Which of several processes may schedule."""

    leader_elect: bool = True
    lease_duration_ns: Duration = msgspec.field(default=Duration(15 * SECOND), name="leaseDuration")
    renew_deadline_ns: Duration = msgspec.field(default=Duration(10 * SECOND), name="renewDeadline")
    retry_period_ns: Duration = msgspec.field(default=Duration(2 * SECOND), name="retryPeriod")
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(Part, frozen=True):
    """How to talk to the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class KubeSchedulerConfiguration(Part, frozen=True):
    """The whole file."""

    api_version: str = ""
    kind: str = ""
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
