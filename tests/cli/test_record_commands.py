"""`data inspect`, `verify` and `convert`, held against TensorFlow."""

import gzip
import json
import os
import random
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import pytest
import tensorflow as tf

ATHANOR = os.environ["ATHANOR"]
COMPRESSIONS = {"": "", ".gz": "GZIP", ".zlib": "ZLIB"}


def athanor(*words, code=0, data=None):
    done = subprocess.run([ATHANOR, *map(str, words)], input=data, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def feature(draw):
    count = draw.choice([0, 1, 1, 2, 40])
    kind = draw.randrange(4)
    if kind == 0:
        pieces = [b"", "naïve \n\x00\"\\🙂".encode(), bytes(range(256)), b"\xed\xa0\x80", b"text"]
        return tf.train.Feature(bytes_list=tf.train.BytesList(
            value=[draw.choice(pieces) for _ in range(count)]))
    if kind == 1:
        odd = [0.0, -0.0, float("inf"), float("-inf"), 1e-45, 3.4028235e38, 0.1, 1e10, 123456789.0]
        return tf.train.Feature(float_list=tf.train.FloatList(
            value=[draw.choice(odd + [draw.gauss(0, 1)]) for _ in range(count)]))
    if kind == 2:
        odd = [0, 1, -1, 2**63 - 1, -2**63, 2**53 + 1]
        return tf.train.Feature(int64_list=tf.train.Int64List(
            value=[draw.choice(odd + [draw.randrange(1 << 20)]) for _ in range(count)]))
    return tf.train.Feature()


def features(draw):
    return tf.train.Features(feature={name: feature(draw) for name in
                                      draw.sample(["a", "ä/ö", "input_ids", "", "b c", "x"], 3)})


def messages(count):
    """Examples and SequenceExamples by turns, of every kind."""
    draw = random.Random(5)
    for i in range(count):
        if i % 2 == 0:
            yield tf.train.Example(features=features(draw))
        else:
            lists = {name: tf.train.FeatureList(feature=[feature(draw) for _ in
                                                         range(draw.randrange(4))])
                     for name in draw.sample(["s", "t", "context"], draw.randrange(1, 4))}
            yield tf.train.SequenceExample(
                context=features(draw), feature_lists=tf.train.FeatureLists(feature_list=lists))


def read(path, compression=""):
    return [record.numpy() for record in tf.data.TFRecordDataset(str(path), compression)]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_what_tensorflow_wrote_comes_back_through_json(tmp_path, suffix):
    written = list(messages(300))
    path = tmp_path / f"theirs.tfrecord{suffix}"
    with tf.io.TFRecordWriter(str(path), COMPRESSIONS[suffix] or None) as writer:
        for message in written:
            writer.write(message.SerializeToString())
    athanor("data", "verify", path)
    athanor("data", "convert", path, "--output", tmp_path / "a.jsonl")
    ours = tmp_path / f"ours.tfrecord{suffix}"
    athanor("data", "convert", tmp_path / "a.jsonl", "--output", ours)
    back = read(ours, COMPRESSIONS[suffix])
    assert len(back) == len(written)
    for message, record in zip(written, back):
        assert type(message).FromString(record) == message
    again = athanor("data", "convert", ours)
    assert again == (tmp_path / "a.jsonl").read_text()


def test_tensorflow_parses_what_was_json(tmp_path):
    lines = [{"input_ids": [i, i + 1], "score": i / 4, "text": f"é{i}"} for i in range(5)]
    data = "".join(json.dumps(line) + "\n" for line in lines) + "\n  \n"
    path = tmp_path / "a.tfrecord"
    athanor("data", "convert", "-", "--output", path, data=data)
    spec = {"input_ids": tf.io.FixedLenFeature([2], tf.int64),
            "score": tf.io.FixedLenFeature([], tf.float32),
            "text": tf.io.FixedLenFeature([], tf.string)}
    rows = [tf.io.parse_single_example(record, spec) for record in read(path)]
    assert len(rows) == 5
    for line, row in zip(lines, rows):
        assert row["input_ids"].numpy().tolist() == line["input_ids"]
        assert row["score"].numpy() == np.float32(line["score"])
        assert row["text"].numpy().decode() == line["text"]


def test_faults_of_json_name_file_and_line(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": [1]}\n{"a": []}\n')
    out = tmp_path / "out.tfrecord"
    assert "bad.jsonl: line 2: feature \"a\": an empty list has no kind" in \
        athanor("data", "convert", path, "--output", out, code=3)
    assert not out.exists()
    assert "does not end in .jsonl" in athanor("data", "convert", path, code=2)
    assert "does end in .jsonl" in athanor("data", "convert", out, "--output", "x.tfrecord",
                                           code=2)
    assert "gzip and zlib only" in athanor("data", "convert", path, "--output", out,
                                           "--compression", "zstd", code=2)


@pytest.fixture
def three(tmp_path):
    """Three records of 17 bytes of data in a file each."""
    for k in range(2):
        with tf.io.TFRecordWriter(str(tmp_path / f"{k}.tfrecord")) as writer:
            for i in range(3):
                writer.write(b"%d.%d is no Example" % (k, i))
    return tmp_path


def test_verify_tells_every_fault_and_goes_on(three):
    path = three / "0.tfrecord"
    whole = path.read_bytes()
    damaged = bytearray(whole)
    size = len(whole) // 3
    damaged[14] ^= 1            # data of record 0
    damaged[size + 12 + 5] ^= 1  # of record 1
    path.write_bytes(damaged)
    shown = subprocess.run([ATHANOR, "data", "verify", "--json", three], capture_output=True,
                           text=True)
    *faults, last = map(json.loads, shown.stdout.splitlines())
    assert shown.returncode == 4 and "2 faults, the first of them" in shown.stderr
    assert [(f["file"], f["record"], f["byte"]) for f in faults] == \
        [(str(path), 0, 0), (str(path), 1, size)]
    assert all("data checksum does not match" in f["fault"] for f in faults)
    assert last == {"files": 2, "records": 4, "bytes": 4 * (size - 16), "faults": 2}
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        if cut % size == 0 or cut % 7 > 0:
            continue  # a run of the command for each would take long; C tests cut everywhere
        said = athanor("data", "verify", path, code=4)
        assert f"0.tfrecord: record {cut // size} at byte {cut // size * size}: truncated" in said


def test_inspect_tells_of_records_that_are_no_examples(three):
    summary, first = map(json.loads, athanor("data", "inspect", three, "--json", "--limit",
                                             1).splitlines())
    assert summary["records"] == 6 and summary["files"] == 2 and summary["examples"] == 0
    assert first == {"record": 0, "example": None, "bytes": summary["longest"]}
    assert "that are no Example" in athanor("data", "inspect", three)


def test_a_limit_holds_for_all_three(three):
    path = three / "0.tfrecord"
    for command in (("inspect", path), ("verify", path), ("convert", path)):
        assert "over the limit of 5" in athanor("data", *command, "--max-record-bytes", 5, code=3)


def test_inspect_counts_what_is_there(tmp_path):
    path = tmp_path / "a.tfrecord.gz"
    rows = [tf.train.Example(features=tf.train.Features(feature={
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=range(i))),
        "f": tf.train.Feature(float_list=tf.train.FloatList(value=[1]))})) for i in range(1, 8)]
    content = [row.SerializeToString() for row in rows]
    with tf.io.TFRecordWriter(str(path), "GZIP") as writer:
        for record in content:
            writer.write(record)
    summary, = map(json.loads, athanor("data", "inspect", path, "--json", "--limit",
                                       0).splitlines())
    assert summary["compression"] == "gzip" and summary["records"] == 7
    assert summary["bytes"] == sum(map(len, content))
    assert (summary["shortest"], summary["longest"]) == (min(map(len, content)),
                                                         max(map(len, content)))
    assert {f["name"]: (f["kind"], f["times"], f["least"], f["most"])
            for f in summary["features"]} == {"n": ("int64", 7, 1, 7), "f": ("float", 7, 1, 1)}
    assert len(gzip.decompress(path.read_bytes())) == summary["bytes"] + 16 * 7


def test_a_file_that_is_cut_while_it_is_read_is_named(tmp_path):
    """The command waits for room in the pipe while the file, which it has mapped, is cut."""
    lines, path = tmp_path / "a.jsonl", tmp_path / "a b\u00e4.tfrecord"
    lines.write_text("\n".join(json.dumps({"x": ["y" * 1000]}) for _ in range(2000)))
    athanor("data", "convert", lines, "--output", path)
    reading = subprocess.Popen([ATHANOR, "data", "convert", path], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    reading.stdout.read(1)
    os.truncate(path, 100)
    _, errors = reading.communicate(timeout=60)
    assert reading.returncode == 9
    assert f"athanor: {path} cannot be read any more: it became shorter" in errors.decode()
