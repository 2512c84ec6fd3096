"""Questions about the big cluster, one after another: each is asked about what the one before left."""

from __future__ import annotations

from tests.answers.checking import check_capacity, check_drain, check_explain, check_fix, check_new
from tests.answers.manifests import deployment, pod_spec
from tests.answers.questions import BIG, Question, applied

NEW_PODS = [deployment("new", 3, pod_spec("9", priorityClassName="critical"), "payments")]


def fix(what: str, about: str, option: int = 1) -> Question:
    app = what.rpartition("/")[2]
    return Question(f"big-fix-{app}", f"fix {what}", about, BIG, check_fix, app, option)


BIG_QUESTIONS: tuple[Question, ...] = (
    fix("team/deployment/typo-pool", "misspelled node selector"),
    fix("ml/deployment/no-toleration", "taint of the nodes it asks for"),
    fix("team/deployment/gated", "scheduling gate, several pods"),
    fix("data/deployment/too-large", "cpu request larger than any node"),
    fix("batch/deployment/nightly", "cpu request, the pool is full"),
    Question(
        "big-explain-dns-cache",
        "explain infra/deployment/dns-cache",
        "pod anti-affinity",
        BIG,
        check_explain,
        "dns-cache",
    ),
    Question(
        "big-capacity", "capacity --workload data/deployment/probe", "how many more fit", BIG, check_capacity, "probe"
    ),
    Question("big-drain", "drain highmem-3", "a node with pods", BIG, check_drain, by_hand="kubectl drain highmem-3"),
    Question(
        "big-whatif",
        "whatif --apply new.json",
        "a workload that preempts",
        BIG,
        check_new,
        "new",
        files={"new.json": NEW_PODS},
        by_hand=applied("new.json"),
    ),
)
