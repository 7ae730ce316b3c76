"""The page in a real browser: Chromium, driven by Playwright, one for all tests.

Without Chromium these tests fail and say how to install it; `make test` names them as not run.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from realfiles import path_of
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

#: Names of the browser's program.
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

#: WebGL2 without a graphics card, and without a sandbox for a superuser in a container.
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--headless=new",
]

#: Milliseconds that one expectation may take.
PATIENCE = 15_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.fail("Chromium is missing (Debian, Ubuntu: sudo apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that tests open."""
    folder = tmp_path_factory.mktemp("served") / "cubes"
    folder.mkdir()
    for name in ("data/cubes/ngc6946.fits", "data/cubes/dec_pol_freq_ra.fits"):
        shutil.copy(path_of(name), folder)
    return folder


@contextlib.contextmanager
def running(settings: Settings, page: Page | None = None) -> Iterator[str]:
    """Run a server on a thread of this process; give its address.

    ``page`` leaves the server before it stops: its last requests cannot fail.
    """
    config = uvicorn.Config(
        create_app(settings),
        host="127.0.0.1",
        port=0,
        log_level="warning",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/"
    if page is not None:
        page.goto("about:blank")
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def serving() -> Callable[..., contextlib.AbstractContextManager[str]]:
    """Run a server with other settings, in a with block."""
    return running


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    """A server of that folder."""
    with running(Settings(paths=(folder,), samp=True)) as found:
        yield found


@pytest.fixture
def locked_address(folder: Path, tmp_path: Path) -> Iterator[str]:
    """The link of a server of that folder that asks for a token."""
    settings = Settings(paths=(folder,), samp=True, token="s3cret", cache_folder=tmp_path)
    with running(settings) as found:
        yield f"{found}?token=s3cret"


@pytest.fixture
def notice_expected() -> None:
    """Let the page say that something failed."""


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Context of all pages: the browser keeps the scripts of the page from test to test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A new page; an error in its scripts, or one that it tells, fails the test."""
    context.clear_cookies()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(f"{message.text} ({message.location.get('url')})")

    page.on("console", said)
    yield page
    notice = page.locator("#notice")
    told = notice.inner_text() if notice.is_visible() else ""
    page.close()
    if "notice_expected" not in request.fixturenames:
        assert not errors
        assert not told
