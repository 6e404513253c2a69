"""Several workers prepare one dataset: the bytes are those of one process, whatever their number,
their threads, their order and the moments at which they are killed; and what is said when they do
not belong together."""
import gzip
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

ATHANOR = os.environ["ATHANOR"]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
LENGTH = 64
DEADLINE = 120


def run(*words, before=(), code=0):
    done = subprocess.run([*before, ATHANOR, *map(str, words)], capture_output=True, text=True,
                          timeout=DEADLINE)
    assert done.returncode == code, done.stderr
    return done


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


class Job:
    """Seven megabytes of text in three files, so seven pieces and more, with all kinds of line ends
    and lines that reach over the borders of pieces."""

    def __init__(self, folder):
        self.folder = folder
        draw = random.Random(5)
        words = "the of and record token model shard language mask learning data naïve 漢字 😀".split()
        self.inputs = []
        for number, size in enumerate((3_500_000, 10, 3_600_000)):
            path, lines, length = folder / f"text-{number}.txt", [], 0
            while length < size:
                count = 300_000 if draw.random() < 1e-5 else draw.randrange(0, 30)
                line = (" ".join(draw.choices(words, k=count)) +
                        draw.choice(["\n", "\n", "\r\n", "\r"])).encode()
                lines.append(line)
                length += len(line)
            path.write_bytes(b"".join(lines))
            self.inputs.append(path)
        self.tokenizer = folder / "tokenizer"
        run("tokenizer", "train", "--vocab-size", 90, "--input", self.inputs[0], "--output",
            self.tokenizer, "--model", "wordlevel")
        self.whole = folder / "whole"
        run(*self.command(self.whole))

    def command(self, output, *more, length=LENGTH, size=2000):
        inputs = [word for path in self.inputs for word in ("--input", path)]
        return ["data", "prepare", "--tokenizer", self.tokenizer, *inputs, "--output", output,
                "--max-length", length, "--shard-size", size, *more]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return Job(tmp_path_factory.mktemp("workers"))


# --- the same bytes --------------------------------------------------------------------------


@pytest.mark.parametrize("workers,threads", [(1, 1), (1, 4), (2, 1), (3, 2), (4, 3)])
def test_a_job_array_makes_the_bytes_of_one_process(job, workers, threads):
    output = job.folder / f"array-{workers}-{threads}"
    numbers = list(range(workers))
    random.Random(workers).shuffle(numbers)
    for i in numbers:
        done = run(*job.command(output, "--worker", f"{i}/{workers}", "--threads", threads))
        if i != numbers[-1]:
            assert "other workers have still to encode" in done.stdout
    assert tree(output) == tree(job.whole)
    assert run(*job.command(output, "--worker", f"0/{workers}")).stdout == done.stdout  # kept


