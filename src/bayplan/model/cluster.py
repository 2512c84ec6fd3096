"""Namespace, PriorityClass and Service: what pods of a namespace share.

Namespaces are kept for their labels, services for the pods they select (default spreading), priority classes
for admission. See `meta` for the conventions.
"""

import msgspec

from bayplan.model.meta import Int32, ObjectPart, TopLevel


class NamespaceStatus(ObjectPart, kw_only=True):
    phase: str = ""


class Namespace(TopLevel, kw_only=True):
    status: NamespaceStatus = msgspec.field(default_factory=NamespaceStatus)


class PriorityClass(TopLevel, kw_only=True):
    """Its fields are at the top level, without a spec."""

    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None


class ServiceSpec(ObjectPart, kw_only=True):
    selector: dict[str, str] = {}


class Service(TopLevel, kw_only=True):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
