"""athanor run: what a file of commands does, and what it keeps."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

ATHANOR = os.environ["ATHANOR"]
FILE = """output_dir: {folder}/out
variables:
  vocab: 60
  steps: 4
stages:
  - tokenizer train:
      input: "{folder}/*.txt"
      vocab_size: ${{vocab}}
      output: ${{output_dir}}/tokenizer
  - data prepare:
      tokenizer: ${{output_dir}}/tokenizer
      input: ["{folder}/text.txt"]
      max_length: 16
      keep_blank_lines: true
      output: ${{output_dir}}/data
  - train:
      tokenizer: ${{output_dir}}/tokenizer
      train_dataset: ${{output_dir}}/data/train
      output_dir: ${{output_dir}}
      hidden_size: 16
      num_hidden_layers: 1
      num_attention_heads: 2
      intermediate_size: 32
      max_steps: ${{steps}}
  - fill-mask:
      model: ${{output_dir}}
      arguments: ["it's a [MASK] house", "--no option"]
"""


@pytest.fixture
def file(tmp_path):
    words = "the small large river stone house green runs stands near under old new".split()
    rng = random.Random(5)
    (tmp_path / "text.txt").write_text(
        "".join(" ".join(rng.choices(words, k=11)) + "\n" for _ in range(300)))
    path = tmp_path / "run.yaml"
    path.write_text(FILE.format(folder=tmp_path))
    return path


def athanor(*words, code=0):
    ran = subprocess.run([ATHANOR, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran


def commands_run(ran):
    return [line[2:] for line in ran.stderr.splitlines() if line.startswith("$ ")]


def names(ran):
    return [" ".join(line.split()[1:3]) for line in commands_run(ran)]


ALL = ["tokenizer train", "data prepare", "train --tokenizer", "fill-mask --model"]


def test_the_printed_commands_are_what_a_shell_would_run(file, tmp_path):
    shown = athanor("run", file, "--dry-run", "--set", "steps=5").stdout.splitlines()
    assert len(shown) == 4 and shown[2].endswith("--max-steps 5")
    assert shown[1].endswith("--max-length 16 --keep-blank-lines --output "
                             f"{tmp_path}/out/data")
    assert shown[3].endswith(" -- 'it'\\''s a [MASK] house' '--no option'")
    assert not (tmp_path / "out").exists()
    environment = {**os.environ, "PATH": os.path.dirname(ATHANOR) + ":" + os.environ["PATH"]}
    for line in shown[:3]:
        subprocess.run(["sh", "-ec", line], check=True, capture_output=True, env=environment)
    by_hand = (tmp_path / "out/model.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "out")
    athanor("run", file, "--set", "steps=5", code=3)  # fill-mask's second text has no mask
    assert (tmp_path / "out/model.safetensors").read_bytes() == by_hand


def good(file):
    file.write_text(file.read_text().replace(', "--no option"', ""))


def test_results_that_are_there_are_kept_and_answers_are_given_again(file):
    good(file)
    first, second = athanor("run", file), athanor("run", file)
    assert names(first) == ALL and names(second) == ALL[3:]
    assert second.stderr.count("its result is there") == 3
    assert first.stdout.endswith(second.stdout) and "it's a" in second.stdout


def test_a_stage_that_is_skipped_neither_runs_nor_counts_as_done(file):
    good(file)
    assert len(athanor("run", file, "--dry-run", "--skip", "train").stdout.splitlines()) == 3
    assert names(athanor("run", file, "--skip", "train", "--skip", "fill-mask")) == ALL[:2]
    assert names(athanor("run", file)) == ALL[2:]
    assert names(athanor("run", file, "--skip", "fill-mask")) == []
    ran = athanor("run", file, "--skip", "push", code=2)
    assert f'--skip "push": {file} has no such stage' in ran.stderr


def test_a_changed_input_makes_everything_behind_it_anew(file, tmp_path):
    good(file)
    athanor("run", file)
    with open(tmp_path / "text.txt", "a") as text:
        text.write("another line about the river\n")
    ran = athanor("run", file, code=5)  # the data folder holds another tokenizer's
    assert names(ran) == ALL[:2] and "stage 2, data prepare" in ran.stderr
    shutil.rmtree(tmp_path / "out/data")
    ran = athanor("run", file, code=5)
    assert names(ran)[-1] == ALL[2] and "belongs to another run" in ran.stderr


@pytest.mark.parametrize("lost,left", [("data", ALL[1:]), ("tokenizer", ALL)])
def test_a_result_that_is_gone_is_made_again(file, tmp_path, lost, left):
    good(file)
    athanor("run", file)
    model = (tmp_path / "out/model.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "out" / lost)
    assert names(athanor("run", file)) == left
    assert (tmp_path / "out/model.safetensors").read_bytes() == model


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on(file, tmp_path, number):
    good(file)
    more = ["--set", "steps=3000"]
    athanor("run", file, *more, "--output-dir", tmp_path / "unbroken")
    run = subprocess.Popen([ATHANOR, "run", file, *more], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not (tmp_path / "out/log.jsonl").exists() and time.monotonic() < end:
        time.sleep(0.01)
    run.send_signal(number)
    text = run.communicate(timeout=60)[1]
    assert run.returncode == (13 if number == signal.SIGTERM else -9)
    assert number != signal.SIGTERM or "stage 3, train" in text
    assert len(json.loads((tmp_path / "out/.athanor/run.json").read_text())["stages"]) == 2
    assert names(athanor("run", file, *more)) == ALL[2:]
    assert (tmp_path / "out/model.safetensors").read_bytes() == \
        (tmp_path / "unbroken/model.safetensors").read_bytes()


@pytest.mark.parametrize("old,new,text", [
    ("max_length: 16", "max_lenght: 16", ":10: athanor data prepare has no option --max-lenght; "
     "did you mean --max-length?"),
    ("  - train:", "  - trian:", ":16: no command \"trian\"; did you mean \"athanor train\"?"),
    ("${vocab}", "${vocb}", ":8: no variable 'vocb'; did you mean 'vocab'?"),
    ("${vocab}", "${vocab", ':8: "${vocab" has no closing }'),
    ("stages:", "stage:", ":5: unknown key 'stage'; a run file has output_dir, variables and"),
    ("  steps: 4", "  vocab: 4", ":4: 'vocab' is given twice"),
    ("      max_length: 16", "      max_length: {a: 1}", "'max_length' wants a value or a list"),
    ("  - train:", "  - run:", ":16: a stage is a command other than run"),
    ("      hidden_size: 16", "      hidden_size: 15", None),
    ("output_dir: ", "#", "output_dir is missing"),
    ("stages:", "stages: {", "not valid YAML"),
])
def test_a_slip_is_found_before_anything_runs(file, tmp_path, old, new, text):
    good(file)
    file.write_text(file.read_text().replace(old, new, 1))
    ran = subprocess.run([ATHANOR, "run", file], capture_output=True, text=True, timeout=300)
    if text is None:  # what only the run itself can know ends it where it is
        assert ran.returncode != 0 and "stage 3, train" in ran.stderr
        return
    assert ran.returncode in (2, 3) and text in ran.stderr, ran.stderr
    assert not (tmp_path / "out").exists() and commands_run(ran) == []


def test_a_second_run_of_the_same_file_is_refused(file, tmp_path):
    good(file)
    run = subprocess.Popen([ATHANOR, "run", file, "--set", "steps=100000"],
                           stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not (tmp_path / "out/.athanor").exists() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    ran = athanor("run", file, code=7)
    run.kill()
    run.wait()
    assert "another process is running this file" in ran.stderr
