"""Parts of documents as the real server's own types show them."""

from __future__ import annotations

from bayplan.apiserver.admitting.internal_form import difference, internal


def test_every_field_is_there_under_its_own_name() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    assert internal(taint, "Taint") == {"Key": "a", "Value": "", "Effect": "NoSchedule", "TimeAdded": None}


def test_fields_of_the_pod_that_belong_to_its_security_context_are_there() -> None:
    spec = {"containers": [], "hostNetwork": True, "securityContext": {}}
    assert internal(spec, "PodSpec")["SecurityContext"]["HostNetwork"] is True


def test_metadata_of_a_template_is_among_its_own_fields() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    assert next(iter(internal(template, "PodTemplateSpec").items())) == ("labels", {"a": "b"})


def test_a_difference_is_a_patch_with_three_lines_around_it() -> None:
    before = {"containers": [], "nodeName": ""}
    assert difference(before, {**before, "nodeName": "n1"}, "PodSpec") == (
        "@@ -10,7 +10,7 @@\n"
        ' "NodeSelector": null,\n'
        ' "ServiceAccountName": "",\n'
        ' "AutomountServiceAccountToken": null,\n'
        '- "NodeName": "",\n'
        '+ "NodeName": "n1",\n'
        ' "SecurityContext": null,\n'
        ' "ImagePullSecrets": null,\n'
        ' "Hostname": "",\n'
    ).replace('\n "', '\n  "')
