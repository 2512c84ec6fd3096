"""Which path is answered by whom, with which headers, and for whom."""

from __future__ import annotations

import re

import pytest
from tests.support.dashboard import node, pod, served

from bayplan.web.dashboard import page_files

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"


def test_a_browser_gets_the_page_without_a_token() -> None:
    answered = served().get("/", accept=HTML, token=None)
    assert answered.status == 200
    assert answered.headers["content-type"] == "text/html; charset=utf-8"
    assert b"<title>bayplan</title>" in answered.body


def test_whoever_asks_for_json_gets_the_paths_of_the_api() -> None:
    answered = served().get("/", accept="application/json")
    assert "/api/v1" in answered.json["paths"]


@pytest.mark.parametrize("path", ["/api/v1/nodes", "/version", "/apis/apps/v1/deployments"])
def test_the_api_is_passed_through(path: str) -> None:
    answered = served([node("node-1")]).get(path, accept=HTML)
    assert answered.status == 200
    assert answered.headers["content-type"] == "application/json"


def test_the_page_may_load_and_reach_its_own_server_only() -> None:
    policy = served().get("/", accept=HTML).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_pages_have_no_inline_script_or_style_and_no_address_elsewhere() -> None:
    for name, answer in page_files().items():
        text = answer.body.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=\"", text), name
        assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), name


def test_every_file_that_a_file_names_is_served() -> None:
    files = page_files()
    for name, answer in files.items():
        text = answer.body.decode()
        named = re.findall(r"(?:/dashboard/|from \"\./)([\w.-]+\.(?:js|css|svg|html))", text)
        assert set(named) <= files.keys(), name


@pytest.mark.parametrize("name", sorted(page_files()))
def test_files_of_the_page_need_no_token_and_are_not_guessed_at(name: str) -> None:
    answered = served().get(f"/dashboard/{name}", token=None)
    assert answered.status == 200
    assert answered.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/dashboard/events", "/dashboard/explain/default/web"])
@pytest.mark.parametrize("token", [None, "wrong", ""])
def test_what_says_something_about_the_cluster_needs_the_token(path: str, token: str | None) -> None:
    answered = served([node("node-1"), pod("web")]).get(path, token=token)
    assert answered.status == 401
    assert answered.json["reason"] == "Unauthorized"


@pytest.mark.parametrize(
    "path",
    [
        "/dashboard/../dashboard.py",
        "/dashboard/..%2fdashboard.py",
        "/dashboard/%2e%2e/dashboard.py",
        "/dashboard/static/index.html",
        "/dashboard//etc/passwd",
        "/dashboard/main.js/",
        "/dashboard/main.js%00",
        "/dashboard/",
        "/dashboard",
    ],
)
def test_no_path_leads_to_another_file(path: str) -> None:
    answered = served().get(path, token=None)
    if path.rstrip("/").endswith("main.js"):
        assert answered.body == page_files()["main.js"].body  # a trailing slash leaves nothing behind
    else:
        assert answered.status == 401
        assert served().get(path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_the_dashboard_is_only_read(method: str) -> None:
    assert served().get("/dashboard/main.js", method=method).status == 405


def test_head_has_no_body() -> None:
    answered = served().get("/dashboard/main.js", method="HEAD")
    assert (answered.status, answered.body) == (200, b"")
    assert int(answered.headers["content-length"]) > 0


def test_an_explanation_is_what_bayplan_explain_says() -> None:
    answered = served([node("node-1"), node("node-2", cpu="1"), pod("web", cpu="2")]).get(
        "/dashboard/explain/default/web"
    )
    assert answered.status == 200
    assert answered.json["parts"][0]["text"].startswith("default/web fits on 1 of 2 nodes; node-1 wins with ")
    assert answered.json["moment"]["what"] == "now"


def test_a_pod_that_is_not_there_is_not_found() -> None:
    answered = served([node("node-1")]).get("/dashboard/explain/default/nobody")
    assert answered.status == 404
    assert answered.json["message"] == 'pods "nobody" not found'


@pytest.mark.parametrize("when", ["yesterday", "-1", "99999999", "\u0663"])
def test_a_moment_is_now_or_a_version_that_was(when: str) -> None:
    answered = served([node("node-1"), pod("web")]).get(f"/dashboard/explain/default/web?when={when}")
    assert answered.status == 400
