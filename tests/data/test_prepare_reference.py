"""Shards against the reference libraries: the records recomputed with `tokenizers`, the files
read by TensorFlow, and runs killed at random moments."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import time
import zlib

import pytest
import tensorflow as tf
import tokenizers

ATHANOR = os.environ["ATHANOR"]
LENGTH = 64
WORDS = ("the of and record token model shard language mask learning data text “quoted” ``so'' "
         "naïve 漢字 😀 don't end. A, B; [MASK]").split(" ")


def athanor(*words, code=0):
    done = subprocess.run([ATHANOR, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def write_text(path, lines, seed):
    draw = random.Random(seed)
    endings = ["\n"] * 8 + ["\r\n", "\r"]
    with open(path, "w", encoding="utf-8", newline="") as out:
        for number in range(lines):
            words = draw.choices(WORDS, k=draw.randrange(0, 25))
            blank = ["", "  ", "\u3000"][number % 3] if number % 17 == 0 else None
            out.write((blank if blank is not None else " ".join(words)) + draw.choice(endings))


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A text and a tokenizer trained by the reference library, as its example trains it."""
    folder = tmp_path_factory.mktemp("prepare")
    write_text(folder / "text.txt", 20000, seed=1)
    reference = tokenizers.Tokenizer(tokenizers.models.Unigram())
    reference.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Replace("``", '"'), tokenizers.normalizers.Replace("''", '"')])
    reference.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    specials = ["[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"]
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=120, unk_token="<unk>", special_tokens=specials, show_progress=False)
    reference.train([str(folder / "text.txt")], trainer)
    reference.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 0), ("[SEP]", 1)])
    reference.decoder = tokenizers.decoders.Metaspace()
    (folder / "tokenizer").mkdir()
    reference.save(str(folder / "tokenizer" / "tokenizer.json"))
    return folder, reference


def prepare(folder, output, *more, code=0, text="text.txt"):
    return athanor("data", "prepare", "--tokenizer", folder / "tokenizer", "--input",
                   folder / text, "--output", output, "--max-length", LENGTH, *more, code=code)


def shards_of(split):
    """The shards in the order of their index, and the records each name promises."""
    names = {int(m[1]): (p, int(m[2])) for p in split.iterdir()
             if (m := re.fullmatch(r"dataset-(\d+)-(\d+)\.tfrecord", p.name))}
    assert sorted(names) == list(range(len(names)))
    return [names[i] for i in sorted(names)]


def read_with_tensorflow(split):
    """All records, through the parser of the reference's run_mlm script."""
    features = {name: tf.io.FixedLenFeature([LENGTH], tf.int64)
                for name in ("input_ids", "attention_mask")}
    records = []
    for path, count in shards_of(split):
        before = len(records)
        for raw in tf.data.TFRecordDataset(str(path)).batch(1024):
            parsed = tf.io.parse_example(raw, features)
            assert (parsed["attention_mask"].numpy() == 1).all()
            records += parsed["input_ids"].numpy().tolist()
        assert len(records) - before == count
    return records


def lines_of(path):
    """Lines end at LF, CRLF and CR, and nowhere else."""
    text = path.read_bytes().decode("utf-8")
    lines = re.split("\r\n|\n|\r", text)
    return lines[:-1] if lines[-1] == "" else lines


def test_every_record_is_the_reference_tokenizers_text_cut_up(job):
    folder, reference = job
    output = folder / "whole"
    prepare(folder, output, "--validation-split-percentage", 0, "--shard-size", 400)
    stream = []
    for line in lines_of(folder / "text.txt"):
        if line.strip():
            stream += reference.encode(line).ids
    right = [stream[i:i + LENGTH] for i in range(0, len(stream) - LENGTH + 1, LENGTH)]
    assert read_with_tensorflow(output / "train") == right
    manifest = json.loads((output / "train" / "manifest.json").read_text())
    assert manifest["records"] == len(right)
    assert manifest["dropped_tokens"] == len(stream) % LENGTH < LENGTH
    assert [s["records"] for s in manifest["shards"]] == [n for _, n in shards_of(output / "train")]


def test_kept_blank_lines_are_cls_sep(job):
    folder, reference = job
    output = folder / "blank"
    prepare(folder, output, "--validation-split-percentage", 0, "--keep-blank-lines")
    stream = []
    for line in lines_of(folder / "text.txt"):
        stream += reference.encode(line if line.strip() else "").ids
    right = [stream[i:i + LENGTH] for i in range(0, len(stream) - LENGTH + 1, LENGTH)]
    assert read_with_tensorflow(output / "train") == right


