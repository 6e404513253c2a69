"""The folder that a run leaves opens in transformers, and fills masks there as it does here; and a
folder that transformers wrote is a model to go on from."""
import json
import math
import os
import random
import subprocess
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import (AutoConfig, AutoModelForMaskedLM, AutoTokenizer, RobertaConfig,
                          RobertaForMaskedLM, pipeline)
from transformers.trainer_pt_utils import save_metrics
from transformers.trainer_utils import speed_metrics

ATHANOR = os.environ["ATHANOR"]
WORDS = "the small large river stone house green runs stands near under old new road bird".split()


def run(*arguments, **options):
    return subprocess.run([ATHANOR, *map(str, arguments)], capture_output=True, text=True,
                          **options)


def check(*arguments, **options):
    result = run(*arguments, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def settings(folder, output, *more):
    return ["--tokenizer", folder / "tokenizer", "--train-dataset", folder / "data/train",
            "--eval-dataset", folder / "data/validation", "--output-dir", folder / output,
            "--threads", "1", "--per-device-train-batch-size", "8", *more]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    rng = random.Random(5)
    text = folder / "text.txt"
    text.write_text("".join(" ".join(rng.choices(WORDS, k=11)) + ".\n" for _ in range(400)))
    check("tokenizer", "train", "--vocab-size", 70, "--input", text,
          "--output", folder / "tokenizer")
    check("data", "prepare", "--tokenizer", folder / "tokenizer", "--input", text,
          "--max-length", 24, "--validation-split-percentage", 10, "--output", folder / "data")
    out = check("train", *settings(
        folder, "model", "--hidden-size", "32", "--num-hidden-layers", "2",
        "--num-attention-heads", "2", "--intermediate-size", "64", "--max-steps", "60",
        "--learning-rate", "3e-3", "--pad-vocab-to-multiple-of", "50", "--json"))
    return folder, json.loads(out)


def test_the_summary_says_what_was_done(trained):
    folder, summary = trained
    assert summary["global_step"] == 60 and summary["resumed_from"] == 0
    assert summary["perplexity"] == pytest.approx(math.exp(summary["eval_loss"]))
    assert json.loads((folder / "model/all_results.json").read_text()) == summary
    records = [json.loads(check("data", "inspect", "--json", "--limit", 0, folder / "data" / split))
               ["records"] for split in ("train", "validation")]
    assert [summary["train_samples"], summary["eval_samples"]] == records
    assert summary["epoch"] == pytest.approx(60 / math.ceil(records[0] / 8))
    assert summary["train_steps_per_second"] == pytest.approx(60 / summary["train_runtime"])
    assert summary["eval_samples_per_second"] == pytest.approx(
        records[1] / summary["eval_runtime"])
    evaluated = json.loads(check("eval", "--model", folder / "model", "--data",
                                 folder / "data/validation", "--batch-size", 8, "--json"))
    assert set(evaluated) == {"loss", "perplexity", "accuracy", "scored"}
    assert evaluated["loss"] == pytest.approx(summary["eval_loss"], rel=1e-6)


def test_the_results_have_the_names_of_the_trainer(trained, tmp_path):
    """The library's own functions name the speeds and write the files; "train_loss", "total_flos",
    "epoch" and "eval_loss" are added by its Trainer, the rest by its example run_mlm.py."""
    folder, summary = trained
    before = time.time() - 1
    of_training = speed_metrics("train", before, 8, 1, 64) | {
        "train_loss": 1.5, "total_flos": 2.0, "epoch": 1.0, "train_samples": 8}
    of_evaluation = speed_metrics("eval", before, 8, 1) | {
        "eval_loss": 1.5, "eval_accuracy": 0.5, "eval_samples": 8, "epoch": 1.0, "perplexity": 4.5}
    trainer = SimpleNamespace(args=SimpleNamespace(output_dir=str(tmp_path)),
                              is_world_process_zero=lambda: True)
    save_metrics(trainer, "train", of_training)
    save_metrics(trainer, "eval", of_evaluation)
    added = {"global_step", "max_steps", "num_input_tokens_seen"} | {  # of its TrainerState
        "eval_scored", "gflops", "parameters", "records_per_step", "resumed_from"}
    for name in ("train", "eval", "all"):
        text = (folder / f"model/{name}_results.json").read_text()
        ours, theirs = json.loads(text), (tmp_path / f"{name}_results.json").read_text()
        assert set(json.loads(theirs)) == set(ours) - added, name
        assert text == json.dumps(ours, indent=4, sort_keys=True) + "\n"
        assert ours.items() <= summary.items()


def test_transformers_opens_it(trained):
    folder, summary = trained
    config = AutoConfig.from_pretrained(folder / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    model, info = AutoModelForMaskedLM.from_pretrained(folder / "model", output_loading_info=True)
    assert type(model).__name__ == "RobertaForMaskedLM"
    assert not info["missing_keys"] and not info["unexpected_keys"], info
    assert model.num_parameters() == summary["parameters"]
    assert config.vocab_size == 100 and 50 < len(tokenizer) < 100
    assert (config.pad_token_id, config.bos_token_id, config.eos_token_id) == (
        tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id)
    # Positions count from the padding id, so that many rows of the table are never a position.
    room = config.max_position_embeddings - config.pad_token_id - 1
    assert tokenizer.model_max_length == room
    assert model(**tokenizer("the old stone house " * 99, truncation=True, return_tensors="pt"))
    with safe_open(str(folder / "model/model.safetensors"), "np") as file:
        assert file.metadata() == {"format": "pt"}
    card = (folder / "model/README.md").read_text()
    assert card.startswith("---\n") and "fill-mask" in card


def assert_same_fillings(ours, theirs):
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs):
        assert our["token"] == their["token"]
        assert our["token_str"] == their["token_str"]
        assert our["sequence"] == their["sequence"]
        assert our["score"] == pytest.approx(their["score"], rel=1e-4)


def test_the_same_top_five(trained):
    folder, _ = trained
    fill = pipeline("fill-mask", model=str(folder / "model"))
    texts = ["the small [MASK] stands near the road.", "[MASK]", "under the old [MASK].",
             "bird [MASK] stone house green runs stands near", "no such words: zzz [MASK] ω"]
    lines = check("fill-mask", "--model", folder / "model", "--json", *texts).splitlines()
    assert len(lines) == len(texts)
    for text, line in zip(texts, lines):
        assert_same_fillings(json.loads(line), fill(text))


def test_several_masks_and_lines_of_standard_input(trained):
    folder, _ = trained
    fill = pipeline("fill-mask", model=str(folder / "model"), top_k=3)
    text = "the [MASK] runs under [MASK] road"
    line, = check("fill-mask", "--model", folder / "model", "--top-k", 3, "--json",
                  input=text + "\r\n").splitlines()
    for ours, theirs in zip(json.loads(line), fill(text), strict=True):
        assert_same_fillings(ours, theirs)


def test_texts_that_cannot_be_filled(trained):
    folder, _ = trained
    result = run("fill-mask", "--model", folder / "model", "no mask here")
    assert result.returncode == 3 and "write [MASK]" in result.stderr
    result = run("fill-mask", "--model", folder / "model", "the [MASK]" + " old" * 40)
    assert result.returncode == 5 and "at most 24 tokens fit" in result.stderr
    result = run("fill-mask", "--model", folder / "data", "the [MASK]")
    assert result.returncode == 6 and "config.json" in result.stderr


def test_going_on_from_a_folder_of_transformers(trained, tmp_path):
    folder, _ = trained
    torch.manual_seed(0)
    model = RobertaForMaskedLM(RobertaConfig(
        vocab_size=70, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=40, type_vocab_size=1, pad_token_id=3,
        bos_token_id=0, eos_token_id=1))
    model.save_pretrained(tmp_path / "start")
    check("train", *settings(folder, "further", "--model-name-or-path", tmp_path / "start",
                             "--max-steps", "1", "--learning-rate", "0"))
    further = RobertaForMaskedLM.from_pretrained(folder / "further")
    for (name, ours), theirs in zip(further.named_parameters(), model.parameters(), strict=True):
        assert np.array_equal(ours.detach().numpy(), theirs.detach().numpy()), name


def test_clashing_ids_are_refused(trained, tmp_path):
    folder, _ = trained
    RobertaConfig(vocab_size=70, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                  intermediate_size=32, max_position_embeddings=40).save_pretrained(tmp_path)
    result = run("train", *settings(folder, "clash", "--config-name", tmp_path / "config.json",
                                    "--max-steps", "1"))
    assert result.returncode == 5
    assert "pad_token_id is 1, but the tokenizer has [SEP] there and <pad> at 3" in result.stderr
    assert not (folder / "clash/model.safetensors").exists()
