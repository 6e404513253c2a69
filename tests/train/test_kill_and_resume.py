"""A run killed (SIGKILL) at twenty random moments and started again each time ends with the very
same weights as an unbroken one."""
import os
import random
import signal
import subprocess
import time

ATHANOR = os.environ["ATHANOR"]
KILLS = 20
SETTINGS = """
train_dataset: {folder}/data/train
eval_dataset: {folder}/data/validation
tokenizer: {folder}/tokenizer
hidden_size: 32
num_hidden_layers: 2
num_attention_heads: 2
intermediate_size: 64
per_device_train_batch_size: 8
gradient_accumulation_steps: 2
max_steps: 600
learning_rate: 1.0e-3
warmup_steps: 20
weight_decay: 0.01
logging_steps: 5
eval_steps: 50
save_steps: 10
save_total_limit: 2
threads: 1
"""


def run(*arguments):
    return subprocess.run([ATHANOR, *arguments], check=True, capture_output=True)


def make_inputs(folder):
    words = "the small large river stone house green runs stands near under old new road".split()
    rng = random.Random(5)
    text = folder / "text.txt"
    text.write_text("".join(" ".join(rng.choices(words, k=11)) + ".\n" for _ in range(600)))
    run("tokenizer", "train", "--vocab-size", "60", "--input", str(text),
        "--output", str(folder / "tokenizer"))
    run("data", "prepare", "--tokenizer", str(folder / "tokenizer"), "--input", str(text),
        "--max-length", "24", "--validation-split-percentage", "10",
        "--output", str(folder / "data"))
    (folder / "run.yaml").write_text(SETTINGS.format(folder=folder))


def train(folder, output):
    return [ATHANOR, "train", "--config", str(folder / "run.yaml"), "--output-dir", str(output)]


def newest_checkpoint(output):
    if not output.exists():
        return 0
    steps = [p.name.split("-")[1] for p in output.glob("checkpoint-*")]
    return max((int(s) for s in steps if s.isdigit()), default=0)


def test_twenty_kills_change_nothing(tmp_path):
    make_inputs(tmp_path)
    subprocess.run(train(tmp_path, tmp_path / "whole"), check=True, capture_output=True)

    rng = random.Random(11)
    output, killed, reached = tmp_path / "broken", 0, []
    for _ in range(40 * KILLS):
        process = subprocess.Popen(train(tmp_path, output), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        if killed < KILLS:
            # Some starts come to nothing, others save several times; how fast the machine is does
            # not matter. The last kills wait near the end of the run, which is at 600.
            wanted = min(newest_checkpoint(output) + rng.choice([0, 0, 10, 20, 40]), 560)
            while newest_checkpoint(output) < wanted and process.poll() is None:
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors.decode()
        killed += 1
        reached.append(newest_checkpoint(output))
    assert process.returncode == 0
    assert killed == KILLS, f"only {killed} kills, at checkpoints {reached}"
    assert len(set(reached)) >= 5, reached  # the kills fell into different parts of the run

    ours = (output / "model.safetensors").read_bytes()
    assert ours == (tmp_path / "whole" / "model.safetensors").read_bytes()
    moments = "checkpoint-600/training/optimizer.safetensors"
    assert (output / moments).read_bytes() == (tmp_path / "whole" / moments).read_bytes()
    assert not list(output.glob("*.partial"))


def test_a_signal_finishes_the_step_and_saves(tmp_path):
    make_inputs(tmp_path)
    output = tmp_path / "run"
    process = subprocess.Popen(train(tmp_path, output), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    for _ in range(600):
        if newest_checkpoint(output) > 0:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 13, errors.decode()
    last = errors.decode().strip().splitlines()[-1]
    assert "stopped at step" in last and f"checkpoint-{newest_checkpoint(output)}" in last
