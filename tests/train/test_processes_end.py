"""How several processes end: all of them, in time, with a text, and so that the run goes on."""
import os
import signal
import subprocess
import time

import pytest

from pretend_slice import (CPU, MPIRUN, SECONDS, Slice, bits, finish, need_plugins, process,
                           wait_for)

MESH = "fsdp=2"
MORE = ["--max-steps", "400", "--save-steps", "20", "--logging-steps", "20"]
SOON = 120  # seconds within which all have ended; the plugin gives up after 20


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    need_plugins()
    return Slice(tmp_path_factory.mktemp("slice"))


@pytest.fixture(scope="module")
def unbroken(runs):
    runs.alone(runs.folder / "unbroken", MESH, *MORE)
    return bits(runs.folder / "unbroken")


def start(runs, output):
    return runs.start(2, output, MESH, *MORE, PRETEND_SECONDS="20")


def send(number, run, rank, output, step):
    """Sends the signal after the step was saved; the seconds until all had ended, and the words."""
    wait_for(output / f"checkpoint-{step}", run)
    began = time.monotonic()
    os.kill(process(run, rank), number)
    out, err = finish(run)
    return time.monotonic() - began, out + err


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_in_one_stops_all_after_the_same_step(runs, unbroken, tmp_path, rank):
    output = tmp_path / "run"
    run = start(runs, output)
    took, text = send(signal.SIGTERM, run, rank, output, 20)
    assert run.returncode == 13 and took < SOON
    assert "of 400; checkpoint-" in text and text.count("and the same command goes on") == 1
    runs.together(2, output, MESH, *MORE)
    assert bits(output)["model.safetensors"] == unbroken["model.safetensors"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_all_and_the_run_goes_on(runs, unbroken, tmp_path, rank):
    output = tmp_path / "run"
    run = start(runs, output)
    took, text = send(signal.SIGKILL, run, rank, output, 20)
    assert run.returncode != 0 and took < SOON
    assert f"rank {rank}" in text and "signal 9 (Killed)" in text  # mpirun's words
    runs.together(2, output, MESH, *MORE)
    assert bits(output)["model.safetensors"] == unbroken["model.safetensors"]


def test_a_process_that_hangs_is_given_up(runs, tmp_path):
    output = tmp_path / "run"
    run = start(runs, output)
    took, text = send(signal.SIGSTOP, run, 1, output, 20)
    assert run.returncode == 9 and took < SOON
    assert "process 0 of 2: " in text and "has not come: its process is gone" in text
    assert "this ends the others" in text


def test_what_the_first_finds_wrong_ends_all_with_its_text(runs, tmp_path):
    output = tmp_path / "run"
    output.mkdir()
    (output / "model.safetensors").write_bytes(b"somebody's")
    run = start(runs, output)
    out, err = finish(run)
    assert run.returncode == 2
    assert (out + err).count("holds a model and no checkpoint") == 1


def test_a_mesh_that_leaves_devices_out_is_refused(runs, tmp_path):
    run = runs.start(2, tmp_path / "run", "data=1", *MORE)
    out, err = finish(run)
    assert run.returncode != 0
    assert "process 0 of 2" in out + err or "process 1 of 2" in out + err


def test_processes_started_with_different_settings_are_told_which(runs, tmp_path):
    """As on two hosts, whose copies of the settings differ."""
    words = runs.train(tmp_path / "run", MESH, "--max-steps", "4")
    run = subprocess.run([*MPIRUN, "-n", "1", *words, ":", "-n", "1", *words, "--learning-rate",
                          "0.25", "--eval-steps", "2", "--threads", "2"], capture_output=True,
                         text=True, timeout=SECONDS, env=runs.environment())
    assert run.returncode == 5
    assert "process 1 was started otherwise: eval_steps is 2, here 0; learning_rate is 0.25, " \
        "here 0.001. All processes" in run.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("version,words", [
    ("0.81", "2 processes were started, but its plugin"),
    ("0.115", "Unexpected option name passed to PJRT_Client_Create: num_nodes")])
def test_the_cpus_own_plugins_join_nobody(runs, tmp_path, version, words):
    """The older ones overlook the options and the store."""
    run = subprocess.run([*MPIRUN, "-n", "2", *runs.train(tmp_path / "run", "data=2", device=str(
        CPU).replace("0.115", version))], capture_output=True, text=True, timeout=SECONDS)
    assert run.returncode != 0
    assert words in run.stderr
    assert not (tmp_path / "run").exists()


def test_a_slice_that_finds_itself_needs_no_launcher(runs, unbroken, tmp_path):
    """As on a TPU: each host starts the same command."""
    output = tmp_path / "run"
    variables = runs.environment()
    words = runs.train(output, MESH, *MORE)
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**variables, "PRETEND_PLACE": f"{p} of 2",
                                  "TPU_WORKER_HOSTNAMES": "one,two", "TPU_WORKER_ID": str(p)},
                             start_new_session=True) for p in range(2)]
    texts = [finish(run) for run in both]
    assert [run.returncode for run in both] == [0, 0], texts
    assert bits(output)["model.safetensors"] == unbroken["model.safetensors"]
    assert "400 steps" in texts[0][0] and texts[1] == ("", "")
