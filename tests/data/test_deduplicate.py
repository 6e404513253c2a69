"""Lines that are like earlier ones are left out, and which lines are held out by their text: beside
sets of shingles compared by brute force in Python."""
import json
import os
import random
import re
import subprocess

import pytest

ATHANOR = os.environ["ATHANOR"]
LENGTH = 8


def run(*words, code=0):
    done = subprocess.run([ATHANOR, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def shingles(line):
    words = re.findall(r"[a-z0-9]+", line.lower())
    return {tuple(words[i:i + 5]) for i in range(max(1, len(words) - 4))}


def similarity(a, b):
    return len(a & b) / len(a | b)


class Job:
    """Families of lines: an original and copies, some with a few words changed."""

    def __init__(self, folder):
        self.folder, self.text, self.tokenizer = folder, folder / "text.txt", folder / "tokenizer"
        draw = random.Random(11)
        vocabulary = [f"w{i}" for i in range(3000)]
        self.lines = []
        for _ in range(250):
            words = draw.choices(vocabulary, k=draw.randrange(12, 80))
            self.lines.append(" ".join(words))
            for _ in range(draw.randrange(4)):
                other = list(words)
                for _ in range(draw.choice([0, 0, 1, 1, 2, 4, 8])):
                    other[draw.randrange(len(other))] = draw.choice(vocabulary)
                space = draw.choice(["", " "]), draw.choice(["", "\t"])
                self.lines.append(space[0] + " ".join(other) + space[1])
        draw.shuffle(self.lines)
        self.text.write_text("\n".join(self.lines) + "\n")
        run("tokenizer", "train", "--model", "wordlevel", "--vocab-size", 3100, "--input",
            self.text, "--output", self.tokenizer)
        self.first = {}  # the number of the first line of each text

    def prepare(self, name, *more, text=None, percentage=0):
        output = self.folder / name
        report = run("data", "prepare", "--tokenizer", self.tokenizer, "--input",
                     text or self.text, "--output", output, "--max-length", LENGTH,
                     "--validation-split-percentage", percentage, "--json", *more)
        return output, json.loads(report)

    def kept(self, output, split="train"):
        """The lines that are in the shards, one after another, as their words."""
        text = run("data", "inspect", output / split, "--tokenizer", self.tokenizer, "--limit",
                   10**6, "--json").splitlines()[1:]
        stream = " ".join(json.loads(record)["text"] for record in text)
        return [" ".join(line.split()) for line in re.findall(r"\[CLS\](.*?)\[SEP\]", stream)]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return Job(tmp_path_factory.mktemp("deduplicate"))


def test_exact_duplicates_but_the_first_are_left_out(job):
    output, report = job.prepare("exact", "--deduplicate", "exact")
    right = list(dict.fromkeys(line.strip() for line in job.lines))
    assert len(right) < len(job.lines) - 50
    assert report["duplicates"] == len(job.lines) - len(right)
    assert json.loads((output / "train/manifest.json").read_text())["duplicates"] == (
        report["duplicates"])
    kept = job.kept(output)
    assert kept == right[:len(kept)] and len(kept) >= len(right) - 1  # the last may be cut


def test_near_duplicates_are_those_that_brute_force_finds(job):
    output, report = job.prepare("near", "--deduplicate", "near")
    sets = [shingles(line) for line in job.lines]
    best = [max((similarity(sets[i], sets[j]) for j in range(i)), default=0)
            for i in range(len(sets))]
    kept, at = set(), 0
    for line in job.kept(output):
        at = next(i for i in range(at, len(job.lines))
                  if " ".join(job.lines[i].split()) == line)
        kept.add(at)
        at += 1
    dropped = set(range(at)) - kept
    assert report["duplicates"] >= len(dropped)
    clear = [i for i in range(at) if best[i] >= 0.9]
    assert len(clear) > 100
    missed = [i for i in clear if i not in dropped]
    assert len(missed) <= 0.02 * len(clear)  # recall
    wrong = [i for i in dropped if best[i] < 0.8]
    assert len(wrong) <= 0.05 * len(dropped)  # precision: 0.04 is one deviation at the border
    assert all(best[i] > 0.65 for i in dropped)


@pytest.mark.parametrize("kind", ["exact", "near"])
def test_neither_memory_nor_threads_nor_workers_matter(job, kind):
    right, _ = job.prepare(f"{kind}-plain", "--deduplicate", kind, percentage=20)
    for number, more in enumerate([("--deduplicate-memory", 0.001), ("--threads", 3)]):
        output, _ = job.prepare(f"{kind}-{number}", "--deduplicate", kind, *more, percentage=20)
        assert tree(output) == tree(right)
    for i in range(2):
        output, _ = job.prepare(f"{kind}-workers", "--deduplicate", kind, "--worker", f"{i}/2",
                                percentage=20)
    assert tree(output) == tree(right)


def test_without_duplicates_the_records_are_those_of_one_pass(job):
    path = job.folder / "unique.txt"
    path.write_text("\n".join(dict.fromkeys(line.strip() for line in job.lines)) + "\n")
    plain, _ = job.prepare("plain", text=path, percentage=10)
    output, report = job.prepare("checked", "--deduplicate", "exact", text=path, percentage=10)
    assert report["duplicates"] == 0
    shards = {name: data for name, data in tree(output).items() if name.endswith(".tfrecord")}
    assert shards == {name: data for name, data in tree(plain).items()
                      if name.endswith(".tfrecord")}


def test_by_text_a_line_is_held_out_wherever_it_stands(job):
    unique = list(dict.fromkeys(line.strip() for line in job.lines))
    held = []
    for number, lines in enumerate([unique, unique[::-1], unique[::2]]):
        path = job.folder / f"order-{number}.txt"
        path.write_text("\n".join(lines) + "\n")
        output, _ = job.prepare(f"by-text-{number}", "--validation-by", "text", text=path,
                                percentage=30)
        held.append({split: set(job.kept(output, split)) for split in ("train", "validation")})
    share = len(held[0]["validation"]) / len(unique)
    assert abs(share - 0.3) < 4 * (0.21 / len(unique)) ** 0.5
    for other in held[1:]:
        assert not other["train"] & held[0]["validation"]
        assert not other["validation"] & held[0]["train"]


def test_workers_hold_out_by_text_as_one_process_does(job):
    right, _ = job.prepare("text-one", "--validation-by", "text", percentage=30)
    output, _ = job.prepare("text-worker", "--validation-by", "text", "--worker", "0/1",
                            percentage=30)
    assert tree(output) == tree(right)
    seeded, _ = job.prepare("text-seed", "--validation-by", "text", "--seed", 7, percentage=30)
    assert set(job.kept(seeded, "validation")) != set(job.kept(right, "validation"))


def test_a_run_that_goes_on_from_a_failure_counts_each_duplicate_once(job):
    more = ["--deduplicate", "exact", "--shard-size", 10]
    whole, report = job.prepare("whole", *more)
    assert report["duplicates"] > 50
    output, _ = job.prepare("goes-on", *more, "--worker", "1/2")
    in_the_way = output / "train" / "dataset-1-10.tfrecord"
    in_the_way.mkdir()
    for _ in range(2):  # each has decided which lines are kept before it fails
        run("data", "prepare", "--tokenizer", job.tokenizer, "--input", job.text, "--output",
            output, "--max-length", LENGTH, "--validation-split-percentage", 0, *more, "--worker",
            "0/2", code=3)
        assert (output / "pieces" / "layout.json").exists()
    in_the_way.rmdir()
    again = job.prepare("goes-on", *more, "--worker", "0/2")[1]
    assert again["duplicates"] == report["duplicates"]
    assert tree(output) == tree(whole)
