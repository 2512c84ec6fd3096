"""Checks of flow schemas and priority levels. Upstream: pkg/apis/flowcontrol/validation/validation.go (v1.36)."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, log2

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import range_faults
from bayplan.model.dns_names import label_faults, subdomain_faults

_PRECEDENCE_MAX, _QUEUES_MAX, _HASH_BITS_MAX = 10_000, 10_000_000, 60
_EXEMPT, _LIMITED = "Exempt", "Limited"
_DISTINGUISHERS = ("ByNamespace", "ByUser")
_VERBS = (*("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"),)
#: Where each kind of subject has its details, and what it is called.
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_NAMESPACE_INTRO = "each member of this list must be '*' or a DNS-1123 label; "


def check_flow_schema(schema: Document, faults: Faults) -> None:
    spec, name = schema["spec"], schema["metadata"].get("name", "")
    precedence, path = spec["matchingPrecedence"], "spec.matchingPrecedence"
    if precedence <= 0:
        faults.invalid(path, precedence, "must be a positive value")
    if precedence > _PRECEDENCE_MAX:
        faults.invalid(path, precedence, f"must not be greater than {_PRECEDENCE_MAX}")
    if precedence == 1 and name != "exempt":
        faults.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method["type"] not in _DISTINGUISHERS:
        faults.unsupported("spec.distinguisherMethod.type", {"Type": method["type"]}, _DISTINGUISHERS)
    level = spec["priorityLevelConfiguration"]["name"]
    faults.named("spec.priorityLevelConfiguration.name", level, subdomain_faults, "must reference a priority level")
    for position, rule in enumerate(spec.get("rules") or ()):
        _check_rule(rule, faults, f"spec.rules[{position}]")


def _check_rule(rule: Document, faults: Faults, path: Path) -> None:
    subjects = rule.get("subjects") or ()
    if not subjects:
        faults.required(f"{path}.subjects", "subjects must contain at least one value")
    for position, subject in enumerate(subjects):
        _check_subject(subject, faults, f"{path}.subjects[{position}]")
    resource_rules, url_rules = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resource_rules and not url_rules:
        faults.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for position, each in enumerate(resource_rules):
        _check_resource_rule(each, faults, f"{path}.resourceRules[{position}]")
    for position, each in enumerate(url_rules):
        _check_url_rule(each, faults, f"{path}.nonResourceRules[{position}]")


def _check_subject(subject: Document, faults: Faults, path: Path) -> None:
    kind = subject["kind"]
    if kind not in _SUBJECTS:
        faults.unsupported(f"{path}.kind", kind, sorted(_SUBJECTS))
        return
    field = _SUBJECTS[kind]
    details = subject.get(field)
    if details is None:
        faults.required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'")
    elif kind == "ServiceAccount":
        name = details["name"]
        faults.named(f"{path}.{field}.name", name, lambda text: () if text == "*" else subdomain_faults(text))
        text = "must specify namespace for service account"
        faults.named(f"{path}.{field}.namespace", details["namespace"], label_faults, text)
    elif not details["name"]:
        faults.required(f"{path}.{field}.name")
    for other, other_field in _SUBJECTS.items():
        if other != kind and other_field in subject:
            text = f"{other_field} is forbidden when subject kind is not '{other}'"
            faults.forbidden(f"{path}.{other_field}", text)


def _check_verbs(verbs: Sequence[str], faults: Faults, path: Path) -> None:
    if not verbs:
        faults.required(path, "verbs must contain at least one value")
    elif "*" in verbs:
        _check_alone(verbs, "verbs", faults, path)
    elif not {*verbs} <= {*_VERBS}:
        faults.unsupported(path, verbs, _VERBS)


def _check_alone(values: Sequence[str], what: str, faults: Faults, path: Path) -> None:
    """A star stands for everything, so nothing may be beside it."""
    if "*" in values and len(values) > 1:
        faults.invalid(path, values, f"if '*' is present, must not specify other {what}")


def _check_resource_rule(rule: Document, faults: Faults, path: Path) -> None:
    _check_verbs(rule.get("verbs") or [], faults, f"{path}.verbs")
    groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
    namespaces = rule.get("namespaces") or []
    if not groups:
        faults.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    _check_alone(groups, "api groups", faults, f"{path}.apiGroups")
    if not resources:
        faults.required(f"{path}.resources", "resource rules must supply at least one resource")
    _check_alone(resources, "resources", faults, f"{path}.resources")
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        faults.required(f"{path}.namespaces", text)
    _check_alone(namespaces, "namespaces", faults, f"{path}.namespaces")
    if "*" not in namespaces:
        for position, namespace in enumerate(namespaces):
            texts = (f"{_NAMESPACE_INTRO}{fault}" for fault in label_faults(namespace))
            faults.all_invalid(f"{path}.namespaces[{position}]", namespace, texts)


def _check_url_rule(rule: Document, faults: Faults, path: Path) -> None:
    _check_verbs(rule.get("verbs") or [], faults, f"{path}.verbs")
    urls = rule.get("nonResourceURLs") or []
    if not urls:
        faults.required(f"{path}.nonResourceURLs", "nonResourceURLs must contain at least one value")
    _check_alone(urls, "non-resource URLs", faults, f"{path}.nonResourceURLs")
    if "*" not in urls:
        for position, url in enumerate(urls):
            _check_url(url, faults, f"{path}.nonResourceURLs[{position}]")


def _check_url(url: str, faults: Faults, path: Path) -> None:
    if not url:
        faults.invalid(path, url, "must not be empty")
    elif url == "/":
        return
    elif not url.startswith("/"):
        faults.invalid(path, url, "must start with slash")
    elif " " in url:
        faults.invalid(path, url, "must not contain white-space")
    elif "//" in url:
        faults.invalid(path, url, "must not contain double slash")
    elif "*" in url and (url.count("*") > 1 or not url.endswith("/*")):
        faults.invalid(path, url, "wildcard can only do suffix matching")


def check_priority_level(level: Document, faults: Faults) -> None:
    spec, name = level["spec"], level["metadata"].get("name", "")
    kind, limited, exempt = spec["type"], spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == _EXEMPT):
        faults.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind == _EXEMPT:
        if limited is not None:
            faults.declared.forbidden("spec.limited", "must be nil if the type is not Limited")
        if exempt is not None:
            _check_shares(exempt, faults, "spec.exempt")
    elif kind == _LIMITED:
        if exempt is not None:
            faults.declared.forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            faults.declared.required("spec.limited", "must not be empty when type is Limited")
        else:
            _check_limited(limited, faults)
    else:
        faults.one_of("spec.type", kind, (_EXEMPT, _LIMITED))
        if limited is not None and admission_release().declarations_report:
            faults.declared.forbidden("spec.limited", "")


def _check_shares(part: Document, faults: Faults, path: Path) -> None:
    shares = part.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        faults.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    if path == "spec.limited":
        _check_response(part["limitResponse"], faults, f"{path}.limitResponse")
    percent = part.get("lendablePercent")
    if percent is not None:
        faults.all_invalid(f"{path}.lendablePercent", percent, range_faults(percent, 0, 100))


def _check_limited(limited: Document, faults: Faults) -> None:
    _check_shares(limited, faults, "spec.limited")
    percent = limited.get("borrowingLimitPercent")
    if percent is not None and percent < 0:
        faults.invalid("spec.limited.borrowingLimitPercent", percent, "if specified, must be a non-negative integer")


def _check_response(response: Document, faults: Faults, path: Path) -> None:
    kind, queuing = response["type"], response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            faults.declared.forbidden(f"{path}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind != "Queue":
        faults.one_of(f"{path}.type", kind, ("Queue", "Reject"))
    elif queuing is None:
        faults.declared.required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    else:
        _check_queuing(queuing, faults, f"{path}.queuing")


def _check_queuing(queuing: Document, faults: Faults, path: Path) -> None:
    length, queues, hand = (queuing[field] for field in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        faults.invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        faults.invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _QUEUES_MAX:
        faults.invalid(f"{path}.queues", queues, f"must not be greater than {_QUEUES_MAX}")
    if hand <= 0:
        faults.invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        faults.invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif _entropy_bits(queues, hand) > _HASH_BITS_MAX:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        faults.invalid(f"{path}.handSize", hand, f"{text} {_HASH_BITS_MAX}")


def _entropy_bits(deck: int, hand: int) -> int:
    """How many bits it takes to deal a hand, as upstream counts them."""
    ways = comb(deck, hand)
    for factor in range(2, hand + 1):
        ways *= factor
    return -int(-log2(ways) // 1)
