"""Frames of the dashboard with 1,000 nodes and 20,000 pods, while pods come and go, in headless Chromium.

Prints how long the page takes to show the cluster, the times between animation frames, and the longest tasks of its
main thread. Server and browser share this machine. Needs Debian's `chromium`:
python benchmarks/dashboard.py [NODES PODS [PICTURE]].
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page, sync_playwright

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.web.dashboard import Dashboard
from bayplan.worlds.hosting import HostedCluster, Hosting

TOKEN = "t0ken"
SECONDS = 20
#: So many pods come, and as many go, each second.
CHURN = 50
CLASSES = {"batch": 100, "web": 10_000, "payments": 1_000_000}
FRAMES = """
() => {
  window.frames_ = []; window.long_ = [];
  new PerformanceObserver((list) => { for (const one of list.getEntries()) window.long_.push(one.duration); })
    .observe({ entryTypes: ["longtask"] });
  let last = performance.now();
  const step = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(step); };
  requestAnimationFrame(step);
}
"""


def documents(nodes: int, pods: int) -> Iterator[dict[str, Any]]:
    for name, value in CLASSES.items():
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        yield {**kind, "metadata": {"name": name}, "value": value}
    for number in range(nodes):
        amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
        zone, pool = f"zone-{'abc'[number % 3]}", f"pool-{number % 4}"
        labels = {"topology.kubernetes.io/zone": zone, "karpenter.sh/nodepool": pool}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {"name": f"node-{number}", "labels": labels}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
    for number in range(pods):
        yield pod(f"app-{number % 300}-{number}", number, f"node-{number % nodes}")


def pod(name: str, number: int, node: str = "") -> dict[str, Any]:
    requests = {"cpu": f"{500 + 250 * (number % 7)}m", "memory": "1Gi"}
    container = {"name": "main", "image": "image", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container], "priorityClassName": list(CLASSES)[number % 3]}
    metadata = {"name": name, "namespace": "default"}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    if node:
        spec["nodeName"] = node
        conditions = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
        made["status"] = {"phase": "Running", "conditions": conditions}
    return made


CHURNING = """
async ([seconds, churn, pods, token]) => {
  const path = "/api/v1/namespaces/default/pods";
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  for (let second = 0; second < seconds; second += 1) {
    const begun = performance.now();
    for (let one = 0; one < churn; one += 1) {
      const number = second * churn + one;
      const made = pods[number];
      await Promise.all([
        fetch(path, { method: "POST", headers, body: JSON.stringify(made) }),
        fetch(`${path}/app-${number % 300}-${number}?gracePeriodSeconds=0`, { method: "DELETE", headers }),
      ]);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 - (performance.now() - begun))));
  }
}
"""


def serve(nodes: int, pods: int) -> tuple[HostedCluster, threading.Thread, asyncio.AbstractEventLoop]:
    loop, ready, made = asyncio.new_event_loop(), threading.Event(), []

    async def run() -> None:
        hosted = HostedCluster(
            Hosting(token=TOKEN, configuration=load_configuration(release=DEFAULT_RELEASE)),
            documents(nodes, pods),
            front=Dashboard.of,
        )
        made.append(hosted)
        serving = asyncio.ensure_future(hosted.run())
        await hosted.started()
        ready.set()
        await serving

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    ready.wait()
    return made[0], thread, loop


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def report(name: str, page: Page, seconds: float) -> None:
    frames = page.evaluate("() => window.frames_.splice(0)")
    tasks = page.evaluate("() => window.long_.splice(0)")
    late = sum(1 for frame in frames if frame > 50)
    print(
        f"{name}: {len(frames) / seconds:.0f} frames/s; time between frames: median {percentile(frames, 0.5):.0f} ms,"
        f" 99% {percentile(frames, 0.99):.0f} ms, max {max(frames):.0f} ms; {late} of {len(frames)} above 50 ms;"
        f" long tasks: {len(tasks)}, max {max(tasks, default=0):.0f} ms"
    )


def main() -> None:
    nodes, pods = (int(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (1_000, 20_000)
    begun = time.perf_counter()
    hosted, thread, loop = serve(nodes, pods)
    print(f"cluster of {nodes} nodes and {pods} pods: {time.perf_counter() - begun:.1f} s")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            watch(page, hosted.url, pods)
            browser.close()
    finally:
        loop.call_soon_threadsafe(hosted.stop)
        thread.join()


def watch(page: Page, url: str, pods: int) -> None:
    begun = time.perf_counter()
    page.goto(f"{url}/#token={TOKEN}")
    while (
        page.evaluate(
            "() => [...document.querySelectorAll('.stack')].reduce((sum, one) => sum + Number(one.dataset.pods), 0)"
        )
        < pods
    ):
        time.sleep(0.1)
    print(f"opened and drawn: {time.perf_counter() - begun:.1f} s")
    time.sleep(3)
    writer = page.context.browser.new_page()  # type: ignore[union-attr]
    writer.goto(f"{url}/dashboard/icon.svg")
    page.bring_to_front()
    page.evaluate(FRAMES)
    time.sleep(3)
    report("quiet", page, 3)
    news = [pod(f"new-{number}", number) for number in range(SECONDS * CHURN)]
    begun = time.perf_counter()
    writer.evaluate(CHURNING, [SECONDS, CHURN, news, TOKEN])
    report(f"{CHURN} pods/s come and go", page, time.perf_counter() - begun)
    begun = time.perf_counter()
    for step in range(20):
        page.mouse.move(400, 500)
        page.mouse.wheel(0, 120 if step < 10 else -120)
        time.sleep(0.05)
    report("scrolling", page, time.perf_counter() - begun)
    begun = time.perf_counter()
    page.locator("#search").press_sequentially("app-29-", delay=100)
    time.sleep(1)
    report("searching", page, time.perf_counter() - begun)
    if len(sys.argv) > 3:
        page.screenshot(path=sys.argv[3])


if __name__ == "__main__":
    main()
