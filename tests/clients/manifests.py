"""Objects that every client library is tried with."""

from __future__ import annotations

from typing import Any

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}

SHIPS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.sea.example}
spec:
  group: sea.example
  names: {kind: Ship, plural: ships, singular: ship}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {bays: {type: integer, minimum: 1}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


def pod(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }


def ship(name: str, bays: int) -> dict[str, Any]:
    return {"apiVersion": "sea.example/v1", "kind": "Ship", "metadata": {"name": name}, "spec": {"bays": bays}}
