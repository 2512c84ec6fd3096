"""ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.defaults.extending import default_admission_policy, default_policy_binding
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.api_policies import MUTATING_POLICIES, POLICY_BINDINGS, VALIDATING_POLICIES

_API_VERSION: Final = "admissionregistration.k8s.io/v1"

VALIDATING_POLICY = Kind(
    _API_VERSION,
    "ValidatingAdmissionPolicy",
    defaults=default_admission_policy,
    watched=("spec",),
    printer=VALIDATING_POLICIES,
)
VALIDATING_BINDING = Kind(
    _API_VERSION,
    "ValidatingAdmissionPolicyBinding",
    defaults=default_policy_binding,
    watched=("spec",),
    printer=POLICY_BINDINGS,
)
MUTATING_POLICY = Kind(_API_VERSION, "MutatingAdmissionPolicy", watched=("spec",), printer=MUTATING_POLICIES)
MUTATING_BINDING = Kind(_API_VERSION, "MutatingAdmissionPolicyBinding", watched=("spec",), printer=POLICY_BINDINGS)
