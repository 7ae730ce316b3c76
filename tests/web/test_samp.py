"""The page and other programs by SAMP: astropy's hub, a client of it, and a page in Chromium."""

from __future__ import annotations

import io
import queue
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from astropy.io import fits
from astropy.io.votable import parse_single_table
from astropy.samp import SAMPHubServer, SAMPIntegratedClient
from astropy.samp.hub import WebProfileDialog
from playwright.sync_api import Page, expect

import tachyfits as tf
from viewerpage import opened, state


class Consent(WebProfileDialog):  # type: ignore[misc,unused-ignore]
    """The user of a hub: agrees, or refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.agrees = True
        self.done = False
        self.names: list[str] = []

    def show_dialog(self, settings: Any, *_: Any) -> None:
        self.names.append(settings["samp.name"] if "samp.name" in settings else str(settings))
        if self.agrees:
            self.consent()
        else:
            self.reject()

    def follow(self) -> None:
        while not self.done:
            self.handle_queue()
            time.sleep(0.02)


@pytest.fixture
def user() -> Consent:
    return Consent()


@pytest.fixture
def hub(user: Consent, tmp_path: Path) -> Iterator[SAMPHubServer]:
    found = SAMPHubServer(
        web_profile=True, web_profile_dialog=user, lockfile=str(tmp_path / "samp"), addr="127.0.0.1"
    )
    thread = threading.Thread(target=user.follow)
    thread.start()
    found.start()
    yield found
    if found.is_running:
        found.stop()
    user.done = True
    thread.join()


@pytest.fixture
def other(hub: SAMPHubServer) -> Iterator[SAMPIntegratedClient]:
    """Another program, such as TOPCAT."""
    found = SAMPIntegratedClient(name="other", addr="127.0.0.1")
    found.connect(hub_params=hub.params)
    yield found
    if hub.is_running:
        found.disconnect()


def heard(client: SAMPIntegratedClient, mtype: str) -> queue.Queue[dict[str, str]]:
    """Return the parameters of messages that a program gets."""
    found: queue.Queue[dict[str, str]] = queue.Queue()

    def receive(_key: Any, _sender: Any, _mtype: Any, params: Any, _extra: Any) -> None:
        found.put(params)

    client.bind_receive_notification(mtype, receive)
    return found


def bytes_of(url: str) -> bytes:
    """Fetch a link as another program does: without the cookies of the browser."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        found: bytes = answer.read()
    return found


def is_gone(client: SAMPIntegratedClient, left: str) -> bool:
    """Ask the hub until it knows a program no more: the page says so before the hub hears it."""
    end = time.monotonic() + 20
    while left in client.get_registered_clients():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


# Tests ask for the page last, so that it is closed before the hub and the server that it talks to.
def connected(page: Page) -> None:
    page.locator("#tab-save").click()
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.locator("#samp-note")).to_contain_text("Connected")


