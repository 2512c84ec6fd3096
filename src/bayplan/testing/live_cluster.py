"""A running cluster for somebody's own tests: a Kubernetes API on a free loopback port, in a thread of this process.

Takes how large and how fast it is to be; gives its address and token for any client, and short ways to apply, read and
wait. It keeps nothing on disk but a kubeconfig in a folder of its own, and both are gone when the block ends.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.registry.users import service_account
from bayplan.apiserver.schema.discovery import in_discovery_order
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.schema.versions import serving
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE, release_named
from bayplan.model.time_units import SECOND
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.testing.live_conditions import WaitCondition, condition_of
from bayplan.testing.live_faults import FaultyFront
from bayplan.testing.live_objects import LiveObjects, Refusal
from bayplan.testing.live_users import ClusterUser
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.kubeconfig import kubeconfig
from bayplan.worlds.starting_nodes import plain_nodes

T = TypeVar("T")

_LOOKS_EVERY_S: Final = 0.02
_STARTS_WITHIN_S: Final = 30.0
_STOPS_WITHIN_S: Final = 15.0


class LiveCluster(LiveObjects):
    """A cluster that runs until its block ends. Its administrator reads and writes objects without a connection.

    Attributes:
        url: the address of the API, for clients that send the token in a header (`Authorization: Bearer …`).
        token: what every request must carry.
        kubeconfig: a file for kubectl and every client that reads one.
    """

    def __init__(self, hosting: Hosting, nodes: int, folder: Path) -> None:
        hosted, front = _with_faults(hosting, nodes)
        token = hosting.token
        self.url = hosted.url
        self.token = token
        self._hosted = hosted
        self._folder = folder
        self._front = front
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(kubeconfig(hosted.url, token), encoding="utf-8")
        self._thread = _ServingThread(hosted)
        super().__init__(self._answer, self._served_now)

    def user(self, name: str = "tester", namespace: str = DEFAULT_NAMESPACE) -> ClusterUser:
        """A user with a ServiceAccount of that name, which is created if need be, and so is the namespace."""
        if namespace != DEFAULT_NAMESPACE:
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        self.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}, namespace)
        token = self._token(namespace, name)
        path = self._folder / f"{namespace}-{name}.kubeconfig"
        path.write_text(kubeconfig(self.url, token, namespace=namespace), encoding="utf-8")
        full_name = service_account(namespace, name, "", {}).name
        faults = self._thread.call(lambda: self._front.faults_of(full_name, self._resource))
        return ClusterUser(full_name, namespace, (self.url, token), path, faults, self._served_now)

    def stop_time(self) -> None:
        """Lets the cluster's clock stand still: nothing happens that takes time, until `set_time_speed`."""
        self.set_time_speed(0)

    def set_time_speed(self, times: float) -> None:
        """Lets the cluster's clock go this many times as fast as the system's; 1 is as usual."""
        self._thread.call(lambda: self._hosted.set_time(rate=times))

    def advance_time(self, seconds: float) -> None:
        """Puts the cluster's clock forward; what is due by then is done, in its order."""
        self._thread.call(lambda: self._hosted.set_time(advance_ns=int(seconds * SECOND)))

    def wait_until(
        self, condition: str | Callable[[LiveCluster], Any], timeout: float = 10.0, namespace: str = DEFAULT_NAMESPACE
    ) -> Any:
        """Waits until something holds; raises TimeoutError, with what was seen last, if that takes too long.

        Args:
            condition: `"deployment/web available"`, `"pod/web running"`, `"pod/web exists"`, `"pod/web gone"`: a
                condition or a phase of an object; or a function of this cluster. A function that returns nothing
                true, fails an assertion or looks for what is not there (yet) is called again.
            timeout: in seconds of this process's time, however fast the cluster is.
            namespace: of the object that the text names.

        Returns: what the function returned, or the object.
        """
        awaited = condition_of(condition, namespace)
        gives_up_at = time.monotonic() + timeout
        while True:
            holds, seen = _looked(awaited, self)
            if holds:
                return seen
            if time.monotonic() >= gives_up_at:
                raise TimeoutError(f"{awaited.says} did not hold within {timeout:g} s; {awaited.described(seen)}")
            time.sleep(_LOOKS_EVERY_S)

    def _answer(self, request: Request) -> Answer:
        answer = self._thread.run(self._hosted.application.answer_in_turn(request))
        assert isinstance(answer, Answer), "nothing here asks for a watch"
        return answer

    def _served_now(self) -> Sequence[Resource]:
        catalogue = self._hosted.application.registry.catalogue
        return self._thread.call(lambda: in_discovery_order(catalogue.custom, catalogue.built_in))

    def _stop(self) -> None:
        self._thread.stop()


