"""How the API servers of two Kubernetes versions differ in what they refuse and what they fill in.

One frozen value, with a field for each such change that no feature gate decides; checks and defaults read fields and
never compare versions. What the scheduler does otherwise is in `bayplan.core.release`, and which types and fields
there are in `bayplan.apiserver.schema`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayplan.apiserver.schema.versions import served_version


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRelease:
    """A minor version of Kubernetes, as far as its API server takes documents in its own way."""

    # What is refused, and in which words.
    declarations_report: (
        bool  # what the types themselves declare is reported, in their words and last; and nothing twice
    )
    names_fixed_fields: bool  # a change of a StatefulSet is refused field by field
    role_references_are_fixed: bool  # a binding says of its role what other objects say of fields that never change
    shows_end_port: bool  # a range of ports that ends before it begins is refused with its end, not its beginning
    names_message_limit: bool  # an error message of an attachment is refused with the limit that it exceeds
    reviews_need_one_question: bool  # a review about both kinds of attributes is refused as one about none
    checks_bound_node_names: bool  # the name of the node in a Binding
    explains_fixed_provider: bool  # of a node, whether its providerID was changed or taken away
    resizes_beside_claims: bool  # a container that has claims of devices may get other amounts of cpu and memory
    needs_images_of_volumes: bool  # image volumes of templates need a reference, as those of pods do

    looks_for_conditions_parts: bool  # a condition without type or status lacks it; before, that was a bad value
    checks_patches_first: bool  # a patch that is no JSON is refused before it is decoded

    # What is checked at all.
    checks_jobs_anew: bool  # a changed Job is first checked as if it were new, and what is wrong is said twice

    # What is completed.
    completes_pod_totals_last: bool  # what a pod asks for as a whole: after admission, with limits


V1_36: Final = AdmissionRelease(
    declarations_report=False,
    names_fixed_fields=False,
    role_references_are_fixed=False,
    shows_end_port=False,
    names_message_limit=False,
    reviews_need_one_question=False,
    checks_bound_node_names=False,
    explains_fixed_provider=False,
    resizes_beside_claims=False,
    needs_images_of_volumes=False,
    looks_for_conditions_parts=False,
    checks_patches_first=False,
    checks_jobs_anew=True,
    completes_pod_totals_last=False,
)
V1_37: Final = AdmissionRelease(
    declarations_report=True,
    names_fixed_fields=True,
    role_references_are_fixed=True,
    shows_end_port=True,
    names_message_limit=True,
    reviews_need_one_question=True,
    checks_bound_node_names=True,
    explains_fixed_provider=True,
    resizes_beside_claims=True,
    needs_images_of_volumes=True,
    looks_for_conditions_parts=True,
    checks_patches_first=True,
    checks_jobs_anew=False,
    completes_pod_totals_last=True,
)
_BY_VERSION: Final = {"1.36": V1_36, "1.37": V1_37}


def admission_release() -> AdmissionRelease:
    """That of the version whose types are served."""
    return _BY_VERSION[served_version()]
