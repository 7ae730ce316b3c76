"""The server with URLs: files of web servers, files and folders of an object store (S3 by moto)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from moto.s3.models import s3_backends

import tachyfits as tf
from rangeserver import range_server
from servedcube import CUBE
from tachyfits.server import targets
from tachyfits.server.app import create_app
from tachyfits.server.datasets import Datasets
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

CONTENT = Path(CUBE).read_bytes()


@pytest.fixture
def survey(bucket: Any) -> Any:
    """A bucket with a folder of cubes."""
    for key in ("deep/m 51.fits", "deep/inner/m31.fits", "deep/notes.txt", "deep/.hidden.fits"):
        bucket.put_object(Key=key, Body=CONTENT)
    return bucket


def settings(tmp_path: Path, *paths: str) -> Settings:
    return Settings(paths=paths, cache_folder=tmp_path / "cache")


def test_entries_of_a_bucket_and_of_one_object(survey: Any) -> None:
    entries = tf.remote_entries("s3://survey/deep/")
    assert [(entry.name, entry.is_folder, entry.size) for entry in entries] == [
        ("inner", True, 0),
        (".hidden.fits", False, len(CONTENT)),
        ("m 51.fits", False, len(CONTENT)),
        ("notes.txt", False, len(CONTENT)),
    ]
    one = tf.remote_entry("s3://survey/deep/m 51.fits")
    assert one == entries[2]
    assert one.version == tf.open(one.url).version
    assert one.modified is not None
    assert [entry.name for entry in tf.remote_entries("s3://survey")] == ["deep"]
    assert len(tf.remote_entries("s3://survey/deep", 2)) == 2
    assert tf.remote_entries("s3://survey/none") == []
    with pytest.raises(tf.IoNotFoundError, match="s3://survey/none"):
        tf.remote_entry("s3://survey/none")


def test_lists_of_many_objects_take_several_requests(survey: Any) -> None:
    backend = s3_backends["123456789012"]["aws"]  # a request for each would take seconds
    for number in range(1001):
        backend.put_object(survey.name, f"many/{number:04}.fits", b"")
    names = [entry.name for entry in tf.remote_entries("s3://survey/many", 5000)]
    assert sorted(names) == [f"{number:04}.fits" for number in range(1001)]


def test_a_folder_of_a_store_is_served(survey: Any, tmp_path: Path) -> None:
    with TestClient(create_app(settings(tmp_path, "s3://survey/deep"))) as client:
        roots = client.get("/api/v1/files").json()["entries"]
        assert [(root["id"], root["is_folder"]) for root in roots] == [("deep", True)]
        entries = client.get("/api/v1/files", params={"folder": "deep"}).json()["entries"]
        assert [(entry["id"], entry["bytes"]) for entry in entries] == [
            ("deep/inner", 0),
            ("deep/m 51.fits", len(CONTENT)),
        ]
        inner = client.get("/api/v1/files", params={"folder": "deep/inner"}).json()["entries"]
        assert [entry["id"] for entry in inner] == ["deep/inner/m31.fits"]
        with tf.open(CUBE) as file:
            expected = file[0].spectrum("circle(40,50,7)")
        for name in ("deep/m 51.fits", "deep/inner/m31.fits"):
            asked = {"id": name, "region": "circle(40,50,7)"}
            answer = client.get("/api/v1/spectrum", params=asked)
            assert answer.status_code == 200, answer.text
            np.testing.assert_array_equal(answer.json()["values"], expected.values)
        for name in ("deep/none.fits", "deep/inner", "deep/../x.fits", "deep/m 51.fits/x", "x"):
            answer = client.get("/api/v1/dataset", params={"id": name})
            assert answer.status_code in (404, 422), (name, answer.text)
            assert "secret-word" not in answer.text
        listed = client.get("/vo/sia", params={"MAXREC": "10"})
        assert "deep/m%2051.fits" in listed.text or "deep/m 51.fits" in listed.text
        whole = client.get("/vo/file", params={"ID": "deep/m 51.fits"})
        assert whole.status_code == 404
        assert "not passed on" in whole.text


def test_a_replaced_object_is_never_mixed_with_the_old_one(
    survey: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "_BELIEVED", 0.0)
    with TestClient(create_app(settings(tmp_path, "s3://survey/deep/m 51.fits"))) as client:
        asked = {"id": "m 51.fits"}
        first = client.get("/api/v1/dataset", params=asked)
        pixel = asked | {"x": 1, "y": 1, "version": first.json()["version"]}
        assert client.get("/api/v1/pixel", params=pixel).status_code == 200
        tf.write(tmp_path / "other.fits", np.full((2, 4, 5), 7, dtype=np.float32))
        survey.upload_file(str(tmp_path / "other.fits"), "deep/m 51.fits")
        assert client.get("/api/v1/pixel", params=pixel).status_code == 409
        assert client.get("/api/v1/dataset", params=asked).json()["naxis"] == [5, 4, 2]


def test_a_file_of_a_web_server_is_served_by_few_requests(tmp_path: Path) -> None:
    with range_server({"/m51.fits": CONTENT}) as server:
        url = f"{server.url}/m51.fits"
        with TestClient(create_app(settings(tmp_path, url))) as client:
            asked = {"id": "m51.fits", "x": 3, "y": 4, "channel": 2}
            value = client.get("/api/v1/pixel", params=asked).json()["value"]
            with tf.open(CUBE) as file:
                assert value == file[0][1, 3, 2]
            server.clear()
            # The state is believed for some seconds, and the pixel was read.
            assert client.get("/api/v1/pixel", params=asked).json()["value"] == value
            assert len(server.requests) <= 1
            answer = client.get("/vo/file", params={"ID": "m51.fits"}, follow_redirects=False)
            assert (answer.status_code, answer.headers["location"]) == (307, url)


def test_secrets_of_a_url_are_in_no_answer_and_no_cache(tmp_path: Path) -> None:
    with range_server({"/m51.fits": CONTENT}) as server:
        url = f"{server.url}/m51.fits?X-Amz-Signature=secret-word"
        with TestClient(create_app(settings(tmp_path, url))) as client:
            texts = [client.get("/api/v1/files").text, client.get("/vo/sia").text]
            texts.append(client.get("/vo/file", params={"ID": "m51.fits"}).text)
            server.files.clear()
            texts.append(client.get("/api/v1/pixel?id=m51.fits&x=9&y=9&channel=3").text)
            assert not any("secret-word" in text for text in texts)
        for path in (tmp_path / "cache").rglob("*"):
            assert path.is_dir() or b"secret-word" not in path.read_bytes()


def test_roots_that_do_not_exist_are_refused_at_the_start(survey: Any) -> None:
    with pytest.raises(tf.UsageError, match=r"s3://survey/none: no such file or folder"):
        Datasets(["s3://survey/none"])
    with (
        range_server({}) as server,
        pytest.raises(tf.IoError, match="HTTP has no lists of files: give the URLs"),
    ):
        Datasets([f"{server.url}/folder/"])
