"""The given record files, written by TensorFlow and TFX, through our commands and back."""

import json
import os
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import pytest
import tensorflow as tf

ATHANOR = os.environ["ATHANOR"]
RECORDS = os.path.join(os.environ["ATHANOR_SHARED"], "data", "tfrecord")
KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64", None: "empty"}

with open(os.path.join(RECORDS, "expected_counts.json")) as file:
    EXPECTED = json.load(file)


def athanor(*words, code=0):
    done = subprocess.run([ATHANOR, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize("name", EXPECTED)
def test_inspect_tells_what_is_in_the_file(name):
    row = EXPECTED[name]
    summary, first = map(json.loads, athanor("data", "inspect", os.path.join(RECORDS, name),
                                             "--json", "--limit", 1).splitlines())
    assert summary["records"] == row["records"]
    assert summary["bytes"] == row["payload_bytes"]
    assert summary["examples"] == row["records"]
    assert summary["compression"] == (row["compression"].lower() or "none")
    found = {(f["name"], f["kind"]): f for f in summary["features"] if f["place"] == ""}
    for feature, (kind, count) in row["first_features"].items():
        f = found[feature, KINDS[kind]]
        assert f["least"] <= count <= f["most"]
    assert f"{row['records']} records: every checksum matches" in \
        athanor("data", "verify", os.path.join(RECORDS, name))


@pytest.mark.parametrize("name", EXPECTED)
def test_every_file_comes_back_through_json(name, tmp_path):
    """Also in another compression; TensorFlow finds the same messages in both."""
    if EXPECTED[name]["payload_bytes"] > 3_000_000 and not name.endswith("00001-of-00002.gz"):
        pytest.skip("large, and like another")
    theirs, ours = os.path.join(RECORDS, name), tmp_path / "ours.tfrecord.zlib"
    athanor("data", "convert", theirs, "--output", tmp_path / "a.jsonl")
    athanor("data", "convert", tmp_path / "a.jsonl", "--output", ours)
    count = 0
    for a, b in zip(tf.data.TFRecordDataset(theirs, EXPECTED[name]["compression"]),
                    tf.data.TFRecordDataset(str(ours), "ZLIB"), strict=True):
        a, b = (tf.train.SequenceExample.FromString(x.numpy()) for x in (a, b))
        a.context.SetInParent()  # the last record has no bytes at all
        b.context.SetInParent()
        # A NaN is not equal to itself; as text all are the same.
        assert a == b or str(a) == str(b)
        count += 1
    assert count == EXPECTED[name]["records"]


def test_images_are_kept_to_the_byte(tmp_path):
    name = os.path.join(RECORDS, "beans24_images.tfrecord.gz")
    athanor("data", "convert", name, "--output", tmp_path / "a.jsonl")
    athanor("data", "convert", tmp_path / "a.jsonl", "--output", tmp_path / "a.tfrecord")
    spec = {"image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)}
    for a, b in zip(tf.data.TFRecordDataset(name, "GZIP"),
                    tf.data.TFRecordDataset(str(tmp_path / "a.tfrecord")), strict=True):
        a, b = (tf.io.parse_single_example(x, spec) for x in (a, b))
        assert a["image"].numpy() == b["image"].numpy() and a["label"] == b["label"]
        assert tf.io.decode_jpeg(b["image"]).shape == (500, 500, 3)


@pytest.mark.parametrize("name", [n for n in os.listdir(RECORDS) if "array_record" in n])
def test_an_array_record_file_is_named_as_such(name):
    assert "an ArrayRecord file" in athanor("data", "inspect", os.path.join(RECORDS, name),
                                            code=11)
