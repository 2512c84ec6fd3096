"""TokenReview and SelfSubjectReview, which are answered and never stored."""

from __future__ import annotations

from bayplan.apiserver.kinds.contract import Kind

TOKEN_REVIEW = Kind("authentication.k8s.io/v1", "TokenReview")
SELF_SUBJECT_REVIEW = Kind("authentication.k8s.io/v1", "SelfSubjectReview")
