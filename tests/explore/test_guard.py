"""Who is let in: this machine's own page with the token, and nothing else."""

from __future__ import annotations

import pytest

from tests.explore.client import PORT, TOKEN, client


def test_the_token_enters_and_becomes_a_cookie() -> None:
    with client(entered=False) as page:
        assert page.get("/").status_code == 403
        answer = page.get(f"/?token={TOKEN}&pipeline=mem", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/?pipeline=mem")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert page.get("/?pipeline=mem").status_code == 200


@pytest.mark.parametrize(
    "query",
    ["", "token=", "token=wrong", f"token={TOKEN}x", f"token={TOKEN}&token=wrong", "token=ä"],
)
def test_a_wrong_token_is_refused(query: str) -> None:
    with client(entered=False) as page:
        for path in ("/", "/why", "/complete", "/kernels", "/assets/explore.js"):
            answer = page.get(f"{path}?{query}")
            assert answer.status_code == 403
            assert answer.text == (
                "wrong or no token: open the address that `ckrules explore` printed\n"
            )


def test_a_wrong_token_is_refused_beside_a_right_cookie() -> None:
    with client() as page:
        assert page.get("/?token=wrong").status_code == 403


@pytest.mark.parametrize(
    "host", ["example.org", f"example.org:{PORT}", "127.0.0.1", "127.0.0.1:80", f"[::1]:{PORT}", ""]
)
def test_a_foreign_host_is_refused(host: str) -> None:
    with client() as page:
        for path in ("/", f"/?token={TOKEN}", "/assets/explore.css"):
            answer = page.get(path, headers={"host": host})
            assert answer.status_code == 421
            assert answer.text == f"this page is served at 127.0.0.1:{PORT} only\n"


def test_localhost_is_this_machine() -> None:
    with client(entered=False) as page:
        answer = page.get(
            f"/?token={TOKEN}", headers={"host": f"localhost:{PORT}"}, follow_redirects=False
        )
        assert answer.status_code == 303


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_get_is_answered(method: str) -> None:
    with client() as page:
        assert page.request(method, "/").status_code == 405


def test_a_way_on_never_leads_to_another_host() -> None:
    with client(entered=False) as page:
        answer = page.get(f"//example.org/?token={TOKEN}", follow_redirects=False)
        assert not answer.headers.get("location", "").startswith("//")


@pytest.mark.parametrize("path", ["/", "/nothing", "/assets/explore.js", "/?token=wrong"])
def test_every_answer_has_strict_headers(path: str) -> None:
    with client() as page:
        headers = page.get(path).headers
        policy = dict(
            p.strip().split(" ", 1) for p in headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert "http" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_nothing_comes_from_elsewhere() -> None:
    with client() as page:
        for path in ("/", "/kernels", "/assets/explore.js", "/assets/explore.css"):
            text = page.get(path).text.replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in text
            assert "https://" not in text
            assert "style=" not in text


def test_assets_are_only_the_assets() -> None:
    with client() as page:
        for path in (
            "/assets/../app.py",
            "/assets/%2e%2e/app.py",
            "/assets/..%2fapp.py",
            "/assets/",
        ):
            assert page.get(path).status_code == 404
