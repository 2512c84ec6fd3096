"""The page about the API of `bayplan up` beside that of kube-apiserver: `docs/api-parity.md`.

    python -m website.reference.api_parity

writes it. Kinds, verbs and subresources are asked of the code. What admission plugins do is said here, with the test
that shows it; verdicts of Kubernetes' own tests are in `e2e-verdicts.txt` next to this file, those of clients' tests in
`client-suites.txt`.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.http.subresources import handler_of, needs_a_kubelet
from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.schema.resources import RESOURCES, Resource, Subresource
from bayplan.store.errors import MethodNotAllowed
from website.reference.markdown import code, prose, table

PAGE = Path(__file__).resolve().parents[2] / "docs/api-parity.md"
RECORDINGS = Path(__file__).resolve().parents[2] / "tests/recordings"
VERDICTS = Path(__file__).with_name("e2e-verdicts.txt")
CLIENT_SUITES = Path(__file__).with_name("client-suites.txt")
WORKS, DIFFERS, MISSING = "works", "differs", "missing"
#: Served by the application itself.
_OF_APPLICATION = frozenset({"token"})
#: Served, but not with what a container would have written.
_IN_OTHER_WORDS = frozenset({"log"})
_PLUGINS = "tests/unit/apiserver/admitting/plugins/"


class Plugin(NamedTuple):
    """An admission plugin that kube-apiserver has on by default."""

    name: str
    verdict: str
    note: str = ""
    shown_by: str = ""


# Upstream: defaultOnPlugins in pkg/kubeapiserver/options/plugins.go (v1.36), without those of alpha features.
ADMISSION = (
    Plugin("NamespaceLifecycle", WORKS, "", f"{_PLUGINS}test_namespaces.py"),
    Plugin("LimitRanger", WORKS, "", f"{_PLUGINS}test_limit_ranges.py"),
    Plugin(
        "ServiceAccount",
        DIFFERS,
        "does not look at `kubernetes.io/enforce-mountable-secrets`; the account `default` is taken for granted",
        f"{_PLUGINS}test_service_accounts.py",
    ),
    Plugin(
        "TaintNodesByCondition",
        WORKS,
        "off with `--no-controllers`, which take the taint away",
        f"{_PLUGINS}test_new_nodes.py",
    ),
    Plugin("PodSecurity", DIFFERS, "enforces and warns; there is no audit log"),
    Plugin("Priority", WORKS, "", f"{_PLUGINS}test_priorities.py"),
    Plugin("DefaultTolerationSeconds", WORKS, "", "tests/unit/apiserver/admitting/test_recorded.py"),
    Plugin("DefaultStorageClass", WORKS, "", f"{_PLUGINS}test_default_classes.py"),
    Plugin("StorageObjectInUseProtection", WORKS, "", "tests/unit/apiserver/housekeeping/test_protection.py"),
    Plugin("PersistentVolumeClaimResize", WORKS, "", f"{_PLUGINS}test_volume_growth.py"),
    Plugin("RuntimeClass", WORKS, "", f"{_PLUGINS}test_default_classes.py"),
    Plugin("CertificateApproval", DIFFERS, "everybody may approve"),
    Plugin("CertificateSigning", DIFFERS, "everybody may sign"),
    Plugin("CertificateSubjectRestriction", WORKS, "", f"{_PLUGINS}test_certificate_subjects.py"),
    Plugin("ClusterTrustBundleAttest", MISSING, "its kind is not served by default"),
    Plugin("DefaultIngressClass", WORKS, "", f"{_PLUGINS}test_default_classes.py"),
    Plugin("PodTopologyLabels", WORKS, "", "tests/unit/store/test_binding.py"),
    Plugin("PodResizeValidator", WORKS, "kubelets then carry out every resize at once", f"{_PLUGINS}test_resizes.py"),
    Plugin("NodeDeclaredFeatureValidator", WORKS, "", f"{_PLUGINS}test_resizes.py"),
    Plugin(
        "MutatingAdmissionPolicy",
        DIFFERS,
        "not asked about Scales, CONNECT, and changes by the cluster's own controllers",
        "tests/unit/apiserver/policies/test_mutating.py",
    ),
    Plugin("MutatingAdmissionWebhook", MISSING, "no webhook is called"),
    Plugin(
        "ValidatingAdmissionPolicy",
        DIFFERS,
        "not asked about CONNECT, nor about changes and deletions by the cluster's own controllers; audit annotations "
        "go to the server's log; in CEL there are no comprehensions of two variables, and no texts of IP addresses",
        "tests/unit/apiserver/policies/test_validating.py",
    ),
    Plugin("ValidatingAdmissionWebhook", MISSING, "no webhook is called"),
    Plugin("ResourceQuota", WORKS, "", f"{_PLUGINS}test_quotas.py"),
)


def page() -> str:
    parts = (_opening, _kinds, _subresources, _admission, _recorded, _client_suites, _verdicts)
    lines = [line for part in parts for line in part()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _opening() -> Iterator[str]:
    yield from ("# Parity with kube-apiserver", "")
    yield "What the API of [`bayplan up`](guide/up.md) does as kube-apiserver v1.36 does, what differs, and what is"
    yield "missing. All kinds of which a default server stores objects are served, and those of custom resources."
    yield "Alpha and beta versions, which a default server does not serve either, are not."
    yield ""
    yield "With `--kubernetes-version 1.37`, kinds, fields, discovery, OpenAPI, defaults and checks of values are those"
    yield "of v1.37 (v1.37.0-rc.1); fields that wait for a gate which is off by default are dropped."
    yield "ClusterTrustBundles and PodCertificateRequests are stored, to no effect. StorageVersionMigrations succeed at"
    yield "once, as there is nothing to migrate."
    yield ""
    yield "This page is written by `python -m website.reference.api_parity`; a test compares it with the code."


def _kinds() -> Iterator[str]:
    yield from ("", "## Kinds and verbs", "")
    yield "*Differs* means that objects are stored, changed, listed and watched as usual, but that nothing comes of"
    yield "them; whoever creates one gets a `Warning` that says so. All verbs that a kind has in kube-apiserver work,"
    yield "with selectors, tables, all four kinds of patches and dry runs. Who accepts JSON and protobuf gets JSON."
    yield from table(("API version", "Kind", "Verbs", "Verdict", ""), (_kind_row(one) for one in _sorted()))


def _sorted() -> list[Resource]:
    return sorted(RESOURCES, key=lambda resource: (resource.group, resource.kind, resource.version))


def _kind_row(resource: Resource) -> tuple[str, ...]:
    reason = kind_of(resource).without_effect
    verdict = DIFFERS if reason else WORKS
    return resource.api_version, code(resource.kind), ", ".join(resource.verbs), verdict, prose(reason)


def _subresources() -> Iterator[str]:
    yield from ("## Subresources", "")
    found: dict[tuple[str, str, str], list[str]] = {}
    for resource in _sorted():
        for subresource in resource.subresources:
            key = (subresource.name, ", ".join(subresource.verbs), verdict_of(resource, subresource))
            found.setdefault(key, []).append(resource.kind)
    rows = (
        (code(name), ", ".join(dict.fromkeys(kinds)), verbs, verdict)
        for (name, verbs, verdict), kinds in sorted(found.items())
    )
    yield from table(("Subresource", "Of", "Verbs", "Verdict"), rows)
    yield "Those that need a container are missing: nodes are simulated and run none. Logs say what happened to the"
    yield "container instead. `metrics.k8s.io/v1beta1` (`kubectl top`) is served from annotations and requests, and"
    yield "`bayplan/v1` has [NodePools and Autoscalers](guide/autoscaling.md#in-bayplan-up), bayplan's own kinds."


def verdict_of(resource: Resource, subresource: Subresource) -> str:
    """Whether all its verbs are served."""
    if subresource.name in _OF_APPLICATION:
        return WORKS
    target = Target(resource, subresource=subresource.name)
    if needs_a_kubelet(target):
        return MISSING
    if subresource.name in _IN_OTHER_WORDS:
        return DIFFERS
    for verb in subresource.verbs:
        try:
            handler_of(target, verb)
        except MethodNotAllowed:
            return DIFFERS
    return WORKS


def _admission() -> Iterator[str]:
    yield from (
        "",
        "## Admission",
        "",
        "The plugins that kube-apiserver has on by default, without those of alpha features.",
    )
    rows = ((plugin.name, plugin.verdict, plugin.note, code(plugin.shown_by)) for plugin in ADMISSION)
    yield from table(("Plugin", "Verdict", "", "Shown by"), rows)
    yield "Authorization is missing: whoever has the administrator's token or a ServiceAccount's may do everything."
    yield "A ServiceAccount's token (TokenRequest) is its own; TokenReview and `request.userInfo` know whose it is."


class ClientSuite(NamedTuple):
    """The tests that a client library has for clusters."""

    name: str
    version: str
    passed: int
    failures: list[tuple[str, str]]
    """Tests, and why they fail."""


def client_suites() -> list[ClientSuite]:
    found: list[ClientSuite] = []
    for line in CLIENT_SUITES.read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            name, reason = line.strip().split("\t")
            found[-1].failures.append((name, reason))
        else:
            suite, version, passed = line.split("\t")
            found.append(ClientSuite(suite, version, int(passed), []))
    return found


def _client_suites() -> Iterator[str]:
    suites = client_suites()
    yield from ("", "## Client libraries' own tests", "")
    yield "Those that need a cluster, run against `bayplan up --tls`, with pods in `kube-system`, as all others have"
    yield "them. No failure is a bug that is known here."
    counts = ((one.name, one.version, str(one.passed), str(len(one.failures))) for one in suites)
    yield from table(("Suite", "Version", "Passed", "Failed"), counts)
    failures = ((one.name, prose(test), reason) for one in suites for test, reason in one.failures)
    yield from ("Those that fail:", *table(("Suite", "Test", "Because"), failures))


class Verdict(NamedTuple):
    """Of one of Kubernetes' own tests."""

    passed: bool
    group: str
    name: str
    reason: str = ""


