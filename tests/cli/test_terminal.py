"""The program at a terminal: progress, signals, and secrets that are typed."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from program import DEADLINE, Run, arguments_of, objects, run, succeed


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("commands"))


# --- progress --------------------------------------------------------------------------------


def test_progress_is_plain_lines_when_it_is_no_terminal(made):
    for code, _, messages in (made.prepared, made.trained):
        assert code == 0
        assert messages.endswith("\n") and "took" in messages
        assert "\r" not in messages and "\033" not in messages and "█" not in messages


def test_plain_progress_comes_with_the_reports_at_most_once_a_second(made, tmp_path):
    begun = time.monotonic()
    code, messages = interrupt(made.training(tmp_path, "--max-steps", 10**6, "--save-steps", 0),
                               signal.SIGTERM, lambda: time.monotonic() > begun + 3.5)
    took = time.monotonic() - begun
    assert code == 13
    lines = [line for line in messages.splitlines() if line.startswith("training ")]
    assert 3 <= len(lines) <= took + 1, messages
    assert all("loss" in line and "lr" in line and "tokens/s" in line for line in lines)
    assert all("/1000000 steps" in line for line in lines)


def on_terminal(*command, term="xterm", columns=0):
    """Exit code, and what a terminal on standard error is sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = dict(os.environ, TERM=term)
    child = subprocess.Popen(arguments_of(command), stdout=subprocess.DEVNULL, stderr=theirs,
                             env=environment)
    os.close(theirs)
    seen = b""
    try:
        while select.select([ours], [], [], DEADLINE)[0]:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux's way to say that the other side is closed
                break
            if not part:
                break
            seen += part
        return child.wait(DEADLINE), seen.decode()
    finally:
        child.kill()
        os.close(ours)


def test_progress_is_a_bar_on_a_terminal(made, tmp_path):
    code, seen = on_terminal(*made.prepare(tmp_path / "data"))
    assert code == 0 and "\r\033[K" in seen and "█" in seen
    assert seen.endswith("\r\n") and "took" in seen.splitlines()[-1]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_a_bar_fits_its_terminal_with_the_share_and_the_time(made, tmp_path, columns):
    code, seen = on_terminal(*made.training(tmp_path, "--max-steps", 12), columns=columns)
    assert code == 0
    drawn = [line.split("\n")[0].strip("\r") for line in seen.split("\r\033[K")[1:]]
    bars = [line for line in drawn if line.startswith("training ")]
    assert bars and all(len(line) < columns for line in bars), bars
    assert all("%" in line and line.count("█") + line.count("░") >= 6 for line in bars)
    assert " 100% " in bars[-1] and re.search(r" · took \d+:\d\d$", bars[-1])
    assert ("12/12 steps" in bars[-1]) == (columns > 40)
    assert (" lr " in bars[-1]) == (columns == 200)


def test_bytes_are_shown_in_units_and_rates_by_three_digits(made, tmp_path):
    text = tmp_path / "long.txt"
    text.write_bytes(made.text.read_bytes() * 100)
    size = text.stat().st_size
    assert 10**5 < size < 10**7
    shown = f"{size / 1e6:.2f}/{size / 1e6:.2f} MB" if size > 10**6 else (
        f"{size / 1e3:.0f}/{size / 1e3:.0f} kB")
    _, _, messages = run("data", "prepare", "--tokenizer", made.tokenizer, "--output",
                         tmp_path / "data", "--max-length", 64, text)
    assert f"data: preparing {shown} · " in messages, messages
    assert re.search(r" · (\d{3}|\d\d\.\d|\d\.\d\d) [kM] tokens/s · took ", messages), messages


def test_a_failure_stands_on_a_line_below_the_bar(made, tmp_path):
    text = tmp_path / "long.txt"
    text.write_bytes(made.text.read_bytes() * 2000 + b"\xff\n")
    code, seen = on_terminal("data", "prepare", "--tokenizer", made.tokenizer, "--output",
                             tmp_path / "data", "--max-length", 64, text, columns=80)
    *_, bar, last = seen.splitlines()
    assert code == 3 and last.startswith("athanor: ") and "data: preparing" in bar, seen[-400:]


def test_a_dumb_terminal_gets_plain_lines(made, tmp_path):
    code, seen = on_terminal(*made.prepare(tmp_path / "data"), term="dumb")
    assert code == 0 and "took" in seen and "\033" not in seen and "█" not in seen


# --- signals ---------------------------------------------------------------------------------


def interrupt(command, number, ready):
    """Sends the signal as soon as `ready()`; gives the exit code and the messages."""
    child = subprocess.Popen(arguments_of(command), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + DEADLINE
        while not ready():
            assert child.poll() is None, child.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.01)
        child.send_signal(number)
        _, messages = child.communicate(timeout=DEADLINE)
        return child.returncode, messages.decode()
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_13_training_stopped_by_a_signal_saves_a_checkpoint(made, tmp_path, number):
    log = tmp_path / "log.jsonl"
    steps = ("--max-steps", 10**6, "--save-steps", 0)
    code, messages = interrupt(made.training(tmp_path, *steps), number,
                               lambda: log.exists() and log.stat().st_size > 0)
    assert code == 13 and "checkpoint-" in messages.splitlines()[-1]
    checkpoint, = tmp_path.glob("checkpoint-*")
    assert (checkpoint / "model.safetensors").stat().st_size > 0
    assert (checkpoint / "config.json").exists() and (checkpoint / "tokenizer.json").exists()


def test_13_preparing_stopped_by_a_signal_goes_on(made, tmp_path):
    text, data = tmp_path / "long.txt", tmp_path / "data"
    text.write_bytes(made.text.read_bytes() * 3000)  # some fifty MB
    command = ("data", "prepare", "--tokenizer", made.tokenizer, "--output", data, "--threads", 1,
               "--max-length", 64, "--json", text)
    code, messages = interrupt(command, signal.SIGTERM,
                               lambda: any(data.glob("train/dataset-0-*.tfrecord")))
    assert code == 13 and "complete shard" in messages.splitlines()[-1]
    counts, = objects(succeed(*command))
    assert 0 < counts["shards_kept"] < counts["train_shards"] + counts["validation_shards"]
    assert counts["lines"] == 400 * 3000
    succeed("data", "verify", data / "train")


# --- secrets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, b"hf_not_shown\n"])
def test_a_token_is_not_shown_and_the_terminal_is_left_as_it_was(tmp_path, ending):
    ours, theirs = pty.openpty()
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9",
                                "ATHANOR_RETRY_SECONDS": "0.1"}
    child = subprocess.Popen(arguments_of(["hub", "login"]), stdin=theirs, stdout=theirs,
                             stderr=theirs, env=environment)

    def shows():
        return termios.tcgetattr(theirs)[3] & termios.ECHO != 0
    try:
        assert shows()
        end = time.monotonic() + DEADLINE
        while shows():
            assert time.monotonic() < end
            time.sleep(0.01)
        if isinstance(ending, bytes):
            os.write(ours, ending)
        else:
            child.send_signal(ending)
        code = child.wait(DEADLINE)
        assert code > 0 if isinstance(ending, bytes) else code == -ending
        assert shows() and b"not_shown" not in os.read(ours, 1 << 16)
    finally:
        child.kill()
        os.close(ours)
        os.close(theirs)
