"""What is refused about the volumes of new pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import pod, refusal

from bayplan.apiserver.schema.versions import serving

AT = "spec.volumes[0].projected.sources[0].clusterTrustBundle"


@pytest.mark.parametrize(
    ("bundle", "fault"),
    [
        ({"name": "b"}, ""),
        ({"name": ""}, f"{AT}.name: Required value: must be a valid object name"),
        (
            {"name": "b", "labelSelector": {}},
            f"{AT}.labelSelector: Invalid value: {{}}: labelSelector must be unset if name is specified",
        ),
        ({"signerName": "example.com/s"}, ""),
        ({"signerName": "example.com/s", "labelSelector": {"matchLabels": {"a": "b"}}}, ""),
        ({"signerName": ""}, f"{AT}.signerName: Required value: must be a valid signer name"),
        ({}, f"{AT}: Required value: either name or signerName must be specified"),
    ],
)
def test_certificates_of_authorities_come_from_one_bundle_or_from_those_of_a_signer(
    bundle: dict[str, Any], fault: str
) -> None:
    sources = [{"clusterTrustBundle": {**bundle, "path": "p"}}]
    with serving("1.37"):
        said = refusal(pod(volumes=[{"name": "v", "projected": {"sources": sources}}]))
    assert said.removeprefix("[").startswith(fault) if fault else said == ""
