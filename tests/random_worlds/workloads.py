"""Random workloads: a table of kinds, each of which makes pods from a random template.

Takes a draw and the character of its world; gives objects as a user would create them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.random_worlds.character import STORAGE_CLASSES, Character
from tests.random_worlds.draw import Draw, Table
from tests.random_worlds.pods import draw_pod

from bayplan.controllers.nodes.kubelet import FAILS, RUN_SECONDS
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.workloads import CronJob, Job, JobTemplateSpec, RollingUpdate, UpdateStrategy
from bayplan.testing.builders import (
    WorkloadBuilder,
    claim,
    cron_job,
    daemon_set,
    deployment,
    job,
    replica_set,
    replication_controller,
    stateful_set,
)
from bayplan.testing.pods import PodBuilder


def draw_workload(draw: Draw, character: Character) -> Object:
    """A pod, or something that makes pods."""
    kind = draw.function("kind", WORKLOADS)
    draw.note("kind", kind)
    return kind(draw, character)


def bare_pod(draw: Draw, character: Character) -> Object:
    drawn = draw_pod(draw, character, draw.name("pod"))
    if draw.chance(0.5):
        drawn.annotations({RUN_SECONDS: str(draw.number(2, 20))})
    return drawn.manifest().obj()


def pod_with_node_name(draw: Draw, character: Character) -> Object:
    """It passes the scheduler by, and takes room that nobody had asked for."""
    drawn = draw_pod(draw, character, draw.name("bound")).node(f"node-{draw.number(1, character.nodes)}")
    made = drawn.manifest().obj()
    made.spec.scheduling_gates = []  # which no server would take beside a node
    # A port that two pods hold is free as soon as either goes (as upstream): what is free then depends on the past.
    made.spec.containers[0].ports = []
    return made


def a_static_pod(draw: Draw, character: Character) -> Object:
    """What a kubelet says of a pod that it got from a file."""
    made = pod_with_node_name(draw, character)
    assert isinstance(made, Pod)
    made.metadata.name = f"static-{made.metadata.name}"
    made.metadata.annotations |= {"kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file"}
    made.spec.priority_class_name = "system-node-critical"
    return made


def _template(draw: Draw, character: Character, name: str, namespace: str = "") -> PodBuilder:
    drawn = draw_pod(draw, character, name).labels(workload=name)
    return drawn.namespace(namespace) if namespace else drawn


def _selected(draw: Draw, template: PodBuilder) -> dict[str, str]:
    """The workload's own pods, by one label or by two."""
    labels = template.obj().metadata.labels
    return {key: labels[key] for key in draw.any_of((("workload",), ("workload", "tier"), ("workload", "app")))}


def a_replica_set(draw: Draw, character: Character, name: str = "", namespace: str = "") -> Object:
    name = name or draw.name("rs")
    template = _template(draw, character, name, namespace)
    replicas = character.crowd if draw.chance(0.2) else draw.number(1, 5)
    made = replica_set(name, template.obj().metadata.namespace).replicas(replicas).selects(_selected(draw, template))
    return made.template(template).manifest().obj()


def a_replication_controller(draw: Draw, character: Character, name: str = "", namespace: str = "") -> Object:
    name = name or draw.name("rc")
    template = _template(draw, character, name, namespace)
    made = replication_controller(name, template.obj().metadata.namespace).replicas(draw.number(1, 4))
    return made.set(selector=_selected(draw, template)).template(template).manifest().obj()


def a_deployment(draw: Draw, character: Character) -> Object:
    name = draw.name("deploy")
    template = _template(draw, character, name)
    made = deployment(name, template.obj().metadata.namespace).replicas(draw.number(1, 5)).selects(workload=name)
    strategies = {
        "default": None,
        "recreate": UpdateStrategy(type="Recreate"),
        "surge": UpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdate(max_surge="50%", max_unavailable=0)),
        "replace": UpdateStrategy(
            type="RollingUpdate", rolling_update=RollingUpdate(max_surge=0, max_unavailable="25%")
        ),
    }
    made.set(strategy=strategies[draw.pick("strategy", *strategies)])
    return made.template(template).manifest().obj()


