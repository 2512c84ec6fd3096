"""Scenarios: scripts of what a user does to a simulated cluster, with what was seen to happen then.

A scenario is text, in blocks with a blank line between them. A block is commands, one to a line, a line `----`, and
the transcript of what happened while they were done. `rewritten` plays a scenario and gives it back with the
transcripts that its commands lead to: a test compares the two, and an update writes the second over the first. Lines
that start with `#` are remarks.

    node n1 cpu=4 memory=8Gi        also: pod, replicaset, deployment, budget, priority, class, volume, claim,
                                    deviceclass, devices, deviceclaim, group, pool, autoscaler, namespace
    pod web cpu=2 priority=high     `objects` says which attributes there are
    cordon n1                       and every other command of `verbs`: delete, scale, drain, fail, taint …
    ungate web example.com/a        tolerate web key
    give web 1 3                    its node has given its containers so many CPUs, whatever they ask for
    lose data                       a device claim is gone at once, with its allocation
    nominate web n1                 bind web n1: as somebody else might do it
    taintdevice n1 d0 bad:NoExecute
    pause volumes                   resume volumes: whether the volume binder does its work
    version 1.37                    a new scheduler, of that Kubernetes version; to begin with it is 1.36
    groups                          the same of 1.37, with pod groups; `groups topology` with those within racks,
                                    `groups complete` one that wakes whatever may be helped, `groups policy` one for
                                    which each group says whether it preempts
    quorum training 2               changes how many pods a gang takes
    ungroup training                its PodGroup is gone
    restart                         a new scheduler that knows what is stored
    limit evictions_per_minute=1    the same, with limits of preemption: the fields of `PreemptionSafety`
    run 1.5s                        lets time pass: s, ms or m
    show                            the pods as they are

Time stands still but for `run`. Nothing is random: a request takes 2 ms to take effect and as much to be answered, the
scheduler hears of it 2 ms later; a pod starts within a second and takes all of its grace to stop.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any, ClassVar

from tests.scenarios.objects import made
from tests.scenarios.steps import step_of_words
from tests.scenarios.transcript import Seen, seen_in
from tests.support.checkers import check_always, check_quiet

from bayplan.analysis.simulation.inputs.command_runner import CommandRunner
from bayplan.analysis.simulation.inputs.verbs import VERBS, BadStep, read_command, taint_parts
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE, RELEASES
from bayplan.controllers.autoscaling.autoscaler import AutoscalerController
from bayplan.controllers.contract import Controller
from bayplan.controllers.standard import standard_controllers
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.core.scheduler import Scheduler
from bayplan.model.durations import parse_duration
from bayplan.model.groups import GangPolicy, GroupSchedulingPolicy, PodGroup
from bayplan.model.kinds import KINDS
from bayplan.model.meta import RawQuantity
from bayplan.model.pod import ContainerStatus, Pod, PodSchedulingGate, ReportedResources, Toleration
from bayplan.model.resource_claims import DeviceTaint, ResourceClaim, ResourceSlice
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.store import ApiError, Store, WatchEvent
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.performing import EmittedEvent
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000 * SECOND
SEPARATOR = "----"
#: Pods use all of their grace, whatever it is.
LATENCIES = Latencies(pod_stop_ns=24 * 3600 * SECOND, jitter=0.0)
_PREEMPTOR = re.compile(r"(?<=^Preempted by pod )\S+|(?<=^Preempted by podgroup )\S+")
_KINDS = (
    *("node", "pod", "replicaset", "deployment", "budget", "priority", "class", "volume", "claim"),
    *("deviceclass", "devices", "deviceclaim", "group", "pool", "autoscaler"),
    "namespace",
)


class ScenarioError(Exception):
    """A command that cannot be done, with the line it stands in."""


def rewritten(text: str) -> str:
    """The scenario with what its commands lead to instead of what it says."""
    scenario = Scenario()
    return "\n".join(_played(scenario, block, line) for block, line in _blocks(text))


def _blocks(text: str) -> Iterator[tuple[list[str], int]]:
    """The blocks' lines, with the number of each block's first line."""
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            block.append(line)
        elif block:
            yield block, number - len(block)
            block = []


def _played(scenario: Scenario, block: list[str], first: int) -> str:
    commands = block[: block.index(SEPARATOR)] if SEPARATOR in block else block
    shown: list[str] = []
    for number, line in enumerate(commands, start=first):
        if line.lstrip().startswith("#"):
            continue
        try:
            shown += scenario.do(line)
        except (ApiError, BadStep, ValueError, KeyError) as error:
            raise ScenarioError(f"line {number}: {line}: {error}") from error
    scenario.check()
    if all(line.lstrip().startswith("#") for line in commands):
        return "\n".join([*commands, ""])
    return "\n".join([*commands, SEPARATOR, *scenario.transcript(), *shown, ""])


class Scenario:
    """A cluster that does as it is told, and remembers what happened."""

    def __init__(self) -> None:
        self.store = Store()
        self._log = self.store.watch(essential=True)
        self._changes: list[WatchEvent] = []  # that were not shown yet
        self._told: list[EmittedEvent] = []
        self._names: dict[str, str] = {}  # pods of controllers, as the transcript calls them
        self._uids: dict[str, str] = {}
        self._last_note: dict[str, str] = {}
        self._safety = UPSTREAM
        self._configuration = load_configuration(None, release=DEFAULT_RELEASE)
        draws = Draws(0, LATENCIES)
        controllers = standard_controllers(draws, self._configuration.gates)
        self._volumes = tuple(_Pausable(controller) for controller in controllers.volumes)
        profiles = build_profiles(self._configuration)
        autoscaler = AutoscalerController(profiles, draws.around, draws.random, DEFAULT_GATES)
        self._controllers = with_fields(controllers, volumes=self._volumes, autoscaler=autoscaler)
        self.world = self._new_world(draws, STARTED_AT)
        self._commands: dict[str, Callable[..., object]] = {
            "ungate": self._ungate,
            "tolerate": self._tolerate,
            "give": self._give,
            "lose": self._lose,
            "nominate": self._nominate,
            "taintdevice": self._taint_device,
            "bind": lambda name, node: self.store.bind(DEFAULT_NAMESPACE, name, node, "", self.now),
            "pause": lambda _: self._pause_volumes(True),
            "resume": lambda _: self._pause_volumes(False),
            "restart": self._restart,
            "version": self._upgrade,
            "groups": self._know_groups,
            "quorum": self._change_quorum,
            "ungroup": lambda name: self.store.delete(PodGroup, DEFAULT_NAMESPACE, name, self.now),
            "limit": self._limit,
            "run": self._run,
        }

    @property
    def now(self) -> int:
        return self.world.now

    def do(self, line: str) -> list[str]:
        """Do one command; lines to be shown after the transcript, if it asks for them."""
        verb, *words = shlex.split(line)
        if verb in _KINDS:
            self.store.create(made(verb, words[0], words[1:]), self.now)
        elif verb == "show":
            return self._show()
        elif verb in VERBS:
            self._run_command(verb, words)
        elif verb in self._commands:
            try:
                self._commands[verb](*words)
            except TypeError as error:
                raise ValueError(str(error)) from error
        else:
            raise ValueError("no such command")
        return []

    def check(self) -> None:
        """What must hold of any world between two blocks; raises AssertionError."""
        check_always(self.scheduler)
        if self.world.is_at_rest and not self.scheduler.pods_on_the_way():
            check_quiet(self.store, self.scheduler)

    # ------------------------------------------------------------------ commands

    def _run(self, duration: str) -> None:
        self.world.run_until(self.now + parse_duration(duration))

    def _run_command(self, verb: str, words: list[str]) -> None:
        command = read_command(step_of_words(verb, [self._real(word) for word in words]), Path())
        for _, request in CommandRunner(self.world, self._controllers.kubelet, self._controllers.lifecycle).requests(
            command, self.now
        ):
            request()

    def _ungate(self, name: str, gate: str) -> None:
        pod = self.store.get(Pod, DEFAULT_NAMESPACE, name)
        left = [left for left in pod.spec.scheduling_gates if left != PodSchedulingGate(name=gate)]
        self._change_pod(name, scheduling_gates=left)

    def _tolerate(self, name: str, key: str) -> None:
        pod = self.store.get(Pod, DEFAULT_NAMESPACE, name)
        self._change_pod(name, tolerations=[*pod.spec.tolerations, Toleration(key=key, operator="Exists")])

    def _change_pod(self, name: str, **fields: Any) -> None:
        change = lambda pod: replace(pod, spec=replace(pod.spec, **fields))  # noqa: E731
        self.store.modify(Pod, DEFAULT_NAMESPACE, name, change, self.now)

    def _give(self, name: str, *cpus: str) -> None:
        def change(pod: Pod) -> Pod:
            amounts: list[dict[str, RawQuantity]] = [{"cpu": cpu} for cpu in cpus]
            given = [
                ContainerStatus(name=container.name, allocated_resources=has, resources=ReportedResources(requests=has))
                for container, has in zip(pod.spec.containers, amounts, strict=True)
            ]
            return replace(pod, status=replace(pod.status, container_statuses=given))

        self.store.modify_status(Pod, DEFAULT_NAMESPACE, name, change, self.now)

    def _lose(self, name: str) -> None:
        def change(claim: ResourceClaim) -> ResourceClaim:
            return replace(claim, metadata=replace(claim.metadata, finalizers=[]))

        self.store.modify(ResourceClaim, DEFAULT_NAMESPACE, name, change, self.now)
        self.store.delete(ResourceClaim, DEFAULT_NAMESPACE, name, self.now)

    def _nominate(self, name: str, node: str) -> None:
        def change(pod: Pod) -> Pod:
            return replace(pod, status=replace(pod.status, nominated_node_name=node))

        self.store.modify_status(Pod, DEFAULT_NAMESPACE, name, change, self.now)

    def _taint_device(self, node: str, name: str, taint: str) -> None:
        key, value, effect = taint_parts(taint)
        added = DeviceTaint(key=key, value=value, effect=effect)

        def change(stored: ResourceSlice) -> ResourceSlice:
            devices = [
                replace(device, taints=[*device.taints, added]) if device.name == name else device
                for device in stored.spec.devices
            ]
            return replace(stored, spec=replace(stored.spec, devices=devices))

        self.store.modify(ResourceSlice, "", f"{node}-slice", change, self.now)

    def _pause_volumes(self, paused: bool) -> None:
        def pause(_: int) -> None:
            for controller in self._volumes:
                controller.pause(paused)

        self.world.at(self.now, pause)

    def _limit(self, *settings: str) -> None:
        pairs = (setting.partition("=") for setting in settings)
        given = {name: int(value) if value.isdigit() else value for name, _, value in pairs}
        self._safety = with_settings(self._safety, given)
        self._restart()

    def _upgrade(self, version: str) -> None:
        self._configuration = load_configuration(None, release=RELEASES[version])
        self._restart()

    def _know_groups(self, *options: str) -> None:
        gates = {
            "GenericWorkload": True,
            "TopologyAwareWorkloadScheduling": "topology" in options,
            "PodGroupPreemptionPolicy": "policy" in options,
        }
        configuration = load_configuration(None, gates, release=RELEASES["1.37"], with_groups=True)
        wakeups = Wakeups.COMPLETE if "complete" in options else Wakeups.UPSTREAM
        self._configuration = with_fields(configuration, wakeups=wakeups)
        self._restart()

    def _change_quorum(self, name: str, count: str) -> None:
        def change(group: PodGroup) -> PodGroup:
            policy = GroupSchedulingPolicy(gang=GangPolicy(min_count=int(count)))
            return replace(group, spec=replace(group.spec, scheduling_policy=policy))

        self.store.modify(PodGroup, DEFAULT_NAMESPACE, name, change, self.now)

    def _restart(self) -> None:
        self.world = self._new_world(Draws(0, LATENCIES), self.now)

    def _new_world(self, draws: Draws, started_at: int) -> SimulatedWorld:
        self.scheduler = Scheduler(
            build_profiles(self._configuration),
            PrioritySort().sort_key,
            started_at=started_at,
            safety=self._safety,
            gates=self._configuration.gates,
            wakeups=self._configuration.wakeups,
        )
        return SimulatedWorld(
            self.store, self.scheduler, [*self._controllers], draws, started_at=started_at, on_emitted=self._told.append
        )

    # ------------------------------------------------------------------ what is shown

    def transcript(self) -> list[str]:
        """What has happened since it was last asked for."""
        self._catch_up()
        changes, self._changes = self._changes, []
        told, self._told[:] = list(self._told), []
        events = [Seen(event.at, event.pod, "event", f"{event.reason}: {self._with_names(event)}") for event in told]
        # Sorting is stable: of one instant, events come first, so that conditions can refer to them.
        seen = sorted([*events, *seen_in(changes)], key=lambda seen: seen.at)
        return [self._line(line) for line in seen]

    def _catch_up(self) -> None:
        """Read what was written, and name the pods in the order in which they came."""
        for change in self._log.read():
            self._changes.append(change)
            if isinstance(change.new, Pod):
                self._name(change.new)
            elif isinstance(change.new, PodGroup):
                self._uids[change.new.metadata.uid] = change.new.metadata.name

    def _name(self, pod: Pod) -> None:
        meta = pod.metadata
        self._uids[meta.uid] = meta.name
        if meta.generate_name and meta.name not in self._names:
            base = _without_hash(meta.generate_name.rstrip("-"), pod)
            number = 1 + sum(name.rpartition("-")[0] == base for name in self._names.values())
            self._names[meta.name] = f"{base}-{number}"

    def _shown(self, name: str) -> str:
        return self._names.get(name, name)

    def _real(self, shown: str) -> str:
        self._catch_up()
        return next((name for name, other in self._names.items() if other == shown), shown)

    def _with_names(self, told: EmittedEvent) -> str:
        note = _PREEMPTOR.sub(lambda found: self._shown(self._uids[found[0]]), told.note)
        name = told.pod.rpartition("/")[2]
        return note.replace(told.pod, self._shown(name))

    def _line(self, seen: Seen) -> str:
        name = self._shown(seen.pod.rpartition("/")[2])
        what = seen.what
        if seen.channel == "event":
            what = what.removeprefix("FailedScheduling: ")
            if self._last_note.get(name) == what:
                what = "the same again"
            else:
                self._last_note[name] = what
            what = f"! {what}"
        else:
            start, _, message = what.partition(": ")
            if message and message == self._last_note.get(name):
                what = f"{start}: as above"
        return f"{(seen.at - STARTED_AT) / SECOND:9.3f}  {name}  {what}"

    def _show(self) -> list[str]:
        """The pods in order of creation."""
        self._catch_up()
        rows = []
        for pod in self.store.list(Pod, DEFAULT_NAMESPACE):
            place = pod.spec.node_name or "-"
            if pod.status.nominated_node_name:
                place = f"({pod.status.nominated_node_name})"
            state = "Terminating" if pod.metadata.deletion_timestamp else pod.status.phase
            rows.append((self._shown(pod.metadata.name), state, place))
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
        return [f"  {name:{widths[0]}}  {state:{widths[1]}}  {place}".rstrip() for name, state, place in rows]


class _Pausable:
    """A controller that can be made to wait."""

    name: ClassVar[str] = "pausable"
    watches: ClassVar[frozenset[str]] = frozenset(KINDS)

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._paused = False

    def pause(self, paused: bool) -> None:
        self._paused = paused

    def observe(self, change: WatchEvent, now: int) -> None:
        self._controller.observe(change, now)

    def reconcile(self, store: Store, now: int) -> None:
        self._controller.reconcile(store, now)

    def wake_at(self) -> int | None:
        return None if self._paused else self._controller.wake_at()


def _without_hash(base: str, pod: Pod) -> str:
    """A Deployment's ReplicaSet has the template's hash in its name, which tells a reader nothing."""
    known = pod.metadata.labels.get("pod-template-hash", "")
    return base.removesuffix(f"-{known}") if known else base
