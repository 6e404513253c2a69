"""TensorFlow, safetensors and TensorBoard read what Athanor writes, and the other way round."""

import hashlib
import os
import random
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pytest
import safetensors.torch
import tensorflow as tf
import torch
from tensorboard.backend.event_processing import event_accumulator

import samples


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    samples.show("write", folder)
    return folder


def int64_example(features):
    """A tf.train.Example of lists of integers."""
    lists = {name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
             for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=lists))


def test_tensorflow_reads_our_examples(written):
    records = [r.numpy() for r in tf.data.TFRecordDataset(str(written / "examples.tfrecord"))]
    assert len(records) == 100
    for i, record in enumerate(records):
        example = tf.train.Example.FromString(record)
        ids = [i * j * 1000 - 7 for j in range(i % 5)]
        assert list(example.features.feature["ids"].int64_list.value) == ids
        assert list(example.features.feature["mask"].int64_list.value) == [1] * len(ids)
        if ids:  # TensorFlow writes the same bytes, only empty lists it leaves out
            ours = int64_example({"ids": ids, "mask": [1] * len(ids)})
            assert record == ours.SerializeToString(deterministic=True)


def test_tensorflow_parses_our_examples_to_dense_tensors(written):
    record = next(iter(tf.data.TFRecordDataset(str(written / "examples.tfrecord")).skip(4).take(1)))
    parsed = tf.io.parse_single_example(record, {"ids": tf.io.FixedLenFeature([4], tf.int64)})
    assert parsed["ids"].numpy().tolist() == [-7, 3993, 7993, 11993]


def test_tensorflow_parses_our_rows_of_labelled_texts(written):
    spec = {"input_ids": tf.io.FixedLenFeature([8], tf.int64),
            "attention_mask": tf.io.FixedLenFeature([8], tf.int64),
            "labels": tf.io.FixedLenFeature([], tf.int64)}
    data = tf.data.TFRecordDataset(str(written / "texts.tfrecord")).batch(100)
    rows = tf.io.parse_example(next(iter(data)), spec)
    for i in range(100):
        count = i % 9
        assert rows["input_ids"][i].numpy().tolist() == [10 + i] * count + [1] * (8 - count)
        assert rows["attention_mask"][i].numpy().tolist() == [1] * count + [0] * (8 - count)
        assert rows["labels"][i] == i % 3


