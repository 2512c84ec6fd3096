"""The model holds the fields that somebody reads, and no others.

A field of a struct counts as read where any module reads an attribute of its name. Fields that are only passed on
(because a user, a template's comparison or a written status would miss them) stand in `PASSED_ON` with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.source import Tree, read_tree

PASSED_ON = {
    **dict.fromkeys(
        [
            "bayplan.model.storage.PersistentVolumeClaimStatus.current_volume_attributes_class_name",
            "bayplan.model.workloads.DaemonSetStatus.current_number_scheduled",
            "bayplan.model.workloads.DaemonSetStatus.desired_number_scheduled",
            "bayplan.model.workloads.DaemonSetStatus.number_available",
            "bayplan.model.workloads.DaemonSetStatus.number_misscheduled",
            "bayplan.model.workloads.DaemonSetStatus.number_ready",
            "bayplan.model.workloads.DaemonSetStatus.updated_number_scheduled",
            "bayplan.model.workloads.JobStatus.ready",
            "bayplan.model.workloads.ScaleStatus.current_replicas",
            "bayplan.model.workloads.ScaleStatus.update_revision",
        ],
        "the status that a controller writes for users to see",
    ),
    **dict.fromkeys(
        [
            "bayplan.model.pod.ContainerExtendedResourceRequest.request_name",
            "bayplan.model.pod.PodExtendedResourceClaimStatus.request_mappings",
        ],
        "the status that the scheduler writes for kubelets",
    ),
    "bayplan.model.groups.DisruptionMode.single": "one of two alternatives, of which only the other one is asked for",
    "bayplan.model.groups.WorkloadReference.template_name": "what a controller writes for users to see",
}
"""Fields that are written or carried, never read, with the reason."""


def unread_fields(tree: Tree, package: str) -> set[str]:
    """Fields of structs of the package that nothing in the tree reads."""
    read = {
        node.attr
        for parsed in tree.modules.values()
        for node in ast.walk(parsed)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    return {field for field in _fields(tree, package) if field.rpartition(".")[2] not in read}


def _fields(tree: Tree, package: str) -> Iterator[str]:
    for module, parsed in tree.modules.items():
        if module.startswith(f"{package}."):
            for node in parsed.body:
                if isinstance(node, ast.ClassDef):
                    names = (item.target for item in node.body if isinstance(item, ast.AnnAssign))
                    yield from (f"{module}.{node.name}.{name.id}" for name in names if isinstance(name, ast.Name))


def test_every_field_of_the_model_is_read_or_has_a_reason() -> None:
    assert unread_fields(read_tree(), "bayplan.model") == PASSED_ON.keys()


def test_a_field_that_is_only_written_is_found() -> None:
    tree = Tree.of(
        model__pod="class Pod:\n    name: str = ''\n    color: str = ''\n",
        user="def f(pod, name):\n    pod.color = name\n    return pod.name, Pod(color='red')\n",
    )
    assert unread_fields(tree, "model") == {"model.pod.Pod.color"}
