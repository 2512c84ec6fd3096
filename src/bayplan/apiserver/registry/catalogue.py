"""Which resources are served: the built-in ones and those that CustomResourceDefinitions add."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.apiserver.schema.resources import RESOURCES, Resource


class Catalogue:
    """Resources by where they are served and by what their objects say they are."""

    def __init__(self, built_in: tuple[Resource, ...] = RESOURCES) -> None:
        self.built_in = built_in
        self._custom: dict[str, list[Resource]] = {}
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self._by_name: dict[str, Resource] = {}
        self.generation = 0
        """Grows whenever what is served changes."""
        self._index(built_in)

    def _index(self, resources: Iterable[Resource]) -> None:
        for resource in resources:
            self._by_path[resource.group, resource.version, resource.plural] = resource
            self._by_kind[resource.api_version, resource.kind] = resource
            self._by_name.setdefault(resource.qualified_resource, resource)

    def at(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        return self._by_kind.get((api_version, kind))

    def stored(self, name: str) -> Resource | None:
        """What is stored under the name (`pods`, `deployments.apps`), in one of the versions that are served."""
        return self._by_name.get(name)

    def serves_group(self, group: str) -> bool:
        return any(known == group for known, _, _ in self._by_path)

    def all(self) -> list[Resource]:
        return [*self._by_path.values()]

    @property
    def custom(self) -> list[Resource]:
        """Those that definitions added."""
        return [resource for resources in self._custom.values() for resource in resources]

    def define(self, definition: str, resources: list[Resource]) -> None:
        """Serves what a CustomResourceDefinition of this name defines, and nothing else that it defined before."""
        if self._custom.get(definition, []) == resources:
            return
        if resources:
            self._custom[definition] = resources
        else:
            self._custom.pop(definition, None)
        self._by_path.clear()
        self._by_kind.clear()
        self._by_name.clear()
        self._index([*self.built_in, *self.custom])
        self.generation += 1
