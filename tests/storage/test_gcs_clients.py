"""Google's own client reads what we wrote and we read what it wrote; names, sizes, pages and
parallel parts are those that it sees."""
import json
import re

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

from gcs_services import BUCKET, athanor, content, paging_emulator, resuming_emulator, run


@pytest.fixture(scope="module", params=[paging_emulator, resuming_emulator])
def host(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("service")) as url:
        yield url


@pytest.fixture(scope="module")
def paging(tmp_path_factory):
    with paging_emulator(tmp_path_factory.mktemp("paging")) as url:
        yield url


def client(url):
    return storage.Client(project="p", credentials=AnonymousCredentials(),
                          client_options={"api_endpoint": url}).bucket(BUCKET)


SIZES = [0, 1, 262143, 262144, 262145, 3_000_000]
NAMES = ["plain", "folder/in a folder", "with space & ü%2F?#+=", "日本語/ファイル"]


@pytest.mark.parametrize("size", SIZES)
def test_they_read_what_we_wrote(host, tmp_path, size):
    (tmp_path / "file").write_bytes(content(size, size))
    athanor(host, "storage", "cp", tmp_path / "file", f"gs://{BUCKET}/ours/{size}",
            ATHANOR_GCS_CHUNK="262144")
    blob = client(host).blob(f"ours/{size}")
    assert blob.download_as_bytes(checksum="crc32c") == content(size, size)


