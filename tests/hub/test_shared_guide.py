"""The guides' whole job, examples/wikitext-103.yaml, small: the data set as parquet on the given
stand-in for the Hub, shards, a model, its push, and answers."""
import json
import os
import pathlib
import sys

import pyarrow
import pyarrow.parquet
import pytest

from little_hub import run, succeed
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "storage"))
from gcs_services import BUCKET, resuming_emulator  # noqa: E402
from test_shared_hub import client, env, stand_in  # noqa: E402, F401 (fixtures)

DUCKDB = next(pathlib.Path(pyarrow.__file__).parents[1].glob("_duckdb*.so"))
SHARED = pathlib.Path(os.environ["ATHANOR_SHARED"])
FILE = pathlib.Path(__file__).resolve().parents[2] / "examples/wikitext-103.yaml"
SMALL = ["hub_id=tester/roberta-small", "vocab_size=600", "max_length=32", "hidden_size=16",
         "num_hidden_layers=1", "num_attention_heads=2", "intermediate_size=32", "max_steps=60",
         "per_device_train_batch_size=4"]


def rows(name, most):
    """Rows as the Hub's data set has them, blank ones too, but for the ends of their lines."""
    return (SHARED / f"data/text/wikitext-2-raw.{name}.raw").read_text().split("\n")[:most]


@pytest.fixture
def published(env, tmp_path):  # noqa: F811
    """The data set's two splits, the first in two files."""
    parts = {"train-00000-of-00002": rows("valid", 300), "train-00001-of-00002":
             rows("valid", 600)[300:], "validation-00000-of-00001": rows("test", 200)}
    folder = tmp_path / "published/wikitext-103-raw-v1"
    folder.mkdir(parents=True)
    for name, lines in parts.items():
        pyarrow.parquet.write_table(pyarrow.table({"text": lines}), folder / f"{name}.parquet")
    client(env, "create_repo('Salesforce/wikitext', repo_type='dataset')\n"
                f"upload_folder(repo_id='Salesforce/wikitext', repo_type='dataset', "
                f"folder_path={str(folder.parent)!r})")
    return parts


def job(env, output, *more):  # noqa: F811
    words = [word for name in SMALL for word in ("--set", name)]
    with_duckdb = {**env, "ATHANOR_DUCKDB": str(DUCKDB)}
    code, out, err = run(with_duckdb, "run", FILE, "--output-dir", output, *words, *more)
    assert code == 0, err
    return sum(line.startswith("$ ") for line in err.splitlines()), out


def test_the_guides_job_goes_from_the_hub_to_the_hub(env, published, tmp_path):  # noqa: F811
    """Its shards lie in a bucket, as a TPU wants them."""
    output, shards = tmp_path / "out", f"gs://{BUCKET}/wikitext"
    with resuming_emulator(tmp_path) as address:
        there = {**env, "STORAGE_EMULATOR_HOST": address, "ATHANOR_CACHE_DIR":
                 str(tmp_path / "cache")}
        ran, told = job(there, output, "--set", f"data_dir={shards}")
        assert ran == 7 and "Goal of my life is to [MASK]." in told
        again, _ = job(there, output, "--set", f"data_dir={shards}")
        assert again == 3  # eval, push and fill-mask leave nothing behind
        held = json.loads(succeed(there, "data", "inspect", f"{shards}/validation/validation",
                                  "--json").splitlines()[0])
    assert held["max_length"] == 32 and held["tokens"] == 32 * held["records"] > 0
    pulled = client(env, "print(snapshot_download('tester/roberta-small'))")
    assert (pathlib.Path(pulled) / "model.safetensors").read_bytes() == \
        (output / "model/model.safetensors").read_bytes()
    answers = succeed(env, "fill-mask", "--model", "tester/roberta-small",
                      "Goal of my life is to [MASK].")
    assert told.endswith(answers)


def test_text_from_the_hub_and_from_a_file_make_the_same_bytes(env, published,  # noqa: F811
                                                               tmp_path):
    output = tmp_path / "out"
    skipped = ["train", "eval", "hub push", "fill-mask"]
    job(env, output, *(word for name in skipped for word in ("--skip", name)))
    text = tmp_path / "train.txt"
    text.write_text("\n".join(published["train-00000-of-00002"] +
                              published["train-00001-of-00002"]))
    succeed(env, "tokenizer", "train", "--vocab-size", "600", "--input", text, "--output",
            tmp_path / "tokenizer")
    assert (tmp_path / "tokenizer/tokenizer.json").read_bytes() == \
        (output / "tokenizer/tokenizer.json").read_bytes()
    succeed(env, "data", "prepare", "--tokenizer", tmp_path / "tokenizer", "--input", text,
            "--max-length", "32", "--validation-split-percentage", "0", "--output",
            tmp_path / "data")
    ours = sorted((tmp_path / "data/train").glob("*.tfrecord"))
    theirs = sorted((output / "data/train/train").glob("*.tfrecord"))
    assert [p.name for p in ours] == [p.name for p in theirs]
    assert [p.read_bytes() for p in ours] == [p.read_bytes() for p in theirs]
