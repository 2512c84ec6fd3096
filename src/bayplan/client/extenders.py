"""Extenders over HTTP, as a KubeSchedulerConfiguration names them.

Takes their configuration and where the documents of objects are found; gives what `core.framework.extender` asks for.
Bodies, addresses and texts are those of kube-scheduler; names of fields in answers count in any case, as Go has it. The
calls wait for the answer, so that they belong into a thread in which nothing else has to happen; for scores there is
one for each extender. What an answer means is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from bayplan.client.extender_documents import Documents
from bayplan.client.extender_tls import tls_context
from bayplan.client.posting import OK, Poster, PostError
from bayplan.config.schema import Extender
from bayplan.core.actions import Bind
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.events import BindAnswered
from bayplan.core.framework.extender import ChosenVictims, FilterAnswer, ScoresToCome, Victims
from bayplan.core.framework.verdict import CycleError
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.meta import Int64
from bayplan.model.pod import PodSpec
from bayplan.model.time_units import SECOND

DEFAULT_TIMEOUT_NS = 5 * SECOND


def connect_extenders(
    extenders: Sequence[Extender],
    documents: Documents,
    make: Callable[[Extender, Documents], HttpExtender] | None = None,
) -> tuple[HttpExtender, ...]:
    """Those of a configuration, in their order; `make` may make others of them than plain ones.

    Raises InvalidObject for certificates, and for ports in addresses, that cannot be used.
    """
    made, faults = [], []
    for extender in extenders:
        try:
            made.append((make or HttpExtender)(extender, documents))
        except ValueError as error:
            faults.append(Fault("", f"extender {extender.url_prefix}", "", str(error)))
    if faults:
        raise InvalidObject(faults)
    return tuple(made)


def bind_by_extender(extenders: Iterable[HttpExtender], action: Bind) -> BindAnswered:
    """Have the extender that the action names bind the pod; the answer to the action."""
    extender = next(extender for extender in extenders if extender.name == action.extender and extender.binds)
    try:
        extender.bind(action)
    except CycleError as error:
        return BindAnswered(action.pod, action.uid, error.message)
    return BindAnswered(action.pod, action.uid)


class HttpExtender:
    """One extender. May be asked by several threads at once. Raises ValueError for a bad address or certificate."""

    def __init__(
        self,
        configuration: Extender,
        documents: Documents,
        poster: Poster | None = None,
        on_trouble: Callable[[str], None] | None = None,
    ) -> None:
        """`on_trouble` is told of each new reason for which a verb gets no answer, until it gets one."""
        self._configuration = configuration
        self._documents = documents
        self._on_trouble = on_trouble
        self._troubles: dict[str, str] = {}  # by verb
        self._poster = poster or _poster_for(configuration)
        self._managed = frozenset(resource.name for resource in configuration.managed_resources)
        self._url = configuration.url_prefix.rstrip("/")
        self._asking = ThreadPoolExecutor(1, "extender")  # makes its thread when it is first needed

    @property
    def name(self) -> str:
        return self._configuration.url_prefix

    @property
    def ignorable(self) -> bool:
        return self._configuration.ignorable

    @property
    def weight(self) -> int:
        return self._configuration.weight

    @property
    def filters(self) -> bool:
        return bool(self._configuration.filter_verb)

    @property
    def scores(self) -> bool:
        return bool(self._configuration.prioritize_verb)

    @property
    def preempts(self) -> bool:
        return bool(self._configuration.preempt_verb)

    @property
    def binds(self) -> bool:
        return bool(self._configuration.bind_verb)

    @property
    def _takes_names(self) -> bool:
        return self._configuration.node_cache_capable

    def close(self) -> None:
        """Give up connections that are kept."""
        self._asking.shutdown(wait=False)
        self._poster.close()

    def is_interested(self, pod: PodInfo) -> bool:
        return not self._managed or any(name in self._managed for name in _resources(pod.spec))

    def ask_filter(self, pod: PodInfo, nodes: Sequence[str]) -> FilterAnswer:
        answer = _fields(self._send(self._configuration.filter_verb, self._arguments(pod, nodes)))
        error = _decoded(answer.get("error"), str, "")
        if error:
            raise CycleError("", error)
        names = _decoded(answer.get("nodenames"), list[str], None)
        as_objects = names is None or not self._takes_names
        if as_objects:
            listed = _decoded(answer.get("nodes"), _NodeList, _NodeList())
            names = [node.metadata.name for node in listed.items or ()]
        return FilterAnswer(
            tuple(names or ()),
            _decoded(answer.get("failednodes"), dict[str, str], {}),
            _decoded(answer.get("failedandunresolvablenodes"), dict[str, str], {}),
            as_objects,
        )

    def begin_scores(self, pod: PodInfo, nodes: Sequence[str]) -> ScoresToCome:
        return self._asking.submit(self.ask_scores, pod, nodes).result

    def ask_scores(self, pod: PodInfo, nodes: Sequence[str]) -> list[tuple[str, int]]:
        answer = self._send(self._configuration.prioritize_verb, self._arguments(pod, nodes))
        given = [_fields(entry) for entry in _decoded(answer, list[msgspec.Raw], [])]
        return [(_decoded(entry.get("host"), str, ""), _decoded(entry.get("score"), Int64, 0)) for entry in given]

    def ask_victims(self, pod: PodInfo, victims: Mapping[str, Victims]) -> dict[str, ChosenVictims]:
        given = {node: self._victims(on_node) for node, on_node in sorted(victims.items())}
        body = {
            "Pod": self._document("Pod", pod.key),
            "NodeNameToVictims": None if self._takes_names else given,
            "NodeNameToMetaVictims": given if self._takes_names else None,
        }
        answer = _fields(self._send(self._configuration.preempt_verb, body))
        chosen = _decoded(answer.get("nodenametometavictims"), dict[str, msgspec.Raw], {})
        return {node: _chosen(on_node) for node, on_node in chosen.items()}

    def bind(self, action: Bind) -> None:
        """Raises CycleError."""
        namespace, name = action.pod.split("/")
        body = {"PodName": name, "PodNamespace": namespace, "PodUID": action.uid, "Node": action.node}
        error = _decoded(_fields(self._send(self._configuration.bind_verb, body)).get("error"), str, "")
        if error:
            raise CycleError("", error)

    def _arguments(self, pod: PodInfo, nodes: Sequence[str]) -> dict[str, Any]:
        listed = None
        if not self._takes_names:
            listed = {"metadata": {}, "items": [self._document("Node", f"/{name}") for name in nodes]}
        names = list(nodes) if self._takes_names else None
        return {"Pod": self._document("Pod", pod.key), "Nodes": listed, "NodeNames": names}

    def _victims(self, victims: Victims) -> dict[str, Any]:
        if self._takes_names:
            pods: list[Any] = [{"UID": victim.uid} for victim in victims.pods]
        else:
            pods = [self._document("Pod", victim.pod) for victim in victims.pods]
        return {"Pods": pods, "NumPDBViolations": victims.violations}

    def _document(self, kind: str, key: str) -> msgspec.Raw:
        namespace, _, name = key.rpartition("/")
        document = self._documents(kind, namespace, name)
        if document is None:
            raise CycleError("", f'{kind.lower()} "{name}" not found')
        return msgspec.Raw(document)

    def _send(self, verb: str, body: Mapping[str, Any]) -> bytes:
        """The body of the answer. Raises CycleError."""
        try:
            answer = self._exchange(verb, body)
        except CycleError as error:
            if self._on_trouble is not None and self._troubles.get(verb) != error.message:
                self._troubles[verb] = error.message
                self._on_trouble(f"extender {self.name} gives no answer: {error.message}")
            raise
        self._troubles.pop(verb, None)
        return answer

    def _exchange(self, verb: str, body: Mapping[str, Any]) -> bytes:
        url = f"{self._url}/{verb}"
        try:
            answer = self._poster.post(url, msgspec.json.encode(body))
        except PostError as error:
            raise CycleError("", str(error)) from error
        if answer.status != OK:
            raise CycleError("", f"failed {verb} with extender at URL {url}, code {answer.status}")
        if not answer.body.strip():
            raise CycleError("", "EOF")
        return answer.body


def _poster_for(extender: Extender) -> Poster:
    tls = extender.tls_config
    return Poster(
        extender.url_prefix,
        (extender.http_timeout_ns or DEFAULT_TIMEOUT_NS) / SECOND,
        tls_context(extender),
        tls.server_name if tls is not None else "",
    )


class _NodeMeta(msgspec.Struct):
    name: str = ""


class _Node(msgspec.Struct):
    metadata: _NodeMeta = msgspec.field(default_factory=_NodeMeta)


class _NodeList(msgspec.Struct):
    items: list[_Node] | None = None


def _resources(spec: PodSpec) -> Iterable[str]:
    """What the pod's containers ask for, by name."""
    for container in (*spec.containers, *spec.init_containers):
        yield from container.resources.requests
        yield from container.resources.limits


def _fields(data: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """An object's fields by their names in lower case: Go takes them in any case."""
    return {name.lower(): value for name, value in _decoded(data, dict[str, msgspec.Raw], {}).items()}


def _chosen(data: msgspec.Raw) -> ChosenVictims:
    victims = _fields(data)
    pods = [_fields(pod) for pod in _decoded(victims.get("pods"), list[msgspec.Raw], [])]
    uids = tuple(_decoded(pod.get("uid"), str, "") for pod in pods)
    return ChosenVictims(uids, _decoded(victims.get("numpdbviolations"), Int64, 0))


def _decoded(data: bytes | msgspec.Raw | None, kind: Any, absent: Any) -> Any:
    """What stands there, or what stands for nothing. Raises CycleError."""
    if data is None or bytes(data) == b"null":
        return absent
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise CycleError("", f"the extender's answer cannot be read: {error}") from error
