"""The page in a real browser: what somebody sees and does, and that nothing leaves this machine.

Needs chromium as Debian packages it; skipped, with that reason, where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.support.dashboard_server import TOKEN, Running
from tests.web.test_hostile_pages import EVIL

pytestmark = pytest.mark.slow

PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Opened:
    """A page on a cluster, and what it asked the network for."""

    page: Page
    requested: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    made = Opened(context.new_page())
    made.page.on("request", lambda request: made.requested.append(request.url))
    made.page.on("pageerror", lambda error: made.faults.append(str(error)))
    made.page.on("console", lambda said: made.faults.append(said.text) if said.type == "error" else None)
    yield made
    context.close()


def add(page: Page, kind: str, **values: str) -> None:
    """Fills in the form and sends it."""
    page.get_by_role("button", name="Add…").click()
    page.get_by_role("radio", name=kind, exact=True).check(force=True)
    for name, value in values.items():
        control = page.locator(f'dialog [name="{name}"]')
        if name == "priorityClass":
            control.select_option(value)
        else:
            control.fill(value)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("dialog")).not_to_be_visible()


def test_a_preemption_from_the_form_to_the_explanation(cluster: Running, opened: Opened) -> None:
    page = opened.page
    page.goto(f"{cluster.url}/#token={TOKEN}")
    expect(page.locator(".bay")).to_have_count(2)
    assert TOKEN not in page.url

    add(page, "Priority class", name="urgent", value="1000")
    add(page, "Deployment", name="low", replicas="2", cpu="3", stopSeconds="4")
    expect(page.locator(".stack .block:not(.starting)")).to_have_count(2)  # what does not run stops at once
    add(page, "Pod", name="boss", cpu="2", priorityClass="urgent")

    expect(page.locator(".block.victim")).to_have_count(1)
    expect(page.locator(".kept-for .block")).to_contain_text("boss")
    expect(page.locator("#notice")).to_contain_text("boss (priority 1,000) preempts low-")
    expect(page.locator('.stack [data-pod="default/boss"]')).to_be_visible()
    expect(page.locator(".block.victim")).to_have_count(0)
    expect(page.locator("#queue")).to_contain_text("low-")

    page.locator('.stack [data-pod="default/boss"]').click()
    panel = page.locator("#panel")
    expect(panel.locator(".verdict")).to_have_text(re.compile(r"evicting default/low-\S+ from node-\d would make room"))
    expect(panel.locator("td button.link").first).to_contain_text("default/low-")
    panel.get_by_role("button", name="When bound").click()
    expect(panel.locator(".verdict")).to_contain_text("default/boss fits on")
    expect(panel).to_contain_text("NodeResourcesFit")
    page.keyboard.press("Escape")
    expect(panel).not_to_be_visible()

    assert opened.faults == []
    assert {urlsplit(url).hostname for url in opened.requested} == {"127.0.0.1"}


def test_the_token_is_asked_for_once_and_a_wrong_one_again(cluster: Running, opened: Opened) -> None:
    page = opened.page
    page.goto(cluster.url)
    page.locator('dialog [name="token"]').fill("wrong")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_have_text("That token was not accepted.")
    page.locator('dialog [name="token"]').fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    expect(page.locator(".bay")).to_have_count(2)
    page.reload()
    expect(page.locator(".bay")).to_have_count(2)
    expect(page.locator("dialog")).not_to_be_visible()


def test_a_node_is_cordoned_failed_and_recovered_by_keyboard(cluster: Running, opened: Opened) -> None:
    page = opened.page
    page.goto(f"{cluster.url}/#token={TOKEN}")
    expect(page.locator(".bay")).to_have_count(2)
    page.locator("button.node").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name="node-2")).to_be_visible()
    panel.get_by_role("button", name="Cordon").press("Enter")
    expect(page.locator(".bay.cordoned")).to_contain_text("node-2")
    panel.get_by_role("button", name="Fail").press("Enter")
    expect(page.locator(".bay.failed")).to_contain_text("unreachable")
    panel.get_by_role("button", name="Recover").press("Enter")
    expect(page.locator(".bay.failed")).to_have_count(0)
    panel.get_by_role("button", name="Close").press("Enter")
    expect(page.locator('[data-node="node-2"]')).to_be_focused()
    assert opened.faults == []


def test_the_timeline_goes_back_to_what_was(cluster: Running, opened: Opened) -> None:
    page = opened.page
    page.goto(f"{cluster.url}/#token={TOKEN}")
    expect(page.locator(".bay")).to_have_count(2)
    add(page, "Pod", name="first", cpu="1")
    expect(page.locator('.stack [data-pod="default/first"]')).to_be_visible()
    page.locator("#scrub").focus()
    page.keyboard.press("Home")
    expect(page.locator('.stack [data-pod="default/first"]')).to_have_count(0)
    expect(page.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Live").click()
    expect(page.locator('.stack [data-pod="default/first"]')).to_be_visible()


def test_workloads_are_scaled_and_a_refusal_is_shown_in_the_servers_words(cluster: Running, opened: Opened) -> None:
    page = opened.page
    page.goto(f"{cluster.url}/#token={TOKEN}")
    expect(page.locator(".bay")).to_have_count(2)
    add(page, "Deployment", name="web", replicas="1", cpu="100m")
    page.get_by_role("tab", name="Workloads").click()
    page.get_by_role("spinbutton", name="Replicas of web").fill("3")
    page.get_by_role("button", name="Scale").click()
    expect(page.locator(".stack .block")).to_have_count(3)
    page.get_by_role("button", name="Add…").click()
    page.locator('dialog [name="name"]').fill("Not A Name")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("a lowercase RFC 1123 subdomain must consist of")


def _gang(members: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A gang of 3, and so many members."""
    yield (
        "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups",
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "training"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
        },
    )
    for number in range(members):
        yield _member(number)


