"""Health pages as every Kubernetes component has them: named checks, one page that sums them up, one for each alone.

A check is a function that returns what is wrong, or nothing. The page never says what it is: anybody may ask for it.
The log and the page of the check itself do. Counts what it found, for `/metrics/slis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bayplan.apiserver.http.requests import TEXT, Answer
from bayplan.client.loggers import structlog

_NO_SNIFFING: Final = (("x-content-type-options", "nosniff"),)
_log = structlog.get_logger("healthz")


@dataclass(frozen=True, slots=True)
class Check:
    """Something that can be wrong; `complaint` returns what, or an empty text."""

    name: str
    complaint: Callable[[], str]


def _nothing() -> str:
    return ""


PING: Final = Check("ping", _nothing)


@dataclass(slots=True)
class HealthPage:
    """`/healthz`, `/livez` or `/readyz`; without checks it has `ping`."""

    name: str
    checks: Sequence[Check] = (PING,)
    results: Counter[tuple[str, str]] = field(default_factory=Counter)  # check, status -> how often
    latest: dict[str, bool] = field(default_factory=dict)  # check -> whether it passed the last time

    def answer(self, *, verbose: bool = False, excluded: Collection[str] = ()) -> Answer:
        """All checks together. Upstream: healthz.handleRootHealth."""
        failed: dict[str, str] = {}
        lines = [self._line(check, excluded, failed) for check in self.checks]
        unknown = sorted(set(excluded) - {check.name for check in self.checks})
        if unknown:
            named = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {named}\n")
        if failed:
            _log.info(f"{','.join(failed)} check failed: {self.name}", v=2, **failed)
            return text_answer(f"{''.join(lines)}{self.name} check failed\n", status=500)
        return text_answer(f"{''.join(lines)}{self.name} check passed\n" if verbose else "ok")

    def _line(self, check: Check, excluded: Collection[str], failed: dict[str, str]) -> str:
        if check.name in excluded:
            return f"[+]{check.name} excluded: ok\n"
        complaint = check.complaint()
        self.results[check.name, "error" if complaint else "success"] += 1
        self.latest[check.name] = not complaint
        if complaint:
            failed[check.name] = complaint
            return f"[-]{check.name} failed: reason withheld\n"
        return f"[+]{check.name} ok\n"

    def answer_one(self, name: str) -> Answer:
        """One check by its name."""
        complaint = next(check for check in self.checks if check.name == name).complaint()
        return text_answer(f"internal server error: {complaint}\n", status=500) if complaint else text_answer("ok")


def text_answer(text: str, status: int = 200) -> Answer:
    return Answer(status, text.encode(), TEXT, _NO_SNIFFING)


def health_metrics(pages: Iterable[HealthPage], started_at_s: float) -> str:
    """What the checks found, in Prometheus' format, as on `/metrics/slis`."""
    latest = {(check, page.name): ok for page in pages for check, ok in page.latest.items()}
    counts = {(check, status, page.name): n for page in pages for (check, status), n in page.results.items()}
    lines = [
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.",
        "# TYPE kubernetes_healthcheck gauge",
        *(f'kubernetes_healthcheck{{name="{c}",type="{p}"}} {int(ok)}' for (c, p), ok in sorted(latest.items())),
        "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.",
        "# TYPE kubernetes_healthchecks_total counter",
        *(
            f'kubernetes_healthchecks_total{{name="{check}",status="{status}",type="{page}"}} {count}'
            for (check, status, page), count in sorted(counts.items())
        ),
        "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.",
        "# TYPE process_start_time_seconds gauge",
        f"process_start_time_seconds {started_at_s!r}",
    ]
    return "".join(f"{line}\n" for line in lines)