def test_files_are_sent_and_positions_are_followed(
    address: str, folder: Path, other: SAMPIntegratedClient, user: Consent, page: Page
) -> None:
    images, tables = heard(other, "image.load.fits"), heard(other, "table.load.votable")
    opened(page, address, "image=moment0,20,60&r=0:box(45,55,21,11,0)")
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment0'")
    connected(page)
    assert user.names
    note = page.locator("#samp-note")
    page.get_by_label("Part of the plane").select_option("region")
    page.get_by_role("button", name="Send the cutout").click()
    expect(note).to_have_text("Sent the cutout to 1 program.")
    with tf.open(folder / "ngc6946.fits") as file:
        cube = file[0]
        sent = images.get(timeout=20)
        assert sent["name"].startswith("cubes/ngc6946.fits")
        with fits.open(io.BytesIO(bytes_of(sent["url"]))) as found:
            assert found[0].data.shape == (cube.shape[0], 11, 21)
        page.get_by_role("button", name="Send what is shown").click()
        with fits.open(io.BytesIO(bytes_of(images.get(timeout=20)["url"]))) as found:
            expected = cube.select(channels=slice(19, 60)).moment(0).values
            assert (found[0].data == expected).all()
        page.get_by_role("button", name="Send the list of files").click()
        table = parse_single_table(io.BytesIO(bytes_of(tables.get(timeout=60)["url"]))).to_table()
        assert any("ngc6946.fits" in name for name in table["obs_id"])
        place = cube.wcs.celestial.pixel_to_world(62, 31).icrs
    ra, dec = float(place.ra.deg), float(place.dec.deg)
    point = {"ra": repr(ra), "dec": repr(dec)}
    before = len(state(page)["regions"])
    other.notify_all({"samp.mtype": "coord.pointAt.sky", "samp.params": point})
    expect(note).to_contain_text("The point follows")
    region = state(page)["regions"][-1]
    assert region["kind"] == "point"
    assert region["values"] == pytest.approx([63, 32], abs=0.01)
    assert state(page)["centre"] == pytest.approx([63, 32], abs=0.01)
    # A call waits for an answer; the same point moves.
    point = {"ra": repr(ra), "dec": repr(dec + 0.01)}
    (page_id,) = (key for key in other.get_subscribed_clients("coord.pointAt.sky"))
    answer = threading.Thread(
        target=other.call_and_wait,
        args=(page_id, {"samp.mtype": "coord.pointAt.sky", "samp.params": point}, "20"),
    )
    answer.start()
    page.wait_for_function("() => tachyfits.store.state.regions.at(-1).values[1] > 32.5")
    answer.join(20)
    assert not answer.is_alive()
    assert len(state(page)["regions"]) == before + 1
    outside = {"ra": repr(ra), "dec": repr(dec - 5)}
    other.notify_all({"samp.mtype": "coord.pointAt.sky", "samp.params": outside})
    expect(note).to_contain_text("outside of this image")
    page.get_by_role("button", name="Disconnect").click()
    expect(note).to_have_text("Not connected.")
    assert is_gone(other, page_id)


def test_files_of_a_server_with_a_token_are_sent(
    locked_address: str, other: SAMPIntegratedClient, page: Page
) -> None:
    images, tables = heard(other, "image.load.fits"), heard(other, "table.load.votable")
    opened(page, locked_address)
    connected(page)
    page.get_by_role("button", name="Send what is shown").click()
    sent = images.get(timeout=20)["url"]
    assert "s3cret" not in sent
    with fits.open(io.BytesIO(bytes_of(sent))) as found:
        assert found[0].data.ndim >= 2
    page.get_by_role("button", name="Send the list of files").click()
    table = parse_single_table(io.BytesIO(bytes_of(tables.get(timeout=60)["url"]))).to_table()
    # Its links are followed as they are.
    assert b"access_url" in bytes_of(table["access_url"][0])


def test_page_says_when_no_hub_runs(address: str, notice_expected: None, page: Page) -> None:
    opened(page, address)
    page.locator("#tab-save").click()
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.locator("#samp-note")).to_contain_text("No SAMP hub runs on this machine")
    expect(page.get_by_role("button", name="Send the cutout")).to_be_disabled()


def test_user_of_the_hub_may_refuse(
    address: str, hub: SAMPHubServer, user: Consent, page: Page
) -> None:
    user.agrees = False
    opened(page, address)
    page.locator("#tab-save").click()
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.locator("#samp-note")).to_contain_text("The SAMP hub refused")


def test_page_learns_that_the_hub_ended(
    address: str, hub: SAMPHubServer, notice_expected: None, page: Page
) -> None:
    opened(page, address)
    connected(page)
    page.get_by_role("button", name="Send the cutout").click()
    expect(page.locator("#samp-note")).to_contain_text("No program that takes this")
    hub.stop()
    expect(page.locator("#samp-note")).to_have_text("Not connected.")


def test_values_of_the_hub_are_read_as_written(address: str, page: Page) -> None:
    page.goto(address)
    found = page.evaluate(
        "async () => { const {encode, decode} = await import('./samp.js');"
        " const value = {'a<&>': ['x', {b: ''}, []], plain: ' 1 '};"
        " const text = encode(value);"
        " const read = decode(new DOMParser().parseFromString(text, 'text/xml').documentElement);"
        " return [JSON.stringify(value), JSON.stringify(read)]; }"
    )
    assert found[0] == found[1]
