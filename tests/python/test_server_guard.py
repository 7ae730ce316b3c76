"""Access to the server: hosts, tokens, users, foreign pages, limits, headers and metrics."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
from fastapi.testclient import TestClient

import tachyfits as tf
from realfiles import path_of
from tachyfits.server.app import create_app
from tachyfits.server.run import serve
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

CUBE = path_of("data/cubes/ngc6946.fits")
FILES = "/api/v1/files"
PIXEL = f"/api/v1/pixel?id={CUBE.name}&x=1&y=1"


@contextmanager
def served(client: tuple[str, int] = ("127.0.0.1", 5), **settings: Any) -> Iterator[TestClient]:
    app = create_app(Settings(paths=(CUBE,), **settings))
    with TestClient(app, base_url="http://localhost", client=client) as found:
        yield found


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("LOCALHOST:8000", 200), ("127.0.0.1:80", 200), ("[::1]:80", 200),
        ("localhost.", 200), ("evil.example", 421), ("localhost.evil.example", 421), ("", 421),
        ("localhost@evil.example", 421), ("[::1", 421), ("127.0.0.1.evil.example", 421),
    ],
)  # fmt: skip
def test_only_known_hosts_are_answered(host: str, status: int) -> None:
    with served(hosts=("localhost",)) as client:
        assert client.get(FILES, headers={"Host": host}).status_code == status


def test_token_is_needed_everywhere_but_for_health() -> None:
    with served(token="secret") as client:
        for path in (
            FILES,
            PIXEL,
            "/",
            "/metrics",
            "/openapi.json",
            "/nothing",
            "/vo/availability",
        ):
            answer = client.get(path)
            assert answer.status_code == 401, path
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert CUBE.name not in answer.text
        for path in ("/health", "/ready"):
            assert client.get(path).status_code == 200
        for wrong in ("", "Bearer", "Bearer no", "Basic secret", "Bearer secret2", "secret"):
            assert client.get(FILES, headers={"Authorization": wrong}).status_code == 401
        right = client.get(FILES, headers={"Authorization": "Bearer secret"})
        assert right.status_code == 200
        assert client.get(f"{FILES}?token=secret").status_code == 200
        assert client.get(f"{FILES}?token=wrong").status_code == 401


@pytest.mark.parametrize("name", ["token", "user_header"])
def test_empty_secrets_are_refused(name: str) -> None:
    for value in ("", " "):
        with pytest.raises(tf.UsageError, match=f"invalid {name} {value!r}: expected text"):
            Settings(paths=(), **{name: value})


def test_link_with_the_token_sets_a_cookie_and_hides_the_token() -> None:
    with served(token="s&c ret") as client:
        page = {"Accept": "text/html,*/*"}
        answer = client.get("/?token=s%26c%20ret&id=x", headers=page, follow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["Location"] == "/?id=x"
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "s&c" not in cookie
        assert client.get(FILES).status_code == 200  # by the cookie that the client keeps
        client.cookies.clear()
        assert client.get(FILES).status_code == 401
        other = client.get(
            "//evil.example/?token=s%26c%20ret", headers=page, follow_redirects=False
        )
        assert not other.headers["Location"].startswith("//")


def test_token_in_the_path_is_in_the_links_of_the_answer(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    logging.getLogger("tachyfits.access").propagate = True
    settings: dict[str, Any] = {
        "token": "s3cret", "hosts": ("localhost",), "cache_folder": tmp_path,
    }  # fmt: skip
    with caplog.at_level(logging.INFO, "tachyfits.access"), served(**settings) as client:
        bearer = {"Authorization": "Bearer s3cret"}
        links = client.get("/api/v1/about", headers=bearer).json()["links"]
        assert "s3cret" not in links
        for before in ("/t/s3cret", f"/{links.rstrip('/')}"):
            root = f"http://localhost{before}/"
            table = client.get(f"{before}/vo/links?ID={CUBE.name}").text
            assert f"<TD>{root}vo/file?" in table
            assert table.count("http://localhost/") == table.count(root)
            asked = {"ID": CUBE.name, "CIRCLE": "0 0 1"}
            job = client.post(f"{before}/vo/async", data=asked, follow_redirects=False)
            assert job.headers["Location"].startswith(f"{root}vo/async/")
            assert client.get(job.headers["Location"]).status_code == 200
            assert client.get(f"{before}{PIXEL}").json() == client.get(PIXEL, headers=bearer).json()
        refused = ("wrong/vo/sia", "/vo/sia", "s3cret", "s3cret/", "s3cret/metrics",
                   "s3cret/openapi.json", "wrong/api/v1/files")  # fmt: skip
        for path in (f"/t/{rest}" for rest in refused):
            assert client.get(path).status_code == 401, path
        assert "s3cret" not in client.get("/openapi.json", headers=bearer).text
        evil = {"Host": "evil.example"}
        assert client.get(f"/t/s3cret{PIXEL}&token=s3cret", headers=evil).status_code == 421
    logged = [record.message for record in caplog.records if record.name == "tachyfits.access"]
    assert len(logged) > 10
    assert not any(key in line for line in logged for key in ("s3cret", links.split("/")[1]))
    with served() as client:
        assert client.get("/api/v1/about").json()["links"] == ""
        assert client.get(f"/t/any{PIXEL}").status_code == 404


def test_users_are_believed_of_trusted_proxies_alone() -> None:
    options: dict[str, Any] = {"user_header": "X-User", "proxies": ("10.0.0.1",)}
    user = {"X-User": "ada"}
    with served(("10.0.0.1", 1), **options) as client:
        assert client.get(FILES).status_code == 401
        assert client.get(FILES, headers=user).status_code == 200
    with served(("10.0.0.2", 1), **options) as client:
        assert client.get(FILES, headers=user).status_code == 401
    with served(("10.0.0.2", 1), token="t", **options) as client:
        assert client.get(FILES, headers={"Authorization": "Bearer t"}).status_code == 200


def test_pages_of_other_sites_cannot_use_the_server() -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    with served() as client:
        assert client.get(FILES, headers=foreign).status_code == 403
        link = foreign | {"Sec-Fetch-Mode": "navigate"}
        assert client.get("/", headers=link).status_code == 200
        post = "/api/v1/regions/pixels?id=" + CUBE.name
        body = "circle(1,1,2)"
        evil = {"Origin": "http://evil.example"}
        assert client.post(post, content=body, headers=evil).status_code == 403
        assert client.delete("/api/v1/jobs/x", headers=evil).status_code == 403
        own = {"Origin": "http://localhost"}
        assert client.post(post, content=body, headers=own).status_code == 200
        plain = client.get(FILES, headers=evil)
        assert "Access-Control-Allow-Origin" not in plain.headers
    with served(origins=("http://notebook.example",)) as client:
        asking = foreign | {"Origin": "http://notebook.example"}
        answer = client.get(FILES, headers=asking)
        assert answer.headers["Access-Control-Allow-Origin"] == "http://notebook.example"
        assert client.get(FILES, headers=foreign | evil).status_code == 403


def test_every_answer_has_the_headers_of_safety() -> None:
    with served(hosts=("localhost",)) as client:
        answers = [
            client.get("/"), client.get(FILES), client.get("/nothing"),
            client.get(FILES, headers={"Host": "evil.example"}),
            client.get("/api/v1/tile?id=x&level=1e9&x=0&y=0"),
        ]  # fmt: skip
    for answer in answers:
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_a_client_that_asks_too_often_waits() -> None:
    with served(client_rate=2.0) as client:
        answers = [client.get(FILES) for _ in range(8)]
        assert {answer.status_code for answer in answers[:4]} == {200}
        late = [answer for answer in answers if answer.status_code == 429]
        assert late
        assert all(int(answer.headers["Retry-After"]) >= 1 for answer in late)
        assert client.get("/health").status_code == 200


def test_a_client_has_a_number_of_requests_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()
    percentile = tf.Image.percentile

    def slow(self: tf.Image, *args: Any, **options: Any) -> Any:
        begun.release()
        go_on.wait(10)
        return percentile(self, *args, **options)

    monkeypatch.setattr(tf.Image, "percentile", slow)
    with served(client_concurrent=2) as client:
        threads = [
            threading.Thread(target=client.get, args=(f"/api/v1/percentiles?id={CUBE.name}&q={n}",))
            for n in range(2)
        ]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert begun.acquire(timeout=10)
        assert client.get(FILES).status_code == 429
        go_on.set()
        for thread in threads:
            thread.join(10)
        assert client.get(FILES).status_code == 200


def test_requests_are_logged_and_counted_without_tokens(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("tachyfits.access").propagate = True
    with caplog.at_level(logging.INFO, "tachyfits.access"), served(token="secret") as client:
        client.get(f"{PIXEL}&token=secret")
        client.get("/nothing", headers={"Authorization": "Bearer secret"})
        text = client.get("/metrics", headers={"Authorization": "Bearer secret"}).text
    lines = [json.loads(record.message) for record in caplog.records if record.name.endswith("ess")]
    assert lines[0]["path"] == "/api/v1/pixel"
    assert lines[0]["status"] == 200
    assert lines[0]["bytes"] > 0
    assert lines[1]["status"] == 404
    assert "secret" not in caplog.text
    assert 'tachyfits_requests_total{route="/api/v1/pixel",method="GET",status="200"} 1' in text
    assert 'route="other"' in text
    assert "process_resident_memory_bytes" in text


def test_server_that_lost_its_files_is_not_ready(tmp_path: Path) -> None:
    path = tmp_path / "cube.fits"
    tf.write(path, np.zeros((3, 4)))
    with TestClient(create_app(Settings(paths=(path,)))) as client:
        assert client.get("/ready").status_code == 200
        path.unlink()
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == 200


def test_open_address_without_a_token_is_refused() -> None:
    with pytest.raises(tf.UsageError, match="reached from other machines"):
        serve(Settings(paths=(CUBE,)), "0.0.0.0", 0, lambda link: None)


def test_page_in_a_frame_sends_the_token_of_its_link() -> None:
    with served(token="secret", open_page=True) as client:
        for path in ("/", "/main.js", "/vendor/uPlot.esm.js", "/style.css"):
            assert client.get(path).status_code == 200, path
        for path in (FILES, PIXEL, "/metrics", "/openapi.json", "/nothing", "/vendor", "/vo/sia"):
            assert client.get(path).status_code == 401, path
        assert client.get(FILES, headers={"Authorization": "Bearer secret"}).status_code == 200


def test_download_by_a_link_with_the_token_needs_no_cookie() -> None:
    navigation = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "cross-site"}
    with served(token="secret") as client:
        answer = client.get(f"{PIXEL}&token=secret", headers=navigation, follow_redirects=False)
        assert answer.status_code == 200
        assert "Set-Cookie" not in answer.headers


def test_only_the_samp_hub_is_reached_and_only_where_it_is_enabled() -> None:
    with served() as client:
        assert "connect-src" not in client.get("/").headers["Content-Security-Policy"]
        assert client.get("/api/v1/about").json()["samp"] is False
    with served(samp=True) as client:
        policy = client.get("/").headers["Content-Security-Policy"]
        assert "connect-src 'self' http://localhost:21012" in policy
        assert client.get("/api/v1/about").json()["samp"] is True


def test_server_of_notebooks_has_a_token(tmp_path: Path) -> None:
    path = tmp_path / "viewed.fits"
    tf.write(path, np.ones((3, 4, 5), dtype=np.float32))
    image = tf.open(path)[0]
    assert isinstance(image, tf.Image)
    base, _, rest = image.view().link.partition("#")
    given = dict(part.split("=", 1) for part in rest.split("&"))
    assert len(given["token"]) >= 24
    asked = {"id": given["id"]}
    assert requests.get(base, timeout=20).status_code == 200  # the page, without data
    address = f"{base}api/v1/dataset"
    assert requests.get(address, params=asked, timeout=20).status_code == 401
    assert requests.get(f"{base}api/v1/files", timeout=20).status_code == 401
    right = {"Authorization": f"Bearer {given['token']}"}
    assert requests.get(address, params=asked, headers=right, timeout=20).status_code == 200
    other = right | {"Host": "evil.example"}
    assert requests.get(address, params=asked, headers=other, timeout=20).status_code == 421


def test_page_with_the_token_may_post_through_a_proxy_of_another_name() -> None:
    # A proxy of notebooks has the name of its own in Origin, and that of this machine in Host.
    asked = f"/api/v1/spectrum?id={CUBE.name}"
    foreign = {"Origin": "https://hub.example", "Sec-Fetch-Site": "cross-site"}
    with served(token="secret", hosts=("localhost",)) as client:
        right = foreign | {"Authorization": "Bearer secret"}
        assert client.post(asked, headers=right, content="point(1,1)").status_code == 200
        wrong = foreign | {"Authorization": "Bearer no"}
        assert client.post(asked, headers=wrong, content="point(1,1)").status_code == 403
        assert client.post(asked, headers=foreign, content="point(1,1)").status_code == 403
