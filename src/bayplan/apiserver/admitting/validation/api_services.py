"""Checks of APIServices. Upstream: kube-aggregator/pkg/apis/apiregistration/validation/validation.go (v1.36)."""

from __future__ import annotations

import base64

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import path_segment_faults, port_number_faults
from bayplan.model.dns_names import dns1035_faults, subdomain_faults


def check_api_service(api_service: Document, faults: Faults) -> None:
    spec, name = api_service["spec"], api_service["metadata"].get("name", "")
    group, version, service = spec.get("group", ""), spec.get("version", ""), spec.get("service")
    needed = f"{version}.{group}"
    if name and name != needed and not path_segment_faults(name):
        faults.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{needed}"')
    if not group and version != "v1":
        faults.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    faults.named_if_given("spec.group", group, subdomain_faults)
    faults.all_invalid("spec.version", version, dns1035_faults(version))
    for field, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)):
        if not 0 < spec[field] <= most:
            faults.invalid(f"spec.{field}", spec[field], f"must be positive and less than {most}")
    bundle, insecure = spec.get("caBundle", ""), spec.get("insecureSkipTLSVerify", False)
    if service is None:
        if bundle:
            length = len(base64.b64decode(bundle))
            faults.invalid("spec.caBundle", f"{length} bytes", "local APIServices may not have a caBundle")
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            faults.invalid("spec.insecureSkipTLSVerify", insecure, text)
        return
    for field in ("namespace", "name"):
        if not service.get(field):
            faults.required(f"spec.service.{field}")
    wrong = port_number_faults(service["port"])
    if wrong:
        faults.invalid("spec.service.port", service["port"], f"port is not valid: {', '.join(wrong)}")
    if insecure and bundle:
        faults.invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present")