def a_stateful_set(draw: Draw, character: Character, name: str = "", namespace: str = "") -> Object:
    name = name or draw.name("sts")
    template = _template(draw, character, name, namespace)
    namespace = template.obj().metadata.namespace
    made = stateful_set(name, namespace).replicas(draw.number(1, 3)).selects(_selected(draw, template))
    made.template(template)
    made.set(pod_management_policy=draw.pick("pod management", "OrderedReady", "Parallel"))
    partition = draw.pick("partition", None, 1, 100)
    if partition is not None:
        made.set(update_strategy=UpdateStrategy(rolling_update=RollingUpdate(partition=partition)))
    if draw.pick("claim templates", True, False):
        wanted = claim("data", namespace).storage("1Gi").storage_class(draw.any_of(STORAGE_CLASSES))
        made.claim_template(wanted.modes(draw.pick("access mode", "ReadWriteOnce", "ReadWriteOncePod")))
    return made.manifest().obj()


def a_daemon_set(draw: Draw, character: Character) -> Object:
    return _daemon_set(draw, _template(draw, character, draw.name("ds")).cpu("50m"))


def a_daemon_set_that_fits_nowhere(draw: Draw, character: Character) -> Object:
    return _daemon_set(draw, _template(draw, character, draw.name("huge-ds")).cpu("100"))


def _daemon_set(draw: Draw, template: PodBuilder) -> Object:
    meta = template.obj().metadata
    made = daemon_set(meta.name, meta.namespace).selects(workload=meta.name).template(template)
    strategies = {
        "replace": UpdateStrategy(type="RollingUpdate"),
        "surge": UpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdate(max_surge="50%", max_unavailable=0)),
        "on delete": UpdateStrategy(type="OnDelete"),
    }
    made.set(update_strategy=strategies[draw.pick("daemon strategy", *strategies)])
    return made.manifest().obj()


def a_job(draw: Draw, character: Character) -> Object:
    return _job(draw, character).manifest().obj()


def _job(draw: Draw, character: Character) -> WorkloadBuilder[Job]:
    name = draw.name("job")
    template = draw_pod(draw, character, name).annotations({RUN_SECONDS: str(draw.number(1, 15))})
    if draw.pick("job pods fail", True, False, False):
        template.annotations({FAILS: "true"})
    made = job(name, template.obj().metadata.namespace)
    made.set(completion_mode=draw.pick("completion mode", "NonIndexed", "Indexed"), backoff_limit=draw.number(0, 2))
    made.set(parallelism=draw.pick("parallelism", 0, 1, 2, 4), completions=draw.number(0, 5))
    made.set(active_deadline_seconds=draw.pick("deadline of jobs", None, None, 5))
    made.set(ttl_seconds_after_finished=draw.pick("seconds that jobs stay", None, None, 0, 3))
    return made.template(template)


def a_cron_job(draw: Draw, character: Character) -> Object:
    inner = _job(draw, character).obj()
    made: CronJob = cron_job(inner.metadata.name, inner.metadata.namespace).manifest().obj()
    made.spec.schedule = draw.pick("schedule", "* * * * *", "@every 7s", "0 0 30 2 *")
    made.spec.time_zone = draw.pick("time zone", None, "Pacific/Kiritimati", "America/St_Johns")
    made.spec.concurrency_policy = draw.pick("concurrency", "Allow", "Forbid", "Replace")
    made.spec.job_template = JobTemplateSpec(spec=inner.spec)
    return made


WORKLOADS: Table[Object] = (
    (12, bare_pod),
    (1, pod_with_node_name),
    (1, a_static_pod),
    (4, a_replica_set),
    (2, a_replication_controller),
    (4, a_deployment),
    (3, a_stateful_set),
    (2, a_daemon_set),
    (1, a_daemon_set_that_fits_nowhere),
    (3, a_job),
    (1, a_cron_job),
)
#: Those that can be made again under a name, by kind.
REMAKERS: Mapping[str, Callable[[Draw, Character, str, str], Object]] = {
    "ReplicaSet": a_replica_set,
    "ReplicationController": a_replication_controller,
    "StatefulSet": a_stateful_set,
}
