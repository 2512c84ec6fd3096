"""Builds a world from a cluster's objects and runs it in virtual time.

Takes objects, a configuration, a seed and what is planned; returns a `SimulationResult`. The world has all controllers
of a cluster and the scheduler of the configuration. An interrupt ends a run early, with the result so far, marked as
partial; a second interrupt is raised. Nothing here writes files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from bayplan.analysis.answers.gangs.deadlocks import find_deadlocks
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.default_storage_class import EXPLANATION, missing_default_class
from bayplan.analysis.simulation.inputs.command_runner import CommandRunner, PlannedCommands
from bayplan.analysis.simulation.inputs.commands import PlannedCommand, all_objects
from bayplan.analysis.simulation.inputs.digest import inputs_mark
from bayplan.analysis.simulation.inputs.endless_jobs import endless_jobs
from bayplan.analysis.simulation.inputs.timeline import load_timeline
from bayplan.analysis.simulation.inputs.traces import Arrivals, Trace, load_trace
from bayplan.analysis.simulation.inputs.unknown_nodes import check_nodes
from bayplan.analysis.simulation.interrupts import Interrupts
from bayplan.analysis.simulation.recording.listener import Listener
from bayplan.analysis.simulation.recording.preemption_log import PreemptionLog
from bayplan.analysis.simulation.recording.series import Sampler
from bayplan.analysis.simulation.replaying.lives import LivesAgain
from bayplan.analysis.simulation.replaying.recorded_life import RecordedLife, load_recording
from bayplan.analysis.simulation.results.cascades import Cascades
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.results.run_format import End, GroupDeadlock, GroupWait, Note, PendingAtEnd, Run
from bayplan.analysis.simulation.results.summary import summarize
from bayplan.client.extender_documents import encoded
from bayplan.client.extenders import HttpExtender, connect_extenders
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import ConfigSource, Configuration, load_configuration
from bayplan.config.own_settings import SafetySettings, with_settings
from bayplan.config.registry import build_profiles
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.autoscaling.autoscaler import AutoscalerController
from bayplan.controllers.autoscaling.settings import autoscaler_among
from bayplan.controllers.contract import Controller
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.controllers.standard import Controllers, standard_controllers
from bayplan.core.decision import Decision, Outcome
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.instruments import Instruments
from bayplan.model.durations import parse_span
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.pod import Pod
from bayplan.model.reading import locating
from bayplan.model.time_units import HOUR, SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.workloads import CronJob
from bayplan.store import ApiError, Store
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.extender_journal import JournaledExtender
from bayplan.worlds.journal import AS_RECORDED, TIES, JournalWriter
from bayplan.worlds.recorded_ties import RecordedTies
from bayplan.worlds.simulated import SimulatedWorld

EPOCH = parse_time("2026-01-01T00:00:00Z")
SAMPLES = 600
SLICES = 200
RECORDS_MAX = 200
#: The run is checked for endless loops after every N preemptions: a loop may repeat hundreds of times per second, and
#: the rest of the run would show nothing new.
LOOKED_AFTER = 1_000
TURNS_ENOUGH = 500
#: Members of enums are slow to get at, and these are wanted for each decision.
_ASSUMED, _NOMINATED = Outcome.ASSUMED, Outcome.NOMINATED

#: Called regularly: nanoseconds simulated so far, and in total.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of a run."""

    config: ConfigSource = None
    config_name: str = "default"
    seed: int = 0
    until_ns: int | None = None  # None: one hour after the last planned change
    records_max: int = RECORDS_MAX
    latencies: Latencies = field(default_factory=Latencies)
    wakeups: Wakeups | None = None  # None: those of the configuration
    safety: SafetySettings | None = None  # limits of preemption that replace those of the configuration
    feature_gates: GateSettings = None
    call_extenders: bool = False  # those of the configuration; none is asked to bind


