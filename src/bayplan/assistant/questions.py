"""The questions that an assistant can ask, each with plain arguments and a `Reply`.

The cluster comes from where the person who starts the server says; an assistant cannot name files or other clusters.
Manifests are text in the question. The docstrings are what an assistant reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.cluster import Cluster
from bayplan.assistant.replies import Reply, reply_of
from bayplan.assistant.seclusion import Seclusion
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.node import Node
from bayplan.model.reading import ReadResult, from_texts
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.yaml_documents import YamlError, parse_yaml
from bayplan.report.answers.audit import audit_parts
from bayplan.report.answers.capacity import capacity_parts
from bayplan.report.answers.consolidate import consolidation_parts
from bayplan.report.answers.defrag import defrag_parts
from bayplan.report.answers.drain import drain_parts
from bayplan.report.answers.exposure import exposure_parts, ranking_parts
from bayplan.report.answers.fix import fix_parts
from bayplan.report.answers.parts import Part
from bayplan.report.answers.pending import pending_parts
from bayplan.report.answers.plan import plan_parts
from bayplan.report.answers.whatif import whatif_parts
from bayplan.report.explain.explanation import explanation_parts

#: `cpu=8,memory=32Gi`: what no file is called here.
_REQUESTS = re.compile(r"[A-Za-z][\w./-]*=[0-9.]+[A-Za-z]*(,[A-Za-z][\w./-]*=[0-9.]+[A-Za-z]*)*")
_PLAIN_NODES = re.compile(r"[0-9.]+[A-Za-z]*(,[0-9.]+[A-Za-z]*|,[A-Za-z][\w./-]*:[0-9.]+[A-Za-z]*)*=[0-9]+")
_FILE = re.compile(r"\.(ya?ml|json|gz)$|^-$")
_SECONDS = 20.0
_FAULTS_MAX = 10


@dataclass(frozen=True, slots=True)
class Questions:
    """About one cluster, which `read` reads again for each question."""

    read: Callable[[], Cluster]
    config: str | None = None
    namespace: str = ""  # the tenant's; "" for the whole cluster
    most_bytes: int = 60_000

    def pending(self, namespace: str = "", selector: str = "") -> Reply:
        """List the pending pods by workload, with one line of why for each. Start here.

        namespace: only pods of this namespace; empty for all. selector: only pods with these labels (app=web).
        """
        asked = self._asked()
        found = asked.cluster.pending(self.namespace or namespace, selector, self.config)
        return asked.reply(pending_parts(found), found.to_dict())

    def explain(self, pod: str, least_disruption: bool = False) -> Reply:
        """Explain why a pod is pending or where it would go: causes by node, scores, and which pods it would preempt.

        pod: NAME, NAMESPACE/NAME, or a workload as [NAMESPACE/]KIND/NAME (deployment/web). least_disruption: also the
        fewest victims that any preemption could need.
        """
        asked = self._asked(pod)
        document = asked.cluster.explain(pod, self.config, namespace=asked.namespace).document()
        if least_disruption:
            least = asked.cluster.least_disruption(pod, self.config, namespace=asked.namespace)
            document["leastDisruption"] = least.to_dict()
        return asked.reply(explanation_parts(document), document)

    def fix(self, pod: str) -> Reply:
        """Find the smallest changes that let a pending pod run; each was played to its end, and has kubectl commands.

        pod: NAME, NAMESPACE/NAME, or a workload as [NAMESPACE/]KIND/NAME. Nothing is changed: a person decides.
        """
        asked = self._asked(pod)
        found = asked.cluster.fix(pod, self.config, namespace=asked.namespace)
        return asked.reply(fix_parts(found), found.to_dict())

    def whatif(
        self,
        manifests: str = "",
        delete: list[str] | None = None,
        drain: list[str] | None = None,
        add_nodes: list[str] | None = None,
    ) -> Reply:
        """Work out what a change would do: which pods get a node, are evicted and by what, or stay pending.

        manifests: YAML to apply. delete: objects as KIND/NAME. drain: names of nodes. add_nodes: copies of a node as
        NODE=3, or plain nodes as 8cpu,32Gi=3. Nothing is applied.
        """
        asked = self._asked(*(delete or ()))
        for text in add_nodes or ():
            asked.check_nodes(text)
        found = asked.cluster.whatif(
            [asked.manifests(manifests)] if manifests else [],
            delete=delete or (),
            drain=drain or (),
            add_nodes=add_nodes or (),
            namespace=asked.namespace,
            config=self.config,
        )
        return asked.reply(whatif_parts(found, {}), found.to_dict())

    def drain(self, nodes: list[str], selector: str = "", rolling: bool = False) -> Reply:
        """Find out whether nodes can be drained: where each pod goes, and which disruption budgets block it.

        nodes: their names. selector: also all nodes with these labels. rolling: each is back before the next one goes.
        """
        asked = self._asked()
        found = asked.cluster.drain(nodes, selector=selector, rolling=rolling, config=self.config)
        return asked.reply(drain_parts(found), found.to_dict())

    def exposure(self, pod: str = "", against: str = "", priority_class: str = "") -> Reply:
        """Find out what could evict a pod, or rank all workloads by how easily they are evicted.

        pod: NAME, NAMESPACE/NAME or [NAMESPACE/]KIND/NAME; empty to rank. against: YAML of pods or workloads: would
        they evict it? priority_class: rank only workloads of this class.
        """
        asked = self._asked(pod)
        if not pod:
            ranking = asked.cluster.exposure_ranking(
                self.config, namespace=self.namespace, priority_class=priority_class
            )
            return asked.reply(ranking_parts(ranking), ranking.to_dict())
        given = [asked.manifests(against)] if against else []
        found = asked.cluster.exposure(pod, self.config, namespace=asked.namespace, against=given)
        return asked.reply(exposure_parts(found), found.to_dict())

    def capacity(self, requests: str = "", workload: str = "", replicas: int | None = None) -> Reply:
        """Count how many more pods fit, pool by pool, and what runs out first.

        requests: of one such pod, as cpu=500m,memory=1Gi. workload: or more pods of KIND/NAME. replicas: check whether
        this many fit, and how many nodes it would take.
        """
        asked = self._asked(workload)
        if requests and not _REQUESTS.fullmatch(requests):
            raise _refused("requests", f"{requests!r}: expected requests such as cpu=500m,memory=1Gi")
        found = asked.cluster.capacity(
            [requests] if requests else [],
            [workload] if workload else [],
            self.config,
            namespace=asked.namespace,
            replicas=replicas,
        )
        return asked.reply(capacity_parts(found), found.to_dict())

    def audit(self) -> Reply:
        """Find problems before they hurt: budgets, requests, priorities, constraints, and the failure of any node."""
        asked = self._asked()
        found = asked.cluster.audit(self.config)
        return asked.reply(audit_parts(found), found.to_dict())

    def defrag(self, wanted: str, max_moves: int = 50) -> Reply:
        """Find the fewest running pods to move so that another one fits: which, in which order, and where each goes.

        wanted: a pending pod, [NAMESPACE/]KIND/NAME, or requests as cpu=8,memory=32Gi. Nothing is moved.
        """
        is_request = "=" in wanted
        asked = self._asked("" if is_request else wanted)
        if not _REQUESTS.fullmatch(wanted) if is_request else _FILE.search(wanted):
            raise _refused("wanted", f"{wanted!r}: expected a pod, a workload, or requests such as cpu=8,memory=32Gi")
        found = asked.cluster.defrag(
            wanted, namespace=asked.namespace, max_moves=max_moves, seconds=_SECONDS, config=self.config
        )
        return asked.reply(defrag_parts(found), found.to_dict())

    def consolidate(self, selector: str = "", max_nodes: int | None = None, max_moves: int | None = None) -> Reply:
        """Find the nodes that can be given back, with every pod running elsewhere. Nothing is drained.

        selector: only nodes with these labels.
        """
        asked = self._asked()
        found = asked.cluster.consolidate(
            selector=selector, max_nodes=max_nodes, max_moves=max_moves, seconds=_SECONDS, config=self.config
        )
        return asked.reply(consolidation_parts(found, "bayplan consolidate"), found.to_dict())

    def plan(self, catalog: str, survive: str = "") -> Reply:
        """Find the cheapest nodes of a catalog that hold all pending pods, with a lower bound for the price.

        catalog: YAML, a list of node types with name, capacity and price, and if need be labels, taints, zones, max.
        survive: node or zone, to have room even without any one of them.
        """
        asked = self._asked()
        entries = [entry for document in _documents("catalog", catalog) for entry in _as_list(document)]
        found = asked.cluster.plan(entries, survive=survive, seconds=_SECONDS, config=self.config)
        return asked.reply(plan_parts(found), found.to_dict())

    def _asked(self, *references: str) -> _Asked:
        cluster = self.read()
        secluded = Seclusion(cluster.objects, self.namespace) if self.namespace else None
        if secluded is not None:
            for text in references:
                secluded.check(text)
        return _Asked(cluster, self.namespace or DEFAULT_NAMESPACE, secluded, self.most_bytes)


def message_of(questions: Questions, error: InvalidObject) -> str:
    """What an assistant may read of bad input: suggestions may name objects of other namespaces."""
    text = "; ".join(map(str, error.faults[:_FAULTS_MAX]))
    namespace = questions.namespace
    return str(Seclusion(questions.read().objects, namespace).hide(text)) if namespace else text


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question: the cluster as it is now, and who may see what."""

    cluster: Cluster
    namespace: str
    secluded: Seclusion | None
    most_bytes: int

    def manifests(self, text: str) -> ReadResult:
        """Objects as YAML text."""
        if self.secluded is not None:
            for document in _documents("manifests", text):
                self.secluded.check_object(document)
        return from_texts([("manifests", text.encode())])

    def check_nodes(self, text: str) -> None:
        """Raises InvalidObject for a template that would be a file."""
        nodes = {obj.metadata.name for obj in self.cluster.objects if isinstance(obj, Node)}
        if text.rpartition("=")[0] not in nodes and not _PLAIN_NODES.fullmatch(text):
            raise _refused("add_nodes", f"{text!r}: expected NODE=N with a node of the cluster, or 8cpu,32Gi=N")

    def reply(self, parts: Iterable[Part], document: Mapping[str, Any]) -> Reply:
        version, note = self.cluster.kubernetes_version, self.cluster.version_note
        notes = [note] if note else []
        made = reply_of(parts, document, self.most_bytes, kubernetes=f"v{version}", notes=notes)
        if self.secluded is None:
            return made
        hidden: Reply = self.secluded.hide(made)
        return hidden


def _documents(field: str, text: str) -> list[Any]:
    try:
        return [document for document in parse_yaml(text.encode()) if document is not None]
    except YamlError as error:
        raise _refused(field, f"not valid YAML: {error}") from None


def _as_list(document: Any) -> list[Any]:
    return document if isinstance(document, list) else [document]


def _refused(field: str, message: str) -> InvalidObject:
    return InvalidObject([Fault("", "", field, message)])
