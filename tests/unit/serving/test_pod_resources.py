"""What pods ask for, as metrics."""

from __future__ import annotations

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.serving.pod_resources import pod_resource_metrics
from bayplan.testing.builders import pod


def values(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_one_line_for_each_pod_and_resource_as_kube_scheduler_writes_it() -> None:
    foreign = pod("foreign", "s-a").cpu("500m").memory("64Mi").scheduler("other-scheduler").obj()
    running = pod("web", "s-a").cpu("500m").memory("64Mi").node("n1").obj()
    about = (
        "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources "
        "along with the unit for the resource if any."
    )
    name = "kube_pod_resource_request"
    default, other = 'scheduler="default-scheduler"', 'scheduler="other-scheduler"'
    assert pod_resource_metrics([running, foreign], DEFAULT_GATES).splitlines() == [
        f"# HELP {name} [STABLE] Resources requested by workloads on the cluster, {about}",
        f"# TYPE {name} gauge",
        f'{name}{{namespace="s-a",node="",pod="foreign",priority="0",resource="cpu",{other},unit="cores"}} 0.5',
        f'{name}{{namespace="s-a",node="",pod="foreign",priority="0",resource="memory",{other},unit="bytes"}}'
        " 6.7108864e+07",
        f'{name}{{namespace="s-a",node="n1",pod="web",priority="0",resource="cpu",{default},unit="cores"}} 0.5',
        f'{name}{{namespace="s-a",node="n1",pod="web",priority="0",resource="memory",{default},unit="bytes"}}'
        " 6.7108864e+07",
    ]


def test_limits_add_up_as_requests_and_take_overhead_only_where_there_is_one() -> None:
    limited = pod("a").limit(cpu="1", memory="1Gi").overhead(cpu="250m", storage="1Gi").obj()
    lines = values(pod_resource_metrics([limited], DEFAULT_GATES))
    limits = [line.rpartition(" ")[2] for line in lines if line.startswith("kube_pod_resource_limit")]
    assert limits == ["1.25", "1.073741824e+09"]


def test_no_pods_no_text() -> None:
    assert pod_resource_metrics([], DEFAULT_GATES) == ""
    assert pod_resource_metrics([pod("over").cpu(1).node("n1").phase("Succeeded").obj()], DEFAULT_GATES) == ""


def test_odd_names_are_escaped() -> None:
    (line,) = values(pod_resource_metrics([pod("a").cpu(1).scheduler('say "hi"').obj()], DEFAULT_GATES))
    assert r'scheduler="say \"hi\""' in line
