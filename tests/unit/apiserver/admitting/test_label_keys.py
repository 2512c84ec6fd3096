"""Keys of labels whose values a new pod's selectors take from the pod."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.admitting.label_keys import merge_label_keys

SELECTOR = {"matchLabels": {"app": "web"}}
KEYS = {"matchLabelKeys": ["version", "absent"], "mismatchLabelKeys": ["tenant", "absent"]}


def expressions(part: dict[str, Any]) -> Any:
    return part["labelSelector"].get("matchExpressions")


def test_every_term_about_pods_is_narrowed() -> None:
    def term() -> dict[str, Any]:
        return {"topologyKey": "zone", "labelSelector": {**SELECTOR}, **KEYS}

    affinities = {
        name: {
            "requiredDuringSchedulingIgnoredDuringExecution": [term()],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term()}],
        }
        for name in ("podAffinity", "podAntiAffinity")
    }
    merge_label_keys({"metadata": {"labels": {"version": "1", "tenant": "t"}}, "spec": {"affinity": affinities}})
    for given in affinities.values():
        required, preferred = given.values()
        for found in (required[0], preferred[0]["podAffinityTerm"]):
            assert expressions(found) == [
                {"key": "version", "operator": "In", "values": ["1"]},
                {"key": "tenant", "operator": "NotIn", "values": ["t"]},
            ]


def test_spread_constraints_are_narrowed_behind_what_they_ask_for() -> None:
    asked = {"key": "a", "operator": "Exists"}
    constraint = {"labelSelector": {"matchExpressions": [asked]}, "matchLabelKeys": ["version"]}
    merge_label_keys({"metadata": {"labels": {"version": "1"}}, "spec": {"topologySpreadConstraints": [constraint]}})
    assert expressions(constraint) == [asked, {"key": "version", "operator": "In", "values": ["1"]}]


def test_what_selects_nothing_stays_so() -> None:
    constraint = {"matchLabelKeys": ["version"]}
    merge_label_keys({"metadata": {"labels": {"version": "1"}}, "spec": {"topologySpreadConstraints": [constraint]}})
    assert constraint == {"matchLabelKeys": ["version"]}


def test_a_pod_without_labels_and_terms() -> None:
    pod: dict[str, Any] = {"metadata": {}, "spec": {"affinity": None}}
    merge_label_keys(pod)
    assert pod == {"metadata": {}, "spec": {"affinity": None}}
