"""The given files: TensorFlow's records and small published models."""

import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pytest
import safetensors.numpy

import samples

DATA = os.path.join(os.environ["ATHANOR_SHARED"], "data")
RECORDS = os.path.join(DATA, "tfrecord")
KINDS = {"bytes_list": 1, "float_list": 2, "int64_list": 3, None: 0}


def expected_counts(*compressions):
    with open(os.path.join(RECORDS, "expected_counts.json")) as file:
        table = json.load(file)
    return [(name, row) for name, row in table.items() if row["compression"] in compressions]


@pytest.mark.parametrize("name, row", expected_counts("", "GZIP", "ZLIB"))
def test_record_files_are_read(name, row):
    shown = samples.show("examples", os.path.join(RECORDS, name))
    assert len(shown) == row["records"]
    assert sum(record["length"] for record in shown) == row["payload_bytes"]
    found = shown[0]["features"]
    for feature, (kind, count) in row["first_features"].items():
        assert found[feature]["kind"] == KINDS[kind]
        assert found[feature]["count"] == count
    assert all(record["status"] == "ATH_OK" for record in shown)


def test_values_are_read_and_those_past_32_bits_refused():
    """Records 0 to 49 count upwards from their number, and label the last place with 2^40 + it."""
    shown = samples.show("examples", os.path.join(RECORDS, "tf_written_mixed.tfrecord"))
    for i, record in enumerate(shown[:50]):
        assert record["features"]["input_ids"]["values"] == list(range(i, i + 16))
        assert record["features"]["labels"] == {"kind": 3, "count": 16, "values": None}
    assert shown[50]["features"] == {}
    assert shown[51]["features"]["input_ids"]["values"] == []
    assert {name: f["count"] for name, f in shown[52]["features"].items()} == \
        {"f": 5, "neg": 3, "b": 3}
    assert shown[53]["length"] == 0


def test_the_given_images_are_rows():
    """Pictures of bean leaves in three classes, counted by TensorFlow; all different."""
    shown = samples.show("images", os.path.join(RECORDS, "beans24_images.tfrecord.gz"))
    assert sorted(row["label"] for row in shown) == [0] * 11 + [1] * 11 + [2] * 2
    assert len({row["sha256"] for row in shown}) == 24


@pytest.mark.parametrize("model", sorted(os.listdir(os.path.join(DATA, "h5"))))
def test_published_models_are_read(model):
    path = os.path.join(DATA, "h5", model, "model.safetensors")
    expected = safetensors.numpy.load_file(path)
    shown = {line["name"]: line for line in samples.show("tensors", path)}
    assert shown.keys() == expected.keys() and len(shown) > 10
    for name, array in expected.items():
        assert shown[name]["dtype"] == "f32"
        assert shown[name]["shape"] == list(array.shape)
        assert shown[name]["sha256"] == hashlib.sha256(array.tobytes()).hexdigest()