def test_workers_at_the_same_time_make_the_bytes_of_one_process(job):
    output = job.folder / "together"
    started = [subprocess.Popen([ATHANOR, *map(str, job.command(output, "--worker", f"{i}/3"))],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for i in range(3)]
    for process in started:
        _, errors = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, errors
    assert tree(output) == tree(job.whole)


@pytest.mark.parametrize("processes", [2, 3])
def test_mpirun_makes_the_bytes_of_one_process(job, processes):
    output = job.folder / f"mpi-{processes}"
    done = run(*job.command(output, "--threads", 1, "--json"),
               before=[*MPIRUN, "-n", str(processes)])
    assert tree(output) == tree(job.whole)
    report = json.loads(done.stdout)  # of one process alone
    manifest = json.loads((output / "train" / "manifest.json").read_text())
    assert report["train_records"] == manifest["records"]


def test_shards_of_so_many_bytes_are_those_of_one_process(job):
    for kind in ("none", "gzip"):
        for name, before in (("one", []), ("two", [*MPIRUN, "-n", "2"])):
            run(*job.command(job.folder / f"bytes-{kind}-{name}", "--compression", kind,
                             size="300KB"), before=before)
        assert tree(job.folder / f"bytes-{kind}-one") == tree(job.folder / f"bytes-{kind}-two")


def test_of_shards_of_so_many_bytes_a_lost_one_is_written_again(job):
    """A folder that stands in a shard's way ends a run there; then an earlier shard is lost."""
    one, output = job.folder / "gap-one", job.folder / "gap"
    run(*job.command(one, size="300KB"))
    manifest = json.loads((one / "train" / "manifest.json").read_text())
    names = [shard["name"] for shard in manifest["shards"]]
    obstacle = output / "train" / names[4]
    run(*job.command(output, "--worker", "0/2", size="300KB"))
    (obstacle / "full").mkdir(parents=True)
    run(*job.command(output, "--worker", "1/2", size="300KB"), code=3)
    assert {path.name for path in (output / "train").iterdir()} == set(names[:5])
    (obstacle / "full").rmdir()
    obstacle.rmdir()
    (output / "train" / names[1]).unlink()
    run(*job.command(output, "--worker", "merge", size="300KB"))
    assert tree(output) == tree(one)


def test_merge_writes_what_the_workers_have_encoded(job):
    output = job.folder / "merged"
    run(*job.command(output, "--worker", "0/2"))
    done = run(*job.command(output, "--worker", "merge", "--json"), code=6)
    missing = json.loads(done.stdout)
    assert missing["unfinished"] and missing["pieces_missing"] > 0
    assert f"{missing['pieces_missing']} piece" in done.stderr
    run(*job.command(output, "--worker", "1/2"))
    assert tree(output) == tree(job.whole)


def test_inputs_of_all_kinds_are_shared(job, tmp_path):
    """JSONL is divided at its lines; what is packed, or is no lines, is one worker's as a whole."""
    text = job.inputs[0].read_text(encoding="utf-8", errors="surrogateescape")[:1_500_000]
    rows = [json.dumps({"text": line}, ensure_ascii=False) for line in text.split("\n")]
    (tmp_path / "a.jsonl").write_text("\n".join(rows * 2), encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "c.csv").write_text('text,n\n"two\nlines",1\nthe record,2\n')
    options = ["--input", tmp_path / "a.jsonl", "--input", tmp_path / "b.txt.gz", "--input",
               tmp_path / "c.csv", "--max-length", LENGTH, "--tokenizer", job.tokenizer]
    run("data", "prepare", *options, "--output", tmp_path / "one")
    for i in range(3):
        run("data", "prepare", *options, "--output", tmp_path / "three", "--worker", f"{i}/3")
    assert tree(tmp_path / "one") == tree(tmp_path / "three")
    with open(tmp_path / "a.jsonl", "ab") as out:
        out.write(b"\n{\n{\n")
    options += ["--on-error", "skip"]
    one, two = (json.loads(run("data", "prepare", *options, "--json", "--output", tmp_path / name,
                               *more).stdout)
                for name, more in (("s1", ()), ("s2", ("--worker", "0/1"))))
    assert one["skipped"] == two["skipped"] == 2
    assert tree(tmp_path / "s1") == tree(tmp_path / "s2")


# --- kills -----------------------------------------------------------------------------------


def descendants(pid):
    """The processes that this one, mpirun, has started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [other for child in map(int, children) for other in (child, *descendants(child))]


@pytest.mark.parametrize("before", [[], [*MPIRUN, "-n", "2"]], ids=["array", "mpirun"])
def test_kills_at_random_moments_end_in_the_same_bytes(job, before):
    output = job.folder / f"killed-{len(before)}"
    workers = [("--worker", f"{i}/2", "--threads", 1) for i in range(2)] if not before else [()]
    began = time.monotonic()
    run(*job.command(job.folder / f"clocked-{len(before)}", "--threads", 1,
                     *(() if before else ("--worker", "0/1"))), before=before)
    whole = time.monotonic() - began
    draw, kills, left = random.Random(7), 0, list(workers)
    for attempt in range(80):
        process = subprocess.Popen(
            [*before, ATHANOR, *map(str, job.command(output, *left[0]))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            # Ever longer, so that some are killed early and the last ones come to an end.
            process.communicate(timeout=draw.uniform(0.02, 0.06) * whole * (1 + attempt))
        except subprocess.TimeoutExpired:
            for pid in [*descendants(process.pid), process.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            kills += 1
        process.communicate()
        if process.returncode == 0:
            left.pop(0)
        if not left:
            break
    assert not left and kills >= 3
    assert tree(output) == tree(job.whole)


# --- what does not belong together -------------------------------------------------------------


def test_workers_started_otherwise_are_told_what_differs(job):
    output = job.folder / "otherwise"
    run(*job.command(output, "--worker", "0/2"))
    done = run(*job.command(output, "--worker", "1/2", length=32), code=5)
    assert "max_length is 64 there and 32 now" in done.stderr
    inputs = job.inputs
    job.inputs = inputs[:2]
    try:
        assert "inputs" in run(*job.command(output, "--worker", "1/2"), code=5).stderr
    finally:
        job.inputs = inputs
    done = run(*job.command(output), code=5)  # one process alone
    assert "--worker merge" in done.stderr
    times = job.inputs[0].stat()
    os.utime(job.inputs[0], ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    try:
        assert "was changed" in run(*job.command(output, "--worker", "1/2"), code=5).stderr
    finally:
        os.utime(job.inputs[0], ns=(times.st_atime_ns, times.st_mtime_ns))
    run(*job.command(output, "--worker", "1/2"))
    assert tree(output) == tree(job.whole)


def test_a_dataset_that_one_process_began_is_not_joined(job):
    output = job.folder / "begun"
    process = subprocess.Popen([ATHANOR, *map(str, job.command(output, size=100))],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (output / "progress.journal").exists():
        time.sleep(0.001)
    process.kill()
    process.wait()
    if (output / "progress.journal").exists():
        done = run(*job.command(output, "--worker", "0/2", size=100), code=5)
        assert "that one process began" in done.stderr


def test_a_damaged_piece_is_named(job):
    output = job.folder / "damaged"
    run(*job.command(output, "--worker", "1/2"))
    for kind in ("rows", "ids"):
        path = output / "pieces" / f"piece-1.{kind}"
        sound = path.read_bytes()
        damaged = bytearray(sound)
        damaged[len(sound) // 2] ^= 4
        path.write_bytes(damaged)
        done = run(*job.command(output, "--worker", "0/2"), code=4)
        assert f"piece-1.{kind}: its checksum does not match" in done.stderr
        path.write_bytes(sound)
    run(*job.command(output, "--worker", "0/2"))
    assert tree(output) == tree(job.whole)


def test_a_line_that_is_no_text_is_named_by_its_number_in_the_file(job, tmp_path):
    path = tmp_path / "bad.txt"
    lines = [b"the record %d" % i for i in range(200_000)]
    lines[150_000] += b"\xff"
    path.write_bytes(b"\n".join(lines))
    done = run("data", "prepare", "--tokenizer", job.tokenizer, "--input", path, "--output",
               tmp_path / "out", "--worker", "0/1", code=3)
    assert "bad.txt: line 150001, column 18: byte" in done.stderr


@pytest.mark.parametrize("worker,code,part", [
    ("2/2", 2, "counted from 0"), ("1", 2, "I/N or merge"), ("-1/2", 2, "counted from 0"),
    ("0/2x", 2, "I/N or merge"), ("0/0", 2, "counted from 0")])
def test_a_worker_that_cannot_be_is_refused(job, worker, code, part):
    assert part in run(*job.command(job.folder / "none", f"--worker={worker}"), code=code).stderr


def test_a_worker_does_not_start_over(job):
    done = run(*job.command(job.folder / "over", "--worker", "0/2", "--overwrite"), code=3)
    assert "remove" in done.stderr


def test_a_failure_of_one_process_is_that_of_all(job, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"the record\n" * 200_000 + b"\xff\n")
    done = subprocess.run(
        [*MPIRUN, "-n", "2", ATHANOR, "data", "prepare", "--tokenizer", str(job.tokenizer),
         "--input", str(path), "--output", str(tmp_path / "out"), "--threads", "1"],
        capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 3
    assert "line 200001" in done.stderr