@pytest.mark.parametrize("size", SIZES)
def test_we_read_what_they_wrote(host, tmp_path, size):
    client(host).blob(f"theirs/{size}").upload_from_string(content(size, size), checksum="crc32c")
    athanor(host, "storage", "cp", f"gs://{BUCKET}/theirs/{size}", tmp_path / "file",
            ATHANOR_GCS_CHUNK="262144")
    assert (tmp_path / "file").read_bytes() == content(size, size)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_the_same_to_both(paging, tmp_path, name):
    (tmp_path / "file").write_bytes(b"ours")
    athanor(paging, "storage", "cp", tmp_path / "file", f"gs://{BUCKET}/n1/{name}")
    bucket = client(paging)
    assert bucket.blob(f"n1/{name}").download_as_bytes() == b"ours"
    bucket.blob(f"n2/{name}").upload_from_string(b"theirs")
    athanor(paging, "storage", "cp", f"gs://{BUCKET}/n2/{name}", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"theirs"


def listed(url, location):
    lines = athanor(url, "storage", "ls", "--json", location).splitlines()
    return [(o["name"], o["size"]) for o in map(json.loads, lines)]


def test_all_pages_of_a_list_are_read(paging):
    bucket = client(paging)
    for i in range(1100):  # a page has at most 1000
        bucket.blob(f"many/{i:04}").upload_from_string(b"x" * (i % 3))
    got = listed(paging, f"gs://{BUCKET}/many")
    assert got == [(f"{i:04}", i % 3) for i in range(1100)]


def test_a_list_is_that_of_the_folder_and_not_of_names_that_begin_alike(paging):
    bucket = client(paging)
    for name in ("al/a", "al/b/c", "also", "al", "al/"):
        bucket.blob(name).upload_from_string(b"1")
    assert listed(paging, f"gs://{BUCKET}/al/") == [("a", 1), ("b/c", 1)]


def test_large_files_go_in_parts_that_are_gone_afterwards(paging, tmp_path):
    data = content(5, 5_000_000)
    (tmp_path / "file").write_bytes(data)
    athanor(paging, "storage", "cp", tmp_path / "file", f"gs://{BUCKET}/parts/whole",
            ATHANOR_GCS_CHUNK="262144", ATHANOR_GCS_PART="600000")
    assert client(paging).blob("parts/whole").download_as_bytes(checksum="crc32c") == data
    assert [b.name for b in client(paging).list_blobs(prefix="parts/")] == ["parts/whole"]


def test_copies_and_deletions_are_seen(paging, tmp_path):
    bucket = client(paging)
    bucket.blob("from/x").upload_from_string(b"content")
    athanor(paging, "storage", "cp", f"gs://{BUCKET}/from/x", f"gs://{BUCKET}/to/y")
    assert bucket.blob("to/y").download_as_bytes() == b"content"
    athanor(paging, "storage", "rm", f"gs://{BUCKET}/from/x")
    assert not bucket.blob("from/x").exists()
    assert "404" in athanor(paging, "storage", "rm", f"gs://{BUCKET}/from/x", code=6)


def test_copies_and_reading_show_how_far_they_are(paging, tmp_path):
    place, text = f"gs://{BUCKET}/shown", tmp_path / "a.txt"
    text.write_bytes(b"text\n" * 10_000)
    more = {"ATHANOR_CACHE_DIR": str(tmp_path / "cache"), "ATHANOR_GCS_PART": "262144"}

    def told(*words):
        done = run(paging, *words, **more)
        assert done.returncode == 0, done.stderr
        return done.stderr
    last = r" 50\.0/50\.0 kB · (.* · )?took \d+:\d\d\n"
    assert re.fullmatch(f"copying {text}{last}", told("storage", "cp", text, f"{place}/a/b.txt"))
    assert told("storage", "cp", f"{place}/a/b.txt", f"{place}/c.txt") == ""  # nothing passes here
    assert re.fullmatch(f"copying {place}/a{last}",
                        told("storage", "cp", "--recursive", f"{place}/a", tmp_path / "here"))
    assert re.fullmatch(f"fetching {place}/c.txt{last}",
                        told("data", "show", "--limit", 1, f"{place}/c.txt"))
    assert told("data", "show", "--limit", 1, f"{place}/c.txt") == ""  # it is here
    text.write_bytes(b"text\n" * 200_000)
    assert "1.00/1.00 MB" in told("storage", "cp", text, f"{place}/parts.txt")


def test_messages_name_what_lies_there_and_not_its_copy(paging, tmp_path):
    place, text = f"gs://{BUCKET}/named", tmp_path / "a.txt"
    text.write_bytes(b"one\n\xff\n")
    for name in ("a.txt", "in/a.txt"):
        athanor(paging, "storage", "cp", text, f"{place}/{name}")
    here = {"ATHANOR_CACHE_DIR": str(tmp_path / "cache")}
    for location, name in ((f"{place}/a.txt", "a.txt"), (f"{place}/in", "in/a.txt"),
                           (f"{place}/*.txt", "a.txt"), (f"{place}/i*/*", "in/a.txt")):
        messages = athanor(paging, "data", "show", location, code=3, **here)
        assert f"\nathanor: {place}/{name}: line 2, column 1: " in messages, messages


def test_listing_takes_patterns_and_tells_folders_from_files(paging, tmp_path):
    top, text = f"gs://{BUCKET}/listing", tmp_path / "a.txt"
    text.write_text("12345")
    for name in ("a.txt", "b.csv", "deep/er/c.txt"):
        athanor(paging, "storage", "cp", text, f"{top}/{name}")

    def names(location):
        return [line.split()[1] for line in athanor(paging, "storage", "ls", location).splitlines()]
    assert names(f"{top}/*.txt") == ["a.txt"]
    assert names(f"{top}/**/*.txt") == names(f"{top}/**/[ac].*") == ["a.txt", "deep/er/c.txt"]
    assert names(f"{tmp_path}/*.txt") == ["a.txt"]
    assert "nothing" in athanor(paging, "storage", "ls", f"{top}/*.tsv", code=6)
    for words in (["cp", top, tmp_path / "copy"], ["rm", top], ["rm", tmp_path]):
        assert "is a folder; --recursive" in athanor(paging, "storage", *words, code=6)


@pytest.mark.parametrize("name", ["../outside", "a//b", "a/../../b"])
def test_a_name_that_leads_out_of_the_folder_is_refused(paging, tmp_path, name):
    bucket = client(paging)
    bucket.blob(f"evil/{name}").upload_from_string(b"1")
    text = athanor(paging, "storage", "cp", "--recursive", f"gs://{BUCKET}/evil", tmp_path / "to",
                   code=3)
    bucket.blob(f"evil/{name}").delete()
    assert "no name for a local file" in text and not (tmp_path / "outside").exists()
