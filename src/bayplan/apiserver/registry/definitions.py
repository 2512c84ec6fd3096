"""What is particular to a resource beyond its verbs: how it is printed, selected and scaled.

Of built-in resources this is known; of custom ones their CustomResourceDefinition says it.
"""

from __future__ import annotations

from bayplan.apiserver.registry.scaling import ScalePaths
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.selecting.selectable_fields import SelectableFields, fields_of
from bayplan.apiserver.tables.columns import Printer
from bayplan.apiserver.tables.printers import printer_of

_STATUS_SELECTOR = ScalePaths()


class Definitions:
    """The particulars of every resource that is served."""

    def printer(self, resource: Resource) -> Printer:
        return printer_of(resource.group, resource.plural)

    def selectable_fields(self, resource: Resource) -> SelectableFields:
        return fields_of(resource)

    def scale_paths(self, resource: Resource) -> ScalePaths:  # noqa: ARG002
        return _STATUS_SELECTOR
