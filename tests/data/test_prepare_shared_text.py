"""Irregular text in many scripts, prepared and compared with the reference tokenizer, file by
file; files that are not UTF-8 are refused with the place where they stop being it."""
import json
import os
import pathlib
import re
import subprocess

import pytest
import tensorflow as tf
import tokenizers

ATHANOR = os.environ["ATHANOR"]
DATA = pathlib.Path(os.environ["ATHANOR_SHARED"]) / "data"
TEXTS = sorted((DATA / "irregular").glob("*.txt"))
LENGTH = 8


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A Unigram tokenizer of every character that comes more than a few times in these texts."""
    folder = tmp_path_factory.mktemp("tokenizer")
    reference = tokenizers.Tokenizer(tokenizers.models.Unigram())
    reference.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=2000, unk_token="<unk>", show_progress=False,
        special_tokens=["[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"])
    lines = (line for path in TEXTS for line in path.read_text("utf-8", "ignore").splitlines())
    reference.train_from_iterator(lines, trainer)
    reference.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)])
    reference.save(str(folder / "tokenizer.json"))
    return folder, reference


def first_fault(data):
    """The byte at which a file stops being UTF-8, or None."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def lines_of(data):
    text = data.decode("utf-8").removeprefix("\ufeff")
    lines = re.split("\r\n|\n|\r", text)
    return lines[:-1] if lines[-1] == "" else lines


def is_blank(line):
    """White space as Unicode's property has it: str.strip also takes U+001C to U+001F."""
    return not line.strip() and not set(line) & set("\x1c\x1d\x1e\x1f")


def read(split):
    features = {"input_ids": tf.io.FixedLenFeature([LENGTH], tf.int64)}
    paths = sorted(split.glob("*.tfrecord"), key=lambda p: int(p.name.split("-")[1]))
    stream = []
    for raw in tf.data.TFRecordDataset([str(p) for p in paths]).batch(4096):
        stream += tf.io.parse_example(raw, features)["input_ids"].numpy().ravel().tolist()
    return stream


@pytest.mark.parametrize("name, rows", [("valid", 3760), ("test", 4358)])
def test_wikitext_has_the_published_number_of_rows(name, rows, tokenizer, tmp_path):
    """Case M4: blank rows are rows, though they are left out."""
    done = subprocess.run(
        [ATHANOR, "data", "prepare", "--tokenizer", tokenizer[0], "--json", "--output", tmp_path,
         DATA / "text" / f"wikitext-2-raw.{name}.raw"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["lines"] == rows


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_text_is_prepared_as_the_reference_encodes_it(path, tokenizer, tmp_path):
    folder, reference = tokenizer
    data = path.read_bytes()
    done = subprocess.run(
        [ATHANOR, "data", "prepare", "--tokenizer", folder, "--input", path, "--output",
         tmp_path / "out", "--max-length", str(LENGTH), "--validation-split-percentage", "0"],
        capture_output=True, text=True)
    fault = first_fault(data)
    if fault is not None:
        assert done.returncode == 3
        assert f"byte {fault} (0x{data[fault]:02X}" in done.stderr
        return
    stream = []
    for line in lines_of(data):
        if not is_blank(line):
            stream += reference.encode(line).ids
    if len(stream) < LENGTH:
        assert done.returncode == 3
        assert f"gives {len(stream)} tokens" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "out" / "train") == stream[:len(stream) // LENGTH * LENGTH]