def test_the_splits_together_hold_every_line_once(job):
    folder, reference = job
    output = folder / "splits"
    prepare(folder, output, "--validation-split-percentage", 10)
    counts = {}
    for line in lines_of(folder / "text.txt"):
        if line.strip():
            key = tuple(reference.encode(line).ids)
            counts[key] = counts.get(key, 0) + 1
    for split in ("train", "validation"):
        stream = sum(read_with_tensorflow(output / split), [])
        starts = [i for i, token in enumerate(stream) if token == 0]
        for start, end in zip(starts, starts[1:]):  # all but the last, which may be cut
            counts[tuple(stream[start:end])] -= 1
    left = sum(counts.values())
    assert min(counts.values()) >= 0
    # What is missing was cut at the end of a split: a last line, and the dropped remainder.
    assert 0 <= left <= 2 * (1 + LENGTH // 2)


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_kill_at_random_moments_ends_in_the_same_bytes(job):
    folder, _ = job
    write_text(folder / "long.txt", 120000, seed=2)
    options = ("--shard-size", "100KB", "--threads", 2)
    began = time.monotonic()
    prepare(folder, folder / "unbroken", *options, text="long.txt")
    whole = time.monotonic() - began
    draw = random.Random(3)
    kills = 0
    for attempt in range(60):
        process = subprocess.Popen(
            [ATHANOR, "data", "prepare", "--tokenizer", folder / "tokenizer", "--input",
             folder / "long.txt", "--output", folder / "broken", "--max-length", str(LENGTH),
             *map(str, options)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # Late attempts get longer, so that the test ends on a slow machine as well.
        time.sleep(draw.uniform(0.02, 0.25) * whole * (1 + attempt / 20))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        errors = process.communicate()[1]
        if process.returncode != -signal.SIGKILL:
            assert process.returncode == 0, errors
            break
    assert process.returncode == 0, "never finished"
    assert kills >= 3
    assert tree(folder / "broken") == tree(folder / "unbroken")


def test_inspect_and_verify_tell_what_is_there(job):
    folder, reference = job
    output = folder / "inspected"
    prepare(folder, output, "--json")
    done = athanor("data", "inspect", output / "train", "--tokenizer", folder / "tokenizer",
                   "--limit", 2, "--json")
    summary, *records = map(json.loads, done.stdout.splitlines())
    right = read_with_tensorflow(output / "train")
    assert summary["records"] == len(right) and summary["max_length"] == LENGTH
    for record, ids in zip(records, right[:2], strict=True):
        assert record["ids"] == ids
        assert record["text"] == reference.decode(ids, skip_special_tokens=False)
    assert "every checksum matches" in athanor("data", "verify", output / "validation").stdout
    path, _ = shards_of(output / "train")[0]
    damaged = bytearray(path.read_bytes())
    damaged[100] ^= 1
    path.write_bytes(damaged)
    wrong = athanor("data", "verify", output / "train", code=4)
    assert re.search(r"dataset-0-\d+\.tfrecord: record 0 at byte 0: data checksum", wrong.stderr)


def test_compressed_shards_are_the_same_ones_compressed(job):
    """TensorFlow reads them; ours are verified, and read by number, when they are unpacked."""
    folder, _ = job
    plain = folder / "plain"
    prepare(folder, plain)
    for kind, suffix, unpack in (("gzip", ".gz", gzip.decompress),
                                 ("zlib", ".zlib", zlib.decompress)):
        output = folder / kind
        prepare(folder, output, "--compression", kind)
        for split in ("train", "validation"):
            for path, count in shards_of(plain / split):
                packed = output / split / (path.name + suffix)
                assert unpack(packed.read_bytes()) == path.read_bytes()
                read = tf.data.TFRecordDataset(str(packed), kind.upper())
                assert sum(1 for _ in read) == count
            athanor("data", "verify", output / split)
            shown = [athanor("data", "inspect", where / split, "--json").stdout.splitlines()[1:]
                     for where in (plain, output)]
            assert shown[0] == shown[1] and len(shown[0]) == 3
        assert "compression" in prepare(folder, output, code=5).stderr
    assert "gzip and zlib only" in prepare(folder, folder / "z", "--compression", "zstd",
                                           code=2).stderr


def test_faults_are_one_line_with_the_documented_code(job):
    folder, _ = job
    (folder / "empty").mkdir()
    (folder / "latin1.txt").write_bytes("naïve\n".encode("latin-1"))
    cases = [
        (("--input", folder / "missing.txt"), 6, "missing.txt"),
        (("--input", folder / "empty"), 6, "empty: no files in it"),
        (("--input", folder / "latin1.txt"), 3, "latin1.txt: line 1, column 3: byte 2 (0xEF"),
        (("--input", folder / "text.txt", "--max-length", 4), 2, "--max-length is 4"),
        (("--input", folder / "text.txt", "--shard-size", "12XB"), 2, "12XB"),
        ((), 2, "--input"),
    ]
    for more, code, part in cases:
        done = athanor("data", "prepare", "--tokenizer", folder / "tokenizer", "--output",
                       folder / "faulty", *more, code=code)
        assert part in done.stderr
        assert len([line for line in done.stderr.splitlines() if "athanor:" in line]) == 1
