"""Uploads and downloads through a proxy that cuts, delays, damages and refuses at random: what
arrives is right to the bit, and everything ends. A kill leaves nothing half-written."""
import os
import signal
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from gcs_services import (ATHANOR, BUCKET, Faults, athanor, content, digest, listed,
                          paging_emulator, resuming_emulator)

FILES = 200
SMALL = {"ATHANOR_GCS_CHUNK": "262144", "ATHANOR_STALL_SECONDS": "1"}


@pytest.fixture(scope="module")
def resuming(tmp_path_factory):
    with resuming_emulator(tmp_path_factory.mktemp("resuming")) as url:
        yield url


@pytest.fixture(scope="module")
def paging(tmp_path_factory):
    with paging_emulator(tmp_path_factory.mktemp("paging")) as url:
        yield url


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for i in range(FILES):
        size = (0, 1, 262144, 262145, 524288)[i] if i < 5 else (i * 7919) % 900_000
        (folder / f"file-{i:03}").write_bytes(content(i, size))
    return folder


def stored(url, name):
    path = urllib.parse.quote(name, safe="")
    return urllib.request.urlopen(f"{url}/storage/v1/b/{BUCKET}/o/{path}?alt=media").read()


def test_two_hundred_uploads_under_faults_are_right(resuming, files, tmp_path):
    proxy = Faults(resuming, seed=1, rate=0.2)
    began = time.monotonic()
    athanor(proxy.url, "storage", "cp", "--recursive", files, f"gs://{BUCKET}/up",
            GOOGLE_APPLICATION_CREDENTIALS=proxy.credentials(tmp_path), **SMALL)
    print(f"uploads: {time.monotonic() - began:.1f} s, {proxy.done}")
    proxy.shutdown()
    assert all(stored(resuming, f"up/{p.name}") == p.read_bytes() for p in files.iterdir())
    assert sum(proxy.done.values()) > 100 and proxy.done["410"] > 0


def test_two_hundred_downloads_under_faults_are_right(paging, files, tmp_path):
    athanor(paging, "storage", "cp", "--recursive", files, f"gs://{BUCKET}/down")
    proxy = Faults(paging, seed=2, rate=0.2)
    began = time.monotonic()
    athanor(proxy.url, "storage", "cp", "--recursive", f"gs://{BUCKET}/down", tmp_path / "got",
            GOOGLE_APPLICATION_CREDENTIALS=proxy.credentials(tmp_path), **SMALL)
    print(f"downloads: {time.monotonic() - began:.1f} s, {proxy.done}")
    proxy.shutdown()
    assert sorted(p.name for p in (tmp_path / "got").iterdir()) == sorted(
        p.name for p in files.iterdir())
    assert all(digest(tmp_path / "got" / p.name) == digest(p) for p in files.iterdir())
    assert proxy.done["truncate"] > 0 and proxy.done["wrong byte down"] > 0


def test_a_killed_upload_shows_nothing_and_the_next_is_whole(resuming, tmp_path):
    path, name = tmp_path / "big", "killed/big"
    path.write_bytes(content(9, 8_000_000))
    environment = os.environ | {"STORAGE_EMULATOR_HOST": resuming, "ATHANOR_GCS_CHUNK": "262144"}
    for i in range(5):
        process = subprocess.Popen([ATHANOR, "storage", "cp", path, f"gs://{BUCKET}/{name}"],
                                   env=environment)
        time.sleep(0.02 + 0.02 * i)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        assert listed(resuming, f"gs://{BUCKET}/killed") == ""
    athanor(resuming, "storage", "cp", path, f"gs://{BUCKET}/{name}", **SMALL)
    assert stored(resuming, name) == path.read_bytes()


def test_a_download_that_fails_leaves_nothing(paging, tmp_path):
    path = tmp_path / "small"
    path.write_bytes(content(3, 100_000))
    athanor(paging, "storage", "cp", path, f"gs://{BUCKET}/one")
    proxy = Faults(paging, seed=3, rate=1.0)
    proxy.KINDS = ("truncate",)
    text = athanor(proxy.url, "storage", "cp", f"gs://{BUCKET}/one", tmp_path / "new", code=9,
                   ATHANOR_RETRY_SECONDS="2")
    proxy.shutdown()
    assert f"gs://{BUCKET}/one after 8 tries" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["small"]