def verdicts() -> list[Verdict]:
    found = []
    for line in VERDICTS.read_text(encoding="utf-8").splitlines():
        word, name, *reason = line.split("\t")
        group, _, rest = name.partition("] ")
        found.append(Verdict(word == "pass", group.removeprefix("["), rest, *reason))
    return sorted(found, key=lambda verdict: (verdict.group, verdict.name))


def _recorded() -> Iterator[str]:
    counts = [_requests_in(name) for name in ("admission", "admission_drawn", "admission_tables")]
    lines = (RECORDINGS / "admission_differences.txt").read_text(encoding="utf-8").splitlines()
    different = sum(len(line.split()) for line in lines if not line.startswith("#"))
    yield from ("", "## Recorded answers", "")
    yield f"{sum(counts):,} requests of all kinds, valid and invalid, with what kube-apiserver v1.36.4 answered, are in"
    yield f"the repository and are played in each run of the tests. {counts[1]:,} of them were drawn at random and kept"
    yield "because they reached a part of the checks that none before them did, so they are odder than usual."
    yield f"{counts[2]:,} are full documents with one thing changed: values at, below and above each bound, words that"
    yield "are no member of an enumeration, fields that are empty or missing. Code, causes, message, warnings,"
    yield f"stored document and field ownership are the same for all but {different}, which"
    yield "`tests/recordings/admission_differences.txt` lists with reasons."


