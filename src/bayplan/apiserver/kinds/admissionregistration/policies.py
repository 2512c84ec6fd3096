"""ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.defaults.extending import default_admission_policy, default_policy_binding
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.policies.checking import (
    check_mutating_binding,
    check_mutating_policy,
    check_validating_binding,
    check_validating_policy,
)
from bayplan.apiserver.tables.api_policies import MUTATING_POLICIES, POLICY_BINDINGS, VALIDATING_POLICIES

_API_VERSION: Final = "admissionregistration.k8s.io/v1"

VALIDATING_POLICY = Kind(
    _API_VERSION,
    "ValidatingAdmissionPolicy",
    defaults=default_admission_policy,
    check=check_validating_policy,
    watched=("spec",),
    printer=VALIDATING_POLICIES,
    any_finalizers=True,
)
VALIDATING_BINDING = Kind(
    _API_VERSION,
    "ValidatingAdmissionPolicyBinding",
    defaults=default_policy_binding,
    check=check_validating_binding,
    watched=("spec",),
    printer=POLICY_BINDINGS,
    any_finalizers=True,
)
MUTATING_POLICY = Kind(
    _API_VERSION,
    "MutatingAdmissionPolicy",
    defaults=default_admission_policy,
    check=check_mutating_policy,
    watched=("spec",),
    printer=MUTATING_POLICIES,
    any_finalizers=True,
)
MUTATING_BINDING = Kind(
    _API_VERSION,
    "MutatingAdmissionPolicyBinding",
    defaults=default_policy_binding,
    check=check_mutating_binding,
    watched=("spec",),
    printer=POLICY_BINDINGS,
    any_finalizers=True,
)