def test_images_go_both_ways(written, tmp_path):
    spec = {"image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)}
    data = tf.data.TFRecordDataset(str(written / "images.tfrecord")).batch(100)
    rows = tf.io.parse_example(next(iter(data)), spec)
    assert rows["label"].numpy().tolist() == list(range(100))
    assert [bytes(image) for image in rows["image"].numpy()] == \
        [b"\xff\xd8\xff" + bytes(i) for i in range(100)]
    path, jpeg = tmp_path / "theirs.tfrecord", tf.io.encode_jpeg(tf.zeros([8, 8, 3], tf.uint8))
    example = int64_example({"label": [5]})
    example.features.feature["image"].bytes_list.value.append(jpeg.numpy())
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(example.SerializeToString())
    assert samples.show("images", path) == \
        [{"label": 5, "sha256": hashlib.sha256(jpeg.numpy()).hexdigest()}]


def test_we_read_examples_that_tensorflow_writes(tmp_path):
    draw = random.Random(1)
    path = str(tmp_path / "tf.tfrecord")
    expected = []
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(200):
            top = draw.choice([1, 128, 30000, 2**31 - 1])
            low = -top if top > 30000 else 0
            ids = [draw.randint(low, top) for _ in range(draw.randint(0, 300))]
            example = int64_example({"ids": ids, "mask": [1] * len(ids)})
            example.features.feature["text"].bytes_list.value.extend([b"a", b"bc"])
            example.features.feature["weights"].float_list.value.extend([0.5] * 3)
            writer.write(example.SerializeToString())
            expected.append(ids)
    shown = samples.show("examples", path)
    assert [r["features"]["ids"]["values"] for r in shown] == expected
    for record, ids in zip(shown, expected):
        assert record["status"] == "ATH_OK"
        assert record["features"]["mask"]["count"] == len(ids)
        assert record["features"]["text"] == {"kind": 1, "count": 2}
        assert record["features"]["weights"] == {"kind": 2, "count": 3}


def test_both_find_the_same_damage(tmp_path):
    """TensorFlow and our reader accept the same records of a damaged file. TensorFlow takes a cut
    inside a length for the end of the file; ours says that it is truncated."""
    path = tmp_path / "damaged.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(5):
            writer.write(int64_example({"ids": list(range(i))}).SerializeToString())
    whole = path.read_bytes()
    draw = random.Random(2)
    for turn in range(60):
        damaged = bytearray(whole)
        if turn % 2:
            damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        else:
            del damaged[draw.randrange(len(whole)):]
        path.write_bytes(damaged)
        accepted = 0
        try:
            for _ in tf.data.TFRecordDataset(str(path)):
                accepted += 1
            fault = False
        except tf.errors.DataLossError:
            fault = True
        status, lines, message = samples.run("examples", path)
        assert len(lines) == accepted
        assert status == (4 if fault or "ends inside the record's length" in message else 0)


def reference_tensors():
    floats = torch.arange(24, dtype=torch.float32) / 8
    return {
        "layer.1.weight": floats.reshape(2, 3, 4).clone(),
        "layer.0.bias": floats[:5].clone(),
        "integers": torch.tensor([-1, 0, 1], dtype=torch.int32),
        "words": torch.tensor([[0, 2**32 - 1]], dtype=torch.uint32),
        "halves": torch.tensor([[1, -1], [0, float("inf")]], dtype=torch.bfloat16),
        "scalar": floats[4].clone(),
        'näme "q" \\ /': torch.zeros(0, 4),
    }


def test_safetensors_reads_our_file(written):
    ours = safetensors.torch.load_file(str(written / "tensors.safetensors"))
    theirs = reference_tensors()
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert ours[name].dtype == tensor.dtype and ours[name].shape == tensor.shape
        assert torch.equal(ours[name], tensor)


def test_our_file_is_byte_for_byte_the_librarys(written, tmp_path):
    path = tmp_path / "reference.safetensors"
    safetensors.torch.save_file(reference_tensors(), str(path), metadata={"format": "pt"})
    assert (written / "tensors.safetensors").read_bytes() == path.read_bytes()


def test_we_read_what_safetensors_writes(tmp_path):
    path = tmp_path / "reference.safetensors"
    tensors = reference_tensors() | {"doubles": torch.zeros(2, dtype=torch.float64),
                                     "half": torch.zeros(3, dtype=torch.float16)}
    safetensors.torch.save_file(tensors, str(path), metadata={"format": "pt", "more": "text"})
    names = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "i32", torch.uint32: "u32"}
    shown = {line["name"]: line for line in samples.show("tensors", path)}
    assert shown.keys() == tensors.keys() - {"doubles", "half"}
    for name, line in shown.items():
        tensor = tensors[name]
        assert line["dtype"] == names[tensor.dtype]
        assert line["shape"] == list(tensor.shape)
        data = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        assert line["sha256"] == hashlib.sha256(data.numpy().tobytes()).hexdigest()


def test_tensorboard_shows_our_scalars_and_drops_what_a_stopped_run_wrote(written):
    events = event_accumulator.EventAccumulator(str(written / "events"))
    events.Reload()
    assert events.Tags()["scalars"] == ["loss"]
    loss = events.Scalars("loss")
    assert [(e.step, e.value) for e in loss] == \
        [(s, s) for s in range(1, 7)] + [(s, 100 + s) for s in range(7, 10)]
    assert all(e.wall_time > 1.6e9 for e in loss)


def test_our_event_files_are_valid_tensorflow_events(written):
    files = sorted(os.listdir(written / "events"))
    assert len(files) == 2 and all("tfevents" in name for name in files)
    events = [tf.compat.v1.Event.FromString(record.numpy())
              for record in tf.data.TFRecordDataset(str(written / "events" / files[1]))]
    assert events[0].file_version == "brain.Event:2"
    assert events[1].session_log.status == 1 and events[1].step == 7
    assert [e.step for e in events[2:]] == [7, 8, 9]
