"""Defaults of resource.k8s.io: one device, unless a request says something else.

Takes documents in wire form, completes them in place.
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.model.resource_claims import EXACT_COUNT


def default_claim(claim: Document) -> None:
    _default_claim_spec(claim["spec"])


def default_claim_template(template: Document) -> None:
    _default_claim_spec(template["spec"]["spec"])


def _default_claim_spec(spec: Document) -> None:
    for request in spec.get("devices", {}).get("requests") or ():
        alternatives = [*request.get("firstAvailable", ())]
        if "exactly" in request:
            alternatives.append(request["exactly"])
        for asked in alternatives:
            if asked.setdefault("allocationMode", EXACT_COUNT) == EXACT_COUNT:
                asked.setdefault("count", 1)
            for toleration in asked.get("tolerations", ()):
                toleration.setdefault("operator", "Equal")
