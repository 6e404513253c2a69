"""Copies of what lies in Cloud Storage, where several processes want the same, and where a
location's name could lead out of the cache."""
import os
import subprocess
import threading
import time

import pytest

from gcs_services import ATHANOR, athanor
from test_gcs_rules import cloud  # noqa: F401 (a fixture)


def convert(cloud, cache, location, output):
    variables = {"STORAGE_EMULATOR_HOST": cloud.url, "ATHANOR_CACHE_DIR": str(cache)}
    return subprocess.Popen([ATHANOR, "data", "convert", location, "--output", output],
                            env=os.environ | variables, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def unfinished(cache):
    return [p.name for p in cache.rglob("*.tmp-*")]


def test_of_two_processes_that_want_the_same_one_fetches_it(cloud, tmp_path):
    cloud.objects = {"d/a.jsonl": b'{"a": [1]}\n' * 500, "d/b.jsonl": b'{"b": [1]}\n' * 900}
    gate, cache = threading.Event(), tmp_path / "cache"
    cloud.script = [gate]
    first = convert(cloud, cache, "gs://bucket-one/d/*.jsonl", tmp_path / "1.tfrecord")
    end = time.monotonic() + 60
    while not unfinished(cache):
        assert time.monotonic() < end
        time.sleep(0.02)
    second = convert(cloud, cache, "gs://bucket-one/d/*.jsonl", tmp_path / "2.tfrecord")
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(1)
    gate.set()
    for process in (first, second):
        text, error = process.communicate(timeout=60)
        assert process.returncode == 0 and "1400 records" in text, error
    assert sorted(end for _, end in cloud.reads) == [
        len(cloud.objects[name]) - 1 for name in ("d/a.jsonl", "d/b.jsonl")]
    assert unfinished(cache) == []


@pytest.mark.parametrize("location", ["gs://", "gs:///", "gs://b", "gs://bucket-one/..",
                                      "gs://bucket-one/a/../", "gs://bucket-one/."])
def test_a_location_that_names_no_copy_is_refused(cloud, tmp_path, location):
    cache = tmp_path / "cache"
    text = athanor(cloud.url, "data", "convert", location, "--output", tmp_path / "o.jsonl",
                   code=3, ATHANOR_CACHE_DIR=str(cache))
    assert location in text and text.count("\n") == 1
    text = athanor(cloud.url, "tokenizer", "train", "--input", __file__, "--output", location,
                   code=3, ATHANOR_CACHE_DIR=str(cache))
    assert location in text and not cache.exists()
