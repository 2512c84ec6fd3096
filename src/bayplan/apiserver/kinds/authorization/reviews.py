"""Access reviews, which are answered and never stored."""

from __future__ import annotations

from dataclasses import replace

from bayplan.apiserver.kinds.contract import Kind

SUBJECT_ACCESS_REVIEW = Kind("authorization.k8s.io/v1", "SubjectAccessReview")
LOCAL_SUBJECT_ACCESS_REVIEW = replace(SUBJECT_ACCESS_REVIEW, kind="LocalSubjectAccessReview")
SELF_SUBJECT_ACCESS_REVIEW = replace(SUBJECT_ACCESS_REVIEW, kind="SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEW = replace(SUBJECT_ACCESS_REVIEW, kind="SelfSubjectRulesReview")