def _requests_in(name: str) -> int:
    with lzma.open(RECORDINGS / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return sum(1 for _ in lines)


def _verdicts() -> Iterator[str]:
    known = verdicts()
    passed = sum(verdict.passed for verdict in known)
    yield from ("", "## Kubernetes' own tests", "")
    yield f"Of {len(known)} tests of `test/e2e` (v1.36.4) that were run against `bayplan up`, {passed} pass; the others"
    yield "of the suite need containers, mounts or webhooks. Each verdict is that of the test's last run. The nodes had"
    yield "local storage, and where the container of a Job runs a program that bayplan does not know, the annotations"
    yield "`bayplan/run-seconds` and `bayplan/exit-code` said how it ends."
    yield from table(("Group", "Passed", "Failed"), (_counts(group, [*those]) for group, those in _grouped(known)))
    failed = ((one.group, prose(one.name), one.reason) for one in known if not one.passed)
    yield from ("Those that fail:", *table(("Group", "Test", "Because"), failed))
    for group, those in _grouped(known):
        yield from (f"### {group}: passed", "")
        yield from (f"- {prose(one.name)}" for one in those if one.passed)
        yield ""


def _grouped(known: list[Verdict]) -> Iterator[tuple[str, Iterator[Verdict]]]:
    return groupby(known, key=lambda verdict: verdict.group)


def _counts(group: str, those: list[Verdict]) -> tuple[str, ...]:
    passed = sum(one.passed for one in those)
    return group, str(passed), str(len(those) - passed)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