def _member(number: int) -> tuple[str, dict[str, Any]]:
    spec = {"containers": [{"name": "main", "image": "x"}], "schedulingGroup": {"podGroupName": "training"}}
    metadata = {"name": f"worker-{number}"}
    return "/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_a_gang_waits_for_its_quorum_is_placed_and_shows_its_members(
    cluster_with_groups: Running, opened: Opened
) -> None:
    page = opened.page
    page.goto(f"{cluster_with_groups.url}/#token={TOKEN}")
    expect(page.locator(".bay")).to_have_count(2)
    groups = page.get_by_role("tab", name="Groups")
    expect(groups).not_to_be_visible()
    add(page, "Pod", name="alone", cpu="1")
    for path, document in _gang(members=2):
        cluster_with_groups.create(path, document)
    groups.click()
    row = page.locator(".pod-group")
    expect(row).to_contain_text("waiting for the quorum: 2 of 3")
    expect(page.get_by_text("Held back with its pod group training")).to_have_count(2)
    cluster_with_groups.create(*_member(2))
    expect(row).to_contain_text("placed together")
    expect(row.get_by_role("img")).to_have_attribute("aria-label", "3 bound")

    row.get_by_role("button").press("Enter")
    expect(page.locator("#found-count")).to_have_text("3 pods")
    expect(row.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    expect(row.get_by_role("button")).to_be_focused()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#found")).not_to_be_visible()
    assert opened.faults == []


def test_a_page_that_was_cut_off_comes_back_and_sees_what_it_missed(cluster: Running, opened: Opened) -> None:
    page = opened.page
    page.goto(f"{cluster.url}/#token={TOKEN}")
    expect(page.locator(".bay")).to_have_count(2)
    page.evaluate("() => { window.isSamePage = true; }")
    cluster.loop.call_soon_threadsafe(cluster.dashboard.close)  # from now on, each stream ends after its snapshot
    expect(page.locator("#connection")).to_have_text("Connection lost. Reconnecting…")
    cluster.create(
        "/api/v1/namespaces/default/pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "missed"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
        },
    )
    expect(page.locator('.stack [data-pod="default/missed"]')).to_be_visible()
    assert page.evaluate("() => window.isSamePage")


