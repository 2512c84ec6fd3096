"""What kube-scheduler itself may do: its two ClusterRoles with default feature gates, by version, as sets of rights.

A line is: verbs, API groups (`core` for that without a name), resources.
"""

# Upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (v1.36, v1.37).

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.role_server import Right

_READ: Final = "get,list,watch"
_BOTH: Final = f"""
create,patch,update core,events.k8s.io events
create coordination.k8s.io leases
{_READ},update coordination.k8s.io leases
create,delete,deletecollection,{_READ},patch,update coordination.k8s.io leasecandidates
{_READ} core nodes,pods,replicationcontrollers,services,namespaces
delete core pods
create core bindings,pods/binding
patch,update core pods/status
update core pods/finalizers
{_READ} apps,extensions replicasets
{_READ} apps statefulsets
{_READ} policy poddisruptionbudgets
create authentication.k8s.io tokenreviews
create authorization.k8s.io subjectaccessreviews
{_READ} storage.k8s.io csidrivers,csinodes,csistoragecapacities,storageclasses,volumeattachments
{_READ},patch,update core persistentvolumeclaims,persistentvolumes
{_READ} resource.k8s.io deviceclasses,resourceslices
create,delete,{_READ},patch,update resource.k8s.io resourceclaims
{_READ},patch,update resource.k8s.io resourceclaims/status
patch,update resource.k8s.io resourceclaims/binding
"""
_SINCE_1_37: Final = f"{_READ} resource.k8s.io devicetaintrules"
#: Where the feature gate GenericWorkload is on.
_GROUPS: Final = f"""
{_READ} scheduling.k8s.io podgroups
patch,update scheduling.k8s.io podgroups/status
"""


def _rights(table: str) -> Iterator[Right]:
    for line in filter(None, table.splitlines()):
        verbs, groups, resources = (part.split(",") for part in line.split(" "))
        for group in groups:
            for resource in resources:
                yield from (Right(verb, group if group != "core" else "", resource) for verb in verbs)


RIGHTS: Final = {"1.36": {*_rights(_BOTH)}, "1.37": {*_rights(_BOTH), *_rights(_SINCE_1_37)}}
RIGHTS_FOR_GROUPS: Final = {*_rights(_GROUPS)}
