"""Runs of several processes on a pretended slice: a CPU plugin behind the test plugin that shares
its devices out among them (tests/backends/pretend_slice_cpu_plugin.c)."""
import os
import pathlib
import random
import subprocess
import time

import pytest

ATHANOR = os.environ["ATHANOR"]
SLICE = os.path.join(os.environ["ATHANOR_PROGRAMS"], "libpretend_slice_cpu_plugin.so")
CPU = pathlib.Path(__file__).resolve().parents[2] / "build" / "pjrt" / "cpu-0.115.so"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
SECONDS = 900  # of a run: XLA's compiler on a busy machine
SETTINGS = """
train_dataset: {folder}/data/train
tokenizer: {folder}/tokenizer
hidden_size: 16
num_hidden_layers: 1
num_attention_heads: 2
intermediate_size: 32
max_position_embeddings: 32
per_device_train_batch_size: 2
learning_rate: 1.0e-3
warmup_steps: 4
threads: 1
"""
# The compiler's time is most of the tests'.
QUICK = "xla_backend_optimization_level=0,xla_llvm_disable_expensive_passes=true"


class Slice:
    """A folder with tokenizer, data and settings, and the runs in it."""

    def __init__(self, folder):
        self.folder = folder
        self.runs = 0
        words = "the small large river stone house green runs stands near under old new".split()
        rng = random.Random(5)
        text = folder / "text.txt"
        text.write_text("".join(" ".join(rng.choices(words, k=11)) + "\n" for _ in range(300)))
        self.command("tokenizer", "train", "--vocab-size", "50", "--input", text, "--output",
                     folder / "tokenizer")
        self.command("data", "prepare", "--tokenizer", folder / "tokenizer", "--input", text,
                     "--max-length", "16", "--validation-split-percentage", "10", "--output",
                     folder / "data")
        (folder / "run.yaml").write_text(SETTINGS.format(folder=folder))

    def command(self, *words):
        subprocess.run([ATHANOR, *map(str, words)], check=True, capture_output=True,
                       timeout=SECONDS)

    def environment(self, **more):
        """Of one run: its processes meet in a folder of its own."""
        self.runs += 1
        meeting = self.folder / f"meeting-{self.runs}"
        meeting.mkdir()
        return {**os.environ, "PRETEND_PLUGIN": str(CPU), "PRETEND_FOLDER": str(meeting),
                "ATHANOR_COMPILE_CACHE": str(self.folder / "cache"),
                "ATHANOR_XLA_OPTIONS": QUICK, **more}

    def train(self, output, mesh, *more, device=SLICE):
        return [ATHANOR, "train", "--config", str(self.folder / "run.yaml"), "--device",
                str(device), "--mesh", mesh, "--output-dir", str(output), *more]

    def alone(self, output, mesh, *more):
        """One process with all devices, without the pretence."""
        run = subprocess.run(self.train(output, mesh, *more, device=CPU), capture_output=True,
                             text=True, timeout=SECONDS, env=self.environment())
        assert run.returncode == 0, run.stderr

    def start(self, processes, output, mesh, *more, **variables):
        return subprocess.Popen([*MPIRUN, "-n", str(processes), *self.train(output, mesh, *more)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(**variables), start_new_session=True)

    def together(self, processes, output, mesh, *more, **variables):
        run = self.start(processes, output, mesh, *more, **variables)
        out, err = finish(run)
        assert run.returncode == 0, out + err
        return out, err


def finish(run):
    """Waits for its end, and says what it said should that not come."""
    try:
        return run.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, 9)
        pytest.fail("still running, having said:\n" + "\n".join(run.communicate()))


def process(run, rank):
    """The process id of one of mpirun's."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            words = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if parent == str(run.pid) and f"OMPI_COMM_WORLD_RANK={rank}".encode() in words:
            return int(folder.name)
    raise AssertionError(f"no process {rank}")


def wait_for(path, run):
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def bits(folder):
    """Weights, and moments where it is a checkpoint."""
    files = sorted(folder.glob("**/*.safetensors"))
    assert files
    return {str(f.relative_to(folder)): f.read_bytes() for f in files}


def need_plugins():
    if not CPU.exists() or not os.path.exists(SLICE):
        text = f"{CPU} is missing (scripts/setup.sh check)"
        pytest.fail(text) if os.environ.get("ATHANOR_REQUIRE_PLUGINS") else pytest.skip(text)