def _looked(condition: WaitCondition, cluster: LiveCluster) -> tuple[bool, Any]:
    """Whether the condition holds, and what was seen."""
    try:
        return condition.look(cluster)
    except (AssertionError, LookupError) as error:
        return False, error
    except Refusal as error:
        if error.code != 404:
            raise
        return False, error


@contextmanager
def cluster(
    nodes: int = 3,
    speed: str | float = "100x",
    scheduler: bool = True,
    controllers: bool = True,
    config: str | Path | Mapping[str, Any] | None = None,
    feature_gates: GateSettings = None,
    kubernetes_version: str = DEFAULT_RELEASE.version,
) -> Iterator[LiveCluster]:
    """A cluster that runs while the block does: `with cluster(nodes=3) as k: …`.

    Args:
        nodes: how many nodes it starts with.
        speed: how much faster than real kubelets its own start and stop pods, such as `"100x"`.
        scheduler: whether pods are scheduled; without, bind them yourself.
        controllers: whether controllers and kubelets run; without, nothing changes but what clients write.
        config: a KubeSchedulerConfiguration: a file, or its content as a dict.
        feature_gates: as kube-scheduler takes them; `"GenericWorkload=true"` adds pod groups to the API, too.
        kubernetes_version: whose API is served and whose scheduler decides, such as `"1.37"`.
    """
    release = release_named(kubernetes_version)
    hosting = Hosting(
        token=secrets.token_urlsafe(12),
        speed=_times(speed),
        with_scheduler=scheduler,
        with_controllers=controllers,
        configuration=load_configuration(config, feature_gates, release=release, with_groups=True),
    )
    with tempfile.TemporaryDirectory(prefix="bayplan-") as folder:
        running = LiveCluster(hosting, nodes, Path(folder))
        try:
            yield running
        finally:
            running._stop()


def _with_faults(hosting: Hosting, nodes: int) -> tuple[HostedCluster, FaultyFront]:
    """A cluster that is not served yet, and what stands between its API and its users."""
    fronts: list[FaultyFront] = []

    def front(hosted: HostedCluster) -> FaultyFront:
        fronts.append(FaultyFront(hosted.application))
        return fronts[0]

    hosted = HostedCluster(hosting, plain_nodes(nodes, time.time_ns(), hosting.configuration.release), front=front)
    return hosted, fronts[0]


def _times(speed: str | float) -> float:
    try:
        times = float(speed.removesuffix("x") if isinstance(speed, str) else speed)
    except ValueError:
        times = 0.0
    if not times > 0:
        raise ValueError(f"speed: {speed!r} is not a number of times, such as '10x'")
    return times


class _ServingThread:
    """A thread with the event loop in which the cluster lives."""

    def __init__(self, hosted: HostedCluster) -> None:
        self._hosted = hosted
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"cluster {hosted.url}", daemon=True)
        self._thread.start()
        self._ready.wait(_STARTS_WITHIN_S)
        self._raise_failure()

    def call(self, function: Callable[[], T]) -> T:
        """What the function returns when it is called in the cluster's thread, between two requests."""
        outcome: Future[T] = Future()
        try:
            with serving(
                self._hosted.kubernetes_version, self._hosted.gates
            ):  # the loop calls it in the context of now
                self._loop.call_soon_threadsafe(_resolve, outcome, function)
        except RuntimeError:
            self._raise_failure()
            raise RuntimeError("this cluster has stopped") from None
        return outcome.result(_STARTS_WITHIN_S)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns in the cluster's thread."""
        try:
            with serving(self._hosted.kubernetes_version, self._hosted.gates):
                outcome = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            self._raise_failure()
            raise RuntimeError("this cluster has stopped") from None
        return outcome.result(_STARTS_WITHIN_S)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._hosted.stop)
            self._thread.join(_STOPS_WITHIN_S)
        if self._thread.is_alive():
            raise RuntimeError(f"the cluster did not stop within {_STOPS_WITHIN_S:g} s")
        self._raise_failure()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # raised again in the thread that uses the cluster
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        running = asyncio.ensure_future(self._hosted.run())
        starting = asyncio.ensure_future(self._hosted.started())
        await asyncio.wait({running, starting}, return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
        self._ready.set()
        await running

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise RuntimeError("the cluster failed") from self._failure


def _resolve(outcome: Future[T], function: Callable[[], T]) -> None:
    try:
        outcome.set_result(function())
    except BaseException as error:  # raised again in the thread that asks
        outcome.set_exception(error)
