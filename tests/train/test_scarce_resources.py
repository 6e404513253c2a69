"""A disk that is full and memory that runs out while training: said in one line, nothing lost."""
import os
import random
import resource
import subprocess

import pytest

ATHANOR = os.path.abspath(os.environ["ATHANOR"])
DEADLINE = 120


def check(*arguments):
    done = subprocess.run([ATHANOR, *map(str, arguments)], capture_output=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr.decode()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scarce")
    rng = random.Random(3)
    words = "the small large river stone house green runs stands near under old new road".split()
    text = folder / "text.txt"
    text.write_text("".join(" ".join(rng.choices(words, k=9)) + ".\n" for _ in range(300)))
    check("tokenizer", "train", "--vocab-size", 60, "--input", text, "--output", folder / "t")
    check("data", "prepare", "--tokenizer", folder / "t", "--input", text, "--max-length", 16,
          "--validation-split-percentage", 0, "--output", folder / "d")
    return folder


def training(made, output, *more):
    return [ATHANOR, "train", "--tokenizer", made / "t", "--train-dataset", made / "d/train",
            "--output-dir", output, "--hidden-size", 32, "--num-hidden-layers", 1,
            "--num-attention-heads", 2, "--intermediate-size", 64, "--threads", 1,
            "--max-steps", 60, "--save-steps", 20, "--save-total-limit", 0, *more]


def may_mount():
    return subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"],
                          capture_output=True).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="no file system may be mounted here")
def test_a_full_disk_keeps_the_last_checkpoint_and_goes_on_when_there_is_room(made, tmp_path):
    """A file system with room for one checkpoint; the kernel's ENOSPC, not a pretended one."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    train = " ".join(f"'{word}'" for word in training(made, disk / "run"))
    check(*training(made, tmp_path / "whole")[1:])
    one = sum(f.stat().st_size for f in (tmp_path / "whole/checkpoint-20").rglob("*"))
    script = f"""
        mount -t tmpfs -o size={one * 3 // 2} none '{disk}' || exit 90
        {train}
        [ $? = 8 ] || exit 91
        ls '{disk}/run' > '{kept}/names'
        (cd '{disk}/run/checkpoint-20' && sha256sum --quiet -c SHA256SUMS) || exit 92
        mount -o remount,size=64m '{disk}' || exit 93
        {train} || exit 94
        cp -r '{disk}/run' '{kept}'
    """
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True,
                          timeout=DEADLINE)
    assert done.returncode == 0, (done.returncode, done.stderr)
    complaint, = (line for line in done.stderr.splitlines() if line.startswith("athanor: "))
    assert "checkpoint of step 40" in complaint and "No space left on device" in complaint
    names = (kept / "names").read_text().split()
    assert "checkpoint-20" in names and not [n for n in names if n.startswith("checkpoint-40")]
    for name in ("model.safetensors", "checkpoint-60/training/optimizer.safetensors"):
        assert (kept / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("more, parts", [
    (["--per-device-train-batch-size", 65536], ["bytes", "smaller batch"]),
    (["--hidden-size", 32768, "--intermediate-size", 65536],
     ["bytes", "variable", "smaller model"]),
])
def test_memory_that_runs_out_says_for_how_much_and_what_to_lower(made, tmp_path, more, parts):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
    done = subprocess.run(list(map(str, training(made, tmp_path / "run", *more))), text=True,
                          capture_output=True, timeout=DEADLINE, preexec_fn=limit)
    assert done.returncode == 10, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("athanor: ") and all(part in last for part in parts), last
