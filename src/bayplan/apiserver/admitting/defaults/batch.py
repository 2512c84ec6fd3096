"""Defaults of Jobs and CronJobs.

Takes documents in wire form, completes them in place. The selector a Job gets at its creation is not a default.
"""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.pods import default_template
from bayplan.apiserver.admitting.documents import Document
from bayplan.model.meta import INT32_MAX

_BACKOFF_LIMIT = 6


def default_job(job: Document) -> None:
    labels = job["spec"]["template"]["metadata"].get("labels")
    if labels:
        # One map, to which a new Job's own labels are added; upstream shares it too.
        job["metadata"].setdefault("labels", labels)
    _default_job_spec(job["spec"])


def _default_job_spec(spec: Document) -> None:
    # A parallelism alone makes the job a work queue, whose completions stay open.
    if "parallelism" not in spec:
        spec.setdefault("completions", 1)
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", INT32_MAX if "backoffLimitPerIndex" in spec else _BACKOFF_LIMIT)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    _default_failure_policy(spec)
    default_template(spec["template"])


def _default_failure_policy(spec: Document) -> None:
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions", ()):
            if not pattern.get("status"):
                pattern["status"] = "True"


def default_cron_job(cron_job: Document) -> None:
    spec = cron_job["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    _default_failure_policy(spec["jobTemplate"]["spec"])
    default_template(spec["jobTemplate"]["spec"]["template"])
