"""What is said of pods that are valid and yet hardly meant so."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.app_armor import APP_ARMOR
from bayplan.apiserver.admitting.warnings.pods import warn_of_template

LOCAL = {"type": "Localhost", "localhostProfile": "p"}


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/p", LOCAL),
    ],
)
def test_profiles_in_annotations_are_old_unless_the_template_says_the_same(annotation: str, profile: Any) -> None:
    def said(given: Any) -> list[str]:
        context = {} if given is None else {"appArmorProfile": given}
        spec = {"containers": [{"name": "c"}], "securityContext": context}
        template = {"metadata": {"annotations": {f"{APP_ARMOR}c": annotation}}, "spec": spec}
        return [*warn_of_template("template")({"metadata": {"name": "x"}, "template": template}, None)]

    old = 'deprecated since v1.30; use the "appArmorProfile" field instead'
    expected = [f"template.metadata.annotations[{APP_ARMOR}c]: {old}"]
    assert said(profile) == []
    assert said(None) == expected
    assert said({**LOCAL, "localhostProfile": "other"}) == expected
