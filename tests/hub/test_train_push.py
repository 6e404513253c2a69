"""Training that pushes on the way: what lies on the Hub when, and that no failure there costs the
run anything."""
import json
import os
import random
import signal
import threading
import time

import pytest

from little_hub import TOKEN, Hub, environment, run, start, succeed

WORDS = "the red green fox dog house runs sleeps under over a tree and then".split()
MODEL = {"config.json", "model.safetensors", "README.md", "tokenizer.json",
         "tokenizer_config.json", "special_tokens_map.json"}
RESULTS = {"config.yaml", "log.jsonl", "all_results.json", "train_results.json"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp("push"), random.Random(3)
    env = environment("http://127.0.0.1:9", folder / "home")
    (folder / "text.txt").write_text("".join(
        " ".join(draw.choices(WORDS, k=9)) + ".\n" for _ in range(300)))
    succeed(env, "tokenizer", "train", "--vocab-size", 60, "--input", folder / "text.txt",
            "--output", folder / "tokenizer")
    succeed(env, "data", "prepare", "--tokenizer", folder / "tokenizer", "--input",
            folder / "text.txt", "--max-length", 16, "--output", folder / "data")
    return folder


@pytest.fixture
def hub():
    made = Hub()
    yield made
    made.close()


@pytest.fixture
def env(hub, tmp_path):
    return environment(hub.address, tmp_path / "home")


def training(data, output, *more):
    return ["train", "--tokenizer", data / "tokenizer", "--train-dataset", data / "data/train",
            "--output-dir", output, "--hidden-size", 8, "--num-hidden-layers", 1,
            "--num-attention-heads", 2, "--intermediate-size", 16, "--threads", 1,
            "--max-steps", 6, "--save-steps", 2, "--push-to-hub", *more]


def local(folder, names):
    return {name: (folder / name).read_bytes() for name in names}


def messages_of(hub):
    return [json.loads(body.splitlines()[0])["value"]["summary"]
            for (method, path, _), body in zip(hub.requests, hub.bodies) if "/commit/" in path]


def test_the_finished_model_is_pushed_with_the_runs_records_and_nothing_else(
        hub, env, data, tmp_path):
    output = tmp_path / "one"
    (output / "data").mkdir(parents=True)
    (output / "data/secret.txt").write_text("not for the Hub")
    succeed(env, *training(data, output, "--hub-strategy", "end"))
    events = {f"runs/{name}" for name in os.listdir(output / "runs")}
    assert hub.files == local(output, MODEL | RESULTS | events)
    assert messages_of(hub) == ["End of training"]
    card = hub.files["README.md"].decode()  # with the user's name, which no option gave
    assert "# one\n" in card and '"fill-mask", model="tester/one")' in card
    vocab_size = json.loads(hub.files["config.json"])["vocab_size"]
    assert f"| vocab_size | {vocab_size} |" in card and "| max_seq_length | 16 |" in card
    assert TOKEN not in (output / "config.yaml").read_text()


def test_each_save_is_pushed_while_training_goes_on(hub, env, data, tmp_path):
    """The first one's commit is kept back: the second save finds it under way and lets it be."""
    reached, go_on = threading.Event(), threading.Event()

    def faults(handler, path):
        if "/commit/" in path and not reached.is_set():
            reached.set()
            go_on.wait(60)
        return False
    hub.faults = faults
    child = start(env, *training(data, tmp_path / "one", "--save-total-limit", 1,
                                 "--logging-steps", 1))
    assert reached.wait(60)
    while not (tmp_path / "one/all_results.json").exists():
        time.sleep(0.02)  # training came to its end meanwhile
    assert (tmp_path / "one/checkpoint-2").exists()  # it is still being read
    go_on.set()
    _, messages = child.communicate(timeout=60)
    assert child.returncode == 0, messages
    assert "checkpoint-4 is not pushed: that of step 2 is still on its way" in messages
    assert messages_of(hub) == ["Training in progress, step 2", "End of training"]
    assert [p.name for p in (tmp_path / "one").glob("checkpoint-*")] == ["checkpoint-6"]


def test_the_last_checkpoint_is_pushed_whole_and_goes_on_elsewhere(hub, env, data, tmp_path):
    output = tmp_path / "one"
    succeed(env, *training(data, output, "--hub-strategy", "checkpoint"))
    whole = {os.path.relpath(os.path.join(where, name), output / "checkpoint-6")
             for where, _, names in os.walk(output / "checkpoint-6") for name in names}
    assert {n[len("last-checkpoint/"):]: c for n, c in hub.files.items() if n.startswith("last-")
            } == local(output / "checkpoint-6", whole)
    assert "training/optimizer.safetensors" in whole
    pulled = succeed(env, "hub", "pull", "hf://tester/one/last-checkpoint").strip()
    code, _, messages = run(env, *training(data, tmp_path / "two", "--hub-model-id", "tester/one",
                                           "--max-steps", 6, "--resume-from-checkpoint", pulled))
    assert code == 0, messages


def test_a_private_repository_and_another_token_are_asked_for(hub, env, data, tmp_path):
    made = []

    def faults(handler, path):
        if path == "/api/repos/create":
            made.append(json.loads(hub.bodies[-1]))
            handler.answer(200, {"url": "x"})
        elif "/revision/" in path and not made:
            handler.answer(404, {"error": "none"}, X_Error_Code="RepoNotFound")
        else:
            return False
        return True
    hub.faults, hub.private = faults, True
    none = {k: v for k, v in env.items() if k != "HF_TOKEN"}
    succeed(none, *training(data, tmp_path / "m", "--hub-model-id", "one", "--hub-strategy", "end",
                            "--hub-private-repo", "--hub-token", TOKEN))
    assert made == [{"name": "one", "organization": "tester", "private": True,
                     "visibility": "private"}]
    assert TOKEN not in (tmp_path / "m/config.yaml").read_text()
    assert not any(TOKEN.encode() in content for content in hub.files.values())


def test_a_token_in_a_file_of_stages_is_neither_shown_nor_noted(hub, env, data, tmp_path):
    """`run`, as all here, sees to it that the token is in no output."""
    stages = tmp_path / "stages.yaml"
    words = iter(training(data, tmp_path / "one", "--hub-strategy", "end",
                          "--hub-token", TOKEN)[1:])
    options = {word: True if word == "--push-to-hub" else next(words) for word in words}
    stages.write_text("".join([
        f"output_dir: {tmp_path}/all\nstages:\n  - train:\n",
        *(f"      {name[2:].replace('-', '_')}: {json.dumps(value, default=str)}\n"
          for name, value in options.items()),
        f"  - hub push:\n      arguments: [two, {tmp_path}/all]\n"]))
    none = {k: v for k, v in env.items() if k != "HF_TOKEN"}
    (tmp_path / "all").mkdir()
    (tmp_path / "all/a.txt").write_text("a")
    code, _, messages = run(none, "run", stages)
    assert "--hub-token" in messages and messages_of(hub) == ["End of training"], messages
    assert TOKEN not in (tmp_path / "all/.athanor/run.json").read_text()
    assert code == 7  # the second stage has no token


def test_nothing_is_pushed_where_a_private_repository_became_public(hub, env, data, tmp_path):
    asked = iter([True])

    def faults(handler, path):
        if path == "/api/repos/create":
            handler.answer(200, {"url": "x"})
        elif "/revision/" in path and next(asked, False):
            handler.answer(404, {"error": "none"})
        else:
            return False
        return True
    hub.faults = faults
    code, _, messages = run(env, *training(data, tmp_path / "one", "--hub-strategy", "end",
                                           "--hub-private-repo"))
    assert code == 7 and "for all to see" in messages and not hub.files


@pytest.mark.parametrize("answer", [401, 403, 404, 500])
def test_a_hub_that_refuses_stops_no_training_and_shows_in_the_exit_code(
        hub, env, data, tmp_path, answer):
    hub.faults = lambda handler, path: handler.answer(answer, {"error": "no"}) or True
    quick = {**env, "ATHANOR_RETRY_SECONDS": "0.5"}
    code, out, messages = run(quick, *training(data, tmp_path / "one", "--json"))
    assert code == {401: 7, 403: 7, 404: 6, 500: 9}[answer], messages
    assert json.loads(out)["global_step"] == 6  # training's own result
    assert "warning: checkpoint-2 was not pushed: " in messages
    assert "the model is trained and saved" in messages.splitlines()[-1]
    assert (tmp_path / "one/all_results.json").exists()
    hub.faults = lambda handler, path: False
    succeed(env, *training(data, tmp_path / "one"))  # only what was left to do
    assert MODEL <= set(hub.files) and messages_of(hub)[-1:] == ["End of training"]


def test_a_signal_ends_a_push_that_hangs(hub, env, data, tmp_path):
    reached, go_on = threading.Event(), threading.Event()
    hub.faults = lambda handler, path: reached.set() or go_on.wait(60) and False
    child = start(env, *training(data, tmp_path / "one", "--hub-strategy", "end"))
    assert reached.wait(60)
    child.send_signal(signal.SIGTERM)
    _, messages = child.communicate(timeout=20)
    go_on.set()
    assert child.returncode == 13 and "is trained and saved" in messages


@pytest.mark.parametrize("more, part", [
    (["--hub-strategy", "sometimes"], "hub_strategy"),
    (["--hub-model-id", "a/b/c"], "hub_model_id"),
    (["--hub-model-id", "hf://datasets/a/b"], "no model's repository"),
])
def test_what_cannot_be_meant_is_told_before_training(env, data, tmp_path, more, part):
    code, _, messages = run(env, *training(data, tmp_path / "one", *more))
    assert code == 2 and part in messages and not (tmp_path / "one").exists()


def test_a_missing_token_is_told_before_training(env, data, tmp_path):
    none = {k: v for k, v in env.items() if k != "HF_TOKEN"}
    code, _, messages = run(none, *training(data, tmp_path / "one"))
    assert code == 7 and "needs a token" in messages and not (tmp_path / "one").exists()
