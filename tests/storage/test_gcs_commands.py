"""Commands that read from and write to Cloud Storage: each as it does with local files, a run that
goes on elsewhere, and what is kept in the cache."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from gcs_services import ATHANOR, BUCKET, Faults, athanor, digest, listed, paging_emulator

SETTINGS = ["--hidden-size", "32", "--num-hidden-layers", "1", "--num-attention-heads", "2",
            "--intermediate-size", "64", "--per-device-train-batch-size", "4", "--logging-steps",
            "1", "--save-steps", "3"]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with paging_emulator(tmp_path_factory.mktemp("paging")) as url:
        yield url


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with text, and what the commands make of it there."""
    folder = tmp_path_factory.mktemp("local")
    words = "the river flows into the sea and the writer sees the mountain by the lake".split()
    lines = [" ".join(words[(i * j) % len(words)] for j in range(1, 12)) for i in range(400)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    athanor("", "tokenizer", "train", "--vocab-size", "60", "--input", folder / "text.txt",
            "--output", folder / "tok")
    athanor("", "data", "prepare", "--tokenizer", folder / "tok", "--input", folder / "text.txt",
            "--output", folder / "data", "--max-length", "16")
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def remote(host, work, cache):
    """The same made in Cloud Storage."""
    at = f"gs://{BUCKET}/run"
    here = {"ATHANOR_CACHE_DIR": str(cache)}
    athanor(host, "storage", "cp", work / "text.txt", f"{at}/in/text.txt", **here)
    athanor(host, "tokenizer", "train", "--vocab-size", "60", "--input", f"{at}/in/text.txt",
            "--output", f"{at}/tok", **here)
    athanor(host, "data", "prepare", "--tokenizer", f"{at}/tok", "--input", f"{at}/**/*.txt",
            "--output", f"{at}/data", "--max-length", "16", **here)
    return at


def train(host, remote, output, cache, *more, **how):
    return athanor(host, "train", "--tokenizer", f"{remote}/tok", "--train-dataset",
                   f"{remote}/data/train", "--output-dir", output, *SETTINGS, *more,
                   ATHANOR_CACHE_DIR=str(cache), **how)


def copied(host, location, folder):
    athanor(host, "storage", "cp", "--recursive", location, folder)
    return pathlib.Path(folder)


def test_tokenizer_and_shards_are_those_made_here(host, work, remote, tmp_path):
    got = copied(host, remote, tmp_path / "got")
    assert digest(got / "tok/tokenizer.json") == digest(work / "tok/tokenizer.json")
    listed = [json.loads((at / "data/train/manifest.json").read_text())["shards"]
              for at in (got, work)]
    assert listed[0] == listed[1]
    shards = [p.name for p in (work / "data/train").glob("*.tfrecord")]
    assert shards and all(digest(got / "data/train" / n) == digest(work / "data/train" / n)
                          for n in shards)


def test_a_run_there_ends_with_the_weights_of_one_here(host, work, remote, cache, tmp_path):
    text = train(host, remote, f"{remote}/model", cache, "--max-steps", "7")
    assert f"saved in {remote}/model" in text
    athanor("", "train", "--tokenizer", work / "tok", "--train-dataset", work / "data/train",
            "--output-dir", tmp_path / "model", *SETTINGS, "--max-steps", "7")
    got = copied(host, f"{remote}/model", tmp_path / "got")
    assert digest(got / "model.safetensors") == digest(tmp_path / "model/model.safetensors")
    assert list(got.glob("runs/events.*")) and (got / "all_results.json").exists()
    answer = athanor(host, "fill-mask", "--model", f"{remote}/model", "--json", "the [MASK] flows",
                     ATHANOR_CACHE_DIR=str(cache))
    assert json.loads(answer) and not list(cache.glob("*model.copy/model/checkpoint-*"))
    assert "every checksum" in athanor(host, "data", "verify", f"{remote}/data/train",
                                       ATHANOR_CACHE_DIR=str(cache))


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_killed_run_goes_on_from_what_is_there(host, remote, cache, tmp_path, elsewhere):
    output = f"{remote}/killed-{elsewhere}"
    environment = os.environ | {"STORAGE_EMULATOR_HOST": host, "ATHANOR_CACHE_DIR": str(cache)}
    process = subprocess.Popen(
        [ATHANOR, "train", "--tokenizer", f"{remote}/tok", "--train-dataset",
         f"{remote}/data/train", "--output-dir", output, *SETTINGS, "--max-steps", "100000",
         "--save-steps", "300"], env=environment, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while "SHA256SUMS" not in listed(host, f"{output}/"):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    saved = max(int(line.split("checkpoint-")[1].split("/")[0])
                for line in athanor(host, "storage", "ls", f"{output}/").splitlines()
                if "SHA256SUMS" in line)
    where = tmp_path / "cache" if elsewhere else cache
    steps = ["--max-steps", "100000", "--save-steps", "300"]
    environment["ATHANOR_CACHE_DIR"] = str(where)
    process = subprocess.Popen(
        [ATHANOR, "train", "--tokenizer", f"{remote}/tok", "--train-dataset",
         f"{remote}/data/train", "--output-dir", output, *SETTINGS, *steps], env=environment,
        stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    text = process.communicate(timeout=60)[1]
    assert process.returncode == 13, text
    begun = int(re.search(r"checkpoint-(\d+)", text).group(1))
    assert begun == saved if elsewhere else begun >= saved, text
    got = copied(host, output, tmp_path / "got")
    lines = [json.loads(line) for line in (got / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line][-1] > begun


def test_a_result_that_cannot_be_sent_is_in_the_exit_code(host, remote, cache, tmp_path):
    proxy = Faults(host, seed=5, rate=0)
    passes = proxy.choose
    proxy.KINDS = ("503 before",)
    proxy.choose = lambda method, path, token: (
        "503 before" if method in ("PUT", "POST") else passes(method, path, token))
    text = train(proxy.url, remote, f"{remote}/refused", cache, "--max-steps", "3", code=9,
                 ATHANOR_RETRY_SECONDS="2")
    proxy.shutdown()
    assert "503 after 8 tries" in text
    train(host, remote, f"{remote}/refused", cache, "--max-steps", "3")  # sends what is left
    assert "all_results.json" in athanor(host, "storage", "ls", f"{remote}/refused")


def test_the_cache_keeps_its_limit_and_what_was_used_last(host, tmp_path):
    for i in range(4):
        (tmp_path / f"f{i}").write_bytes(b'{"text": "a"}\n' * 5000)
        athanor(host, "storage", "cp", tmp_path / f"f{i}", f"gs://{BUCKET}/c/f{i}.jsonl")
    cache = tmp_path / "cache"

    def use(i, code=0, size="150KB"):
        return athanor(host, "data", "convert", f"gs://{BUCKET}/c/f{i}.jsonl", "--output",
                       tmp_path / "out.tfrecord", code=code, ATHANOR_CACHE_DIR=str(cache),
                       ATHANOR_CACHE_SIZE=size)

    def kept():
        return sorted(p.name for p in cache.rglob("*.jsonl") if p.is_file())
    for i in (0, 1, 0, 2):
        use(i)
    assert kept() == ["f0.jsonl", "f2.jsonl"]
    assert "ATHANOR_CACHE_SIZE" in use(3, code=8, size="50KB")


def test_a_changed_object_is_fetched_again_and_an_unchanged_one_is_not(host, tmp_path):
    cache = tmp_path / "cache"
    path = tmp_path / "t.jsonl"

    def count():
        text = athanor(host, "data", "convert", f"gs://{BUCKET}/d/*.jsonl", "--output",
                       tmp_path / "out.tfrecord", ATHANOR_CACHE_DIR=str(cache))
        return int(text.split()[-2])
    path.write_text('{"a": [1]}\n')
    athanor(host, "storage", "cp", path, f"gs://{BUCKET}/d/t.jsonl")
    assert count() == 1
    first = next(cache.rglob("t.jsonl")).stat()
    assert count() == 1 and next(cache.rglob("t.jsonl")).stat().st_ino == first.st_ino
    path.write_text('{"a": [1]}\n{"a": [2]}\n')
    athanor(host, "storage", "cp", path, f"gs://{BUCKET}/d/t.jsonl")
    assert count() == 2
    shutil.rmtree(cache)
    assert count() == 2
