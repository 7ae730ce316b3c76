"""The examples for operators: nginx and systemd take them, and a client stays with one server."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
from pathlib import Path

import pytest
import requests

from servedcube import CUBE
from voserver import serving

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:Unverified HTTPS request"),  # of our own certificate
]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "server"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or ""
needs_nginx = pytest.mark.skipif(not NGINX, reason="LEFT OUT: nginx")


def certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
               "-subj", "/CN=archive.example.org", "-keyout", "archive.key", "-out",
               "archive.pem"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def written(folder: Path, changes: dict[str, str]) -> Path:
    """Write a whole configuration with the example in it, and return its path."""
    example = (EXAMPLES / "nginx.conf").read_text()
    changes |= {"/etc/ssl/": f"{folder}/", "/etc/nginx/users": f"{folder}/users"}
    for old, new in changes.items():
        assert old in example
        example = example.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    # The workers of a superuser could not read the folder of a test.
    user = "user root;\n" if os.geteuid() == 0 else ""
    path.write_text(
        f"{user}daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{example}\n}}\n"
    )
    return path


@needs_nginx
def test_nginx_takes_the_example_as_it_is(tmp_path: Path) -> None:
    certificate(tmp_path)
    path = written(tmp_path, {})
    found = subprocess.run(
        [NGINX, "-t", "-p", str(tmp_path), "-c", str(path)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert "[warn]" not in found.stderr


@needs_nginx
def test_client_stays_with_one_server_and_clients_share_both(tmp_path: Path) -> None:
    certificate(tmp_path)
    names = [f"user{n}" for n in range(12)]
    (tmp_path / "users").write_text("".join(f"{name}:{{PLAIN}}secret\n" for name in names))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serving(tmp_path / "cache", CUBE) as one, serving(tmp_path / "cache", CUBE) as other:
        changes = {
            "127.0.0.1:8081": one.url.removeprefix("http://"),
            "127.0.0.1:8082": other.url.removeprefix("http://"),
            "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            # The example's name is not a name of these servers.
            "proxy_set_header Host $host;": "proxy_set_header Host localhost;",
        }
        path = written(tmp_path, changes)
        proxy = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(path)])
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            base = f"https://127.0.0.1:{port}"

            def server_of(user: str, view: str) -> str:
                answer = requests.get(
                    f"{base}/metrics", params={"view": view}, auth=(user, "secret"),
                    verify=False, timeout=20,
                )  # fmt: skip
                assert answer.status_code == 200
                found = re.search(r"^process_start_time_seconds (\S+)", answer.text, re.MULTILINE)
                assert found
                return found[1]

            user_of = {}
            for name in names:
                (mine,) = {server_of(name, view) for view in ("", "a-tiles", "b-spectrum")}
                user_of[mine] = name
            assert len(user_of) == 2
            # A job of one server is a job of the other, too.
            first, second = ({"auth": (user, "secret"), "verify": False, "timeout": 30}
                             for user in user_of.values())  # fmt: skip
            asked = {"ID": CUBE.name, "PHASE": "RUN"}
            created = requests.post(f"{base}/vo/async", asked, allow_redirects=False, **first)
            assert created.status_code == 303, created.text
            job = base + urllib.parse.urlsplit(created.headers["Location"]).path
            for phase in ("QUEUED", "EXECUTING"):
                requests.get(job, {"WAIT": 20, "PHASE": phase}, **second)
            assert requests.get(f"{job}/phase", **second).text == "COMPLETED"
            refused = requests.get(f"{base}/metrics", verify=False, timeout=20)
            assert refused.status_code == 401
        finally:
            proxy.terminate()
            proxy.wait(10)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="LEFT OUT: systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = (EXAMPLES / "tachyfits@.service").read_text()
    program = "/opt/tachyfits/bin/tachyfits"
    assert program in unit
    # The program has to exist.
    path = tmp_path / "tachyfits@8081.service"
    path.write_text(unit.replace(program, shutil.which("env") or ""))
    found = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, timeout=60
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_examples_use_options_that_exist() -> None:
    from tachyfits.cli.serve import command

    known = {flag for parameter in command.params for flag in parameter.opts}
    for name, start, end in (
        ("tachyfits@.service", "ExecStart=", "\nRestart="),
        ("Dockerfile", "ENTRYPOINT ", "\0"),
    ):
        text = (EXAMPLES / name).read_text()
        flags = re.findall(r"--[a-z-]+", text.partition(start)[2].partition(end)[0])
        assert len(flags) > 2
        assert set(flags) <= known