def test_markup_in_what_users_write_stays_text(cluster: Running, opened: Opened) -> None:
    page = opened.page
    markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    about = {"kind": "Pod", "namespace": "default", "name": markup}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about}
    cluster.create("/api/v1/namespaces/default/events", {**event, "reason": markup, "message": markup})
    page.goto(f"{cluster.url}/#token={TOKEN}")
    expect(page.locator("#records .event strong")).to_have_text(markup)
    expect(page.locator("#records .event .message")).to_have_text(markup)
    assert page.locator("#records img, #records script").count() == 0
    assert opened.faults == []


RESOURCE = "resource.k8s.io/v1"
MODEL = 'device.attributes["gpu.example.com"].model == "a"'


def _device_objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """A pod whose claim wants two devices of a model of which node-1 has one."""
    group = f"/apis/{RESOURCE}"
    selectors = [{"cel": {"expression": MODEL}}]
    exactly = {"deviceClassName": "gpu", "count": 2, "selectors": selectors}
    devices = [{"name": f"gpu-{model}", "attributes": {"model": {"string": model}}} for model in "ab"]
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    offered = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": pool, "devices": devices}
    yield f"{group}/deviceclasses", {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    yield f"{group}/resourceslices", {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": offered}
    requests = {"devices": {"requests": [{"name": "fast", "exactly": exactly}]}}
    claim = {"kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": requests}
    yield f"{group}/namespaces/default/resourceclaims", claim


def test_causes_are_named_as_in_the_answer_of_the_command(cluster: Running, opened: Opened) -> None:
    for path, document in _device_objects():
        cluster.create(path, {"apiVersion": RESOURCE, **document})
    spec = {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpus"}]}}],
        "resourceClaims": [{"name": "gpus", "resourceClaimName": "c"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec}
    cluster.create("/api/v1/namespaces/default/pods", pod)
    page = opened.page
    page.goto(f"{cluster.url}/#token={TOKEN}")
    page.locator('[data-pod="default/train"]').first.click()
    answer = page.locator("#panel .answer")
    expect(answer).to_contain_text(
        f"1 node: claim default/c, request fast: node-1 has 1 of 2: 1 not selected by request: {MODEL} (gpu-b)"
    )
    expect(answer).to_contain_text("1 node: claim default/c, request fast: these nodes have no devices")
    expect(answer.get_by_role("row", name="gpu-b").first).to_be_visible()
    assert opened.faults == []


def test_texts_of_users_stay_text(cluster: Running, opened: Opened) -> None:
    """Names are checked by the API server; messages, reasons and images are whatever clients write."""
    dialogs: list[str] = []
    opened.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    container = {"name": "main", "image": f"evil{EVIL.replace(' ', '')}"}
    pod = {"metadata": {"name": "evil", "annotations": {"note": EVIL}}, "spec": {"containers": [container]}}
    cluster.create("/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", **pod})
    event = {
        "metadata": {"name": "evil"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "evil"},
        **dict.fromkeys(("reason", "message", "reportingComponent"), EVIL),
        "type": "Warning",
    }
    cluster.create("/api/v1/namespaces/default/events", {"apiVersion": "v1", "kind": "Event", **event})
    page = opened.page
    page.goto(f"{cluster.url}/#token={TOKEN}")
    expect(page.locator("body")).to_contain_text("alert(1)")
    page.locator('[data-pod="default/evil"]').first.click()
    expect(page.locator("#panel")).to_be_visible()
    active = "[onerror], [onload], img:not([src='/dashboard/icon.svg']), iframe, a[href^='javascript']"
    assert page.locator(active).count() == 0
    assert dialogs == opened.faults == []
    assert {urlsplit(url).hostname for url in opened.requested} == {"127.0.0.1"}