class Simulation:
    """A world with its listener, ready to run. Raises InvalidObject for objects that an API server would reject."""

    def __init__(
        self,
        cluster: Cluster,
        plans: Iterable[PlannedCommand] = (),
        options: Options | None = None,
        arrivals: Arrivals | None = None,
        journal: Callable[[dict[str, object]], JournalWriter] | None = None,
        recorded: RecordedLife | None = None,
    ) -> None:
        """What is recorded comes on top of the plans; its objects are the cluster's already (see `joined_to`)."""
        self.options = options or Options()
        self._recorded = recorded
        planned = [*(() if recorded is None else recorded.plans), *plans]
        check_nodes(cluster.objects, planned)
        last = max((plan.at for plan in planned), default=0)
        if arrivals is not None:
            last = max(last, round(arrivals.last_seconds * SECOND))
        usual = last + HOUR if recorded is None else max(recorded.length_ns, last)
        self.until_ns = usual if self.options.until_ns is None else self.options.until_ns
        self.started_at = _start_of(cluster.objects)
        if recorded is not None:
            self.started_at = max(recorded.started_at, self.started_at)
        self._cluster = cluster
        self._release = cluster.release
        self._inputs = inputs_mark(cluster.objects, planned, arrivals, self.options.latencies)
        self._interrupts = Interrupts()
        self._refusals: dict[str, str] = {}  # why pending pods were last refused
        draws = Draws(self.options.seed, self.options.latencies)
        self._lives = None if recorded is None else LivesAgain(recorded.lives, draws, self.started_at)
        with locating(cluster.sources):
            self._has_pools = autoscaler_among(all_objects(cluster.objects, planned)) is not None
        added = missing_default_class(all_objects(cluster.objects, planned))
        with locating(cluster.sources):
            self._build(cluster.objects if added is None else [*cluster.objects, added], draws, journal)
        runner = CommandRunner(self.world, self._controllers.kubelet, self._controllers.lifecycle)
        commands = PlannedCommands(runner, self.started_at)
        self.notes = commands.notes
        if added is not None or cluster.assumed_class is not None:
            self.notes.append(Note(0.0, "storage", EXPLANATION))
        if recorded is not None:
            self.notes += [Note(0.0, recorded.path, text) for text in recorded.notes]
        elif endless := endless_jobs(cluster.objects, planned):
            self.notes.append(Note(0.0, "jobs", endless))
        for plan in planned:
            commands.plan(plan)
        if arrivals is not None:
            commands.plan_arrivals(arrivals)

    def _controllers_for(self, configuration: Configuration, draws: Draws) -> Controllers:
        controllers = standard_controllers(draws, configuration.gates, _kubelet_for(self._lives))
        if not self._has_pools:
            return controllers
        autoscaler = AutoscalerController(
            build_profiles(configuration), draws.around, Random(self.options.seed), configuration.gates
        )
        return replace(controllers, autoscaler=autoscaler)

    def _build(
        self, objects: Iterable[Object], draws: Draws, journal: Callable[[dict[str, object]], JournalWriter] | None
    ) -> None:
        configuration = load_configuration(
            self.options.config, self.options.feature_gates, release=self._release, with_groups=True
        )
        if self.options.wakeups is not None:
            configuration = replace(configuration, wakeups=self.options.wakeups)
        configuration = replace(configuration, safety=with_settings(configuration.safety, self.options.safety))
        self.wakeups = configuration.wakeups
        self._configuration = configuration
        self._controllers = self._controllers_for(configuration, draws)
        store = _filled_store(objects, self.started_at)
        self._extenders = self._connected(configuration, store)
        self.preemptions = PreemptionLog(build_profiles(configuration), self.started_at, self.options.records_max)
        scheduler = build_scheduler(
            configuration,
            started_at=self.started_at,
            on_choice=self.preemptions.chosen,
            on_group_attempt=self.preemptions.group_tried,
            extenders=self._extenders,
            instruments=self._ties(),
        )
        step_ns = max(self.until_ns // SAMPLES, SECOND // 10)
        self._queue_figures = scheduler.queue.figures
        self.listener = Listener(Sampler(scheduler), self.started_at, step_ns)
        head: dict[str, object] = {
            "seed": self.options.seed,
            "startedAt": self.started_at,
            "wakeups": self.wakeups.value,
            "safety": asdict(configuration.safety),
            "kubernetesVersion": self._release.version,
        }
        if self.options.feature_gates:
            head["featureGates"] = self.options.feature_gates
        if self._extenders:
            head["extenders"] = True
        if self._lives is not None:
            head[TIES] = AS_RECORDED
        self._journal = journal(head) if journal is not None else None
        self.world = SimulatedWorld(
            store,
            scheduler,
            self._everybody(),
            draws,
            started_at=self.started_at,
            on_event=self._journal.event if self._journal is not None else None,
            on_decision=self._decided,
        )

    def _everybody(self) -> list[Controller]:
        """Kubelets ask for the lives of running pods as soon as they hear of them."""
        before: list[Controller] = [] if self._lives is None else [self._lives]
        return [*before, *self._controllers, self.listener]

    def _ties(self) -> Instruments | None:
        """Of equally good nodes the recorded one is taken."""
        return None if self._lives is None else RecordedTies(self._lives.node_of)

    def _connected(self, configuration: Configuration, store: Store) -> tuple[HttpExtender, ...]:
        """The extenders that are asked; each answer goes into the journal."""
        if not self.options.call_extenders:
            return ()
        make = partial(JournaledExtender, note=self._note_answer)
        return connect_extenders(configuration.extenders, encoded(store.find), make)

    def _note_answer(self, answer: dict[str, Any]) -> None:
        if self._journal is not None:
            self._journal.extender_answer(answer, self.world.now)

    def _decided(self, decision: Decision, now: int) -> None:
        if self._journal is not None:
            self._journal.decision(decision, now)
        outcome = decision.outcome
        for each in decision.members or (decision,):
            if each.outcome is _ASSUMED:
                self._refusals.pop(each.pod, None)
            elif each.message:
                self._refusals[each.pod] = each.message
        if outcome is _NOMINATED:
            self.preemptions.decided(decision, now)
            self._look_for_loops(now)
        if self._interrupts.asked:
            raise _Interrupted

    def _look_for_loops(self, now: int) -> None:
        if len(self.preemptions.entries) % LOOKED_AFTER == 0:
            loops = self._cascades(now - self.started_at).loops()
            if loops and loops[0].times >= TURNS_ENOUGH:
                raise _EndlessLoop

    def run(self, progress: Progress | None = None) -> SimulationResult:
        """Runs to the end, or until an interrupt."""
        partial = False
        try:
            with self._interrupts.deferred():
                self._run(progress)
        except _Interrupted:
            partial = True
        except _EndlessLoop:
            partial = True
            at = (self.world.now - self.started_at) / 1e9
            self.notes.append(Note(at, "run", "ended here because of an endless loop; see the loops"))
        finally:
            for extender in self._extenders:
                extender.close()
        return SimulationResult(self._finished_run(partial), interrupted=partial and self._interrupts.asked)

    def _run(self, progress: Progress | None) -> None:
        for number in range(1, SLICES + 1):
            passed = self.until_ns * number // SLICES
            self.world.run_until(self.started_at + passed)
            if progress is not None:
                progress(passed, self.until_ns)
            if self._interrupts.asked and number < SLICES:  # else it is complete
                raise _Interrupted

    def _finished_run(self, partial: bool) -> Run:
        ledger, series = self.listener.pods, self.listener.sampler.series
        passed = self.world.now - self.started_at
        priorities = {pod.class_name: pod.priority for pod in ledger.pods} | self.listener.classes
        classes = dict(sorted(priorities.items(), key=lambda item: (-item[1], item[0])))
        logged = self.preemptions.entries
        cascades = self._cascades(passed)
        return Run(
            seed=self.options.seed,
            configs=self.options.config_name,
            inputs=self._inputs,
            seconds=passed / 1e9,
            partial=partial,
            classes=classes,
            summary=summarize(ledger, series, logged, classes, self.listener.nodes.nodes, passed / 1e9),
            series=series,
            nodes=self.listener.nodes.nodes,
            pods=ledger.pods,
            preemptions=[entry.preemption for entry in logged],
            chains=cascades.chains(),
            loops=cascades.loops(),
            deadlocks=self._deadlocks(),
            groups=self.listener.groups.groups,
            spared=self._queue_figures.spared_ns / 1e9,
            waiting=self._pending_pods(),
            notes=[*self.notes, *self._refused_workloads()],
            fidelity=None if self._recorded is None else self._recorded.fidelity(ledger.pods, passed / 1e9),
            kubernetes_version=self._release.version,
            wakeups=self.wakeups.value,
        )

    def _deadlocks(self) -> list[GroupDeadlock]:
        """Groups that wait for each other now, and since when nothing has changed about that."""
        if not self._configuration.gates.generic_workload:
            return []
        found = find_deadlocks(self._cluster.like(self.world.store.list_and_watch().objects), self._configuration)
        ledger = self.listener.pods
        last = {pod.key: row for row, pod in enumerate(ledger.pods)}
        deadlocks = []
        for each in found:
            rows = [last[key] for group in each.groups for key in (*group.waiting, *group.held_by)]
            since = max(max(ledger.created_at[row], ledger.bound_at[row]) for row in rows)
            groups = [GroupWait(one.group, [*one.waiting], one.waits_for, [*one.held_by]) for one in each.groups]
            deadlocks.append(GroupDeadlock(max(since, 0) / 1e9, groups))
        return deadlocks

    def _pending_pods(self) -> list[PendingAtEnd]:
        """By the reason for which they were last refused, the most frequent first."""
        groups: dict[str, list[str]] = {}
        for pod in self.listener.pods.pods:
            if pod.end is End.PENDING:
                groups.setdefault(self._refusals.get(pod.key, ""), []).append(pod.key)
        ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
        return [PendingAtEnd(message, keys) for message, keys in ordered]

    def _refused_workloads(self) -> list[Note]:
        """Why workloads have fewer pods than they want, where it is not for want of a node."""
        return [
            Note((refused.since - self.started_at) / 1e9, controller.name, f"{namespace}/{name}: {refused.why}")
            for controller in self._controllers.workloads
            for (namespace, name, *_), refused in controller.refusals.items()
        ]

    def _cascades(self, passed: int) -> Cascades:
        return Cascades(self.preemptions.entries, self.listener.pods, passed)


class _Interrupted(Exception):  # noqa: N818 - ends a run, but nothing is wrong
    """The user has asked for what there is."""


class _EndlessLoop(Exception):  # noqa: N818 - ends a run, but nothing is wrong
    """Preempting and recreating without end."""


def simulate(
    cluster: Cluster | None = None,
    timeline: str | Path | Iterable[PlannedCommand] = (),
    *,
    trace: str | Trace | None = None,
    recording: str | Path | RecordedLife | None = None,
    config: ConfigSource = None,
    feature_gates: GateSettings = None,
    seed: int = 0,
    until: float | str | None = None,
    records: int = RECORDS_MAX,
    wakeups: str | None = None,
    safety: SafetySettings | None = None,
    call_extenders: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> SimulationResult:
    """Simulates the cluster over time. Raises InvalidObject for invalid input.

    Args:
        cluster: what there is at the start; None: nothing but what a trace or a recording brings.
        timeline: the changes that users make, with their times: a file, or plans.
        trace: arriving pods, as `csv:FILE`, `openb:DIR` or `azure:FILE`, or from `bayplan.load_trace`; its nodes join
            the cluster's.
        recording: what `bayplan record` has written, or from `bayplan.load_recording`: what users and machines did is
            done again, and all else decided anew; its objects join the cluster's.
        config: None, a path or a dict: a KubeSchedulerConfiguration.
        feature_gates: kube-scheduler's gates that are not to have their default, as a dict or as `A=true,B=false`.
        seed: the same seed gives the same run.
        until: seconds, or a duration such as "24h" or "2d"; None: one hour after the last planned change, or the end of
            the recording.
        records: how many preemptions to keep with all candidates.
        wakeups: "upstream" or "complete"; None: what the configuration says, else "upstream".
        safety: limits of preemption that replace those of the configuration: `foreign_victims` ("allow" or "never"),
            `evictions_per_minute`, `evictions_per_minute_per_namespace` and `preemption_loop_rounds` (0: no limit).
        call_extenders: ask the extenders that the configuration names, over the network; none is asked to bind.
        progress: called about 200 times: seconds simulated so far, and in total.
    """
    plans = load_timeline(timeline) if isinstance(timeline, str | Path) else timeline
    played = load_trace(trace) if isinstance(trace, str) else trace
    recorded = load_recording(recording) if isinstance(recording, str | Path) else recording
    cluster = _joined(cluster, recorded, played)
    name = str(config) if config is not None and not isinstance(config, dict) else "default"
    chosen = _wakeups(wakeups)
    options = Options(
        config,
        name,
        seed,
        _nanoseconds(until),
        records,
        wakeups=chosen,
        feature_gates=feature_gates,
        safety=safety,
        call_extenders=call_extenders,
    )
    arrivals = played.arrivals if played is not None else None
    simulation = Simulation(cluster, plans, options, arrivals, recorded=recorded)
    return simulation.run(None if progress is None else lambda passed, total: progress(passed / 1e9, total / 1e9))


def _joined(cluster: Cluster | None, recorded: RecordedLife | None, trace: Trace | None) -> Cluster:
    """The cluster with what comes along; of the recorded version if nobody says another."""
    if cluster is None:
        cluster = Cluster([], recorded_version=None if recorded is None else recorded.kubernetes_version)
    for brought in (recorded, trace):
        if brought is not None:
            objects, version = brought.joined_to(cluster.objects), cluster.kubernetes_version
            cluster = Cluster(objects, cluster.skipped, cluster.sources, kubernetes_version=version)
    return cluster


def _kubelet_for(lives: LivesAgain | None) -> Kubelet | None:
    return None if lives is None else Kubelet(lives, lives.run_seconds, lives.exit_codes)


def _wakeups(named: str | None) -> Wakeups | None:
    if named is None:
        return None
    try:
        return Wakeups(named)
    except ValueError:
        raise ValueError(f'wakeups must be "upstream" or "complete", not {named!r}') from None


def _nanoseconds(until: float | str | None) -> int | None:
    if until is None:
        return None
    found = int(parse_span(until)) if isinstance(until, str) else round(until * SECOND)
    if found <= 0:
        raise ValueError(f"until must be greater than 0, not {until!r}")
    return found


def _start_of(objects: Iterable[Object]) -> int:
    """The newest time that a dump names, as nothing in it may lie in the future; of manifests alone a fixed one.

    Not later than that, or every CronJob of an old dump would immediately catch up on what it has missed since.
    """
    times: list[int] = []
    for obj in objects:
        written = [obj.metadata.creation_timestamp, obj.metadata.deletion_timestamp]
        if isinstance(obj, Pod):
            written.append(obj.status.start_time)
        elif isinstance(obj, CronJob):
            written.append(obj.status.last_schedule_time)
        times += [parse_time(text) for text in written if text]
    return max(times, default=EPOCH)


def _filled_store(objects: Iterable[Object], now: int) -> Store:
    store = Store()
    try:
        store.load([obj for obj in objects if type(obj).__name__ in ALL_KINDS], now)
    except ApiError as error:
        raise InvalidObject([Fault("", "", "", str(error))]) from error
    return store
