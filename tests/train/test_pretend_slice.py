"""Several processes train as one does with all their devices: to the bit."""
import json
import shutil

import pytest

from pretend_slice import Slice, bits, need_plugins


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    need_plugins()
    return Slice(tmp_path_factory.mktemp("slice"))


def losses(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in ("tokens_per_second", "peak_share")}
            for line in lines]


MORE = ["--max-steps", "6", "--save-steps", "3", "--logging-steps", "1"]


@pytest.mark.parametrize("processes,mesh", [(2, "data=4"), (2, "fsdp=4"),
                                            (4, "data=2,fsdp=2"), (4, "fsdp=2,model=2")])
def test_weights_moments_and_losses_are_those_of_one_process(runs, tmp_path, processes, mesh):
    runs.alone(tmp_path / "one", mesh, *MORE)
    runs.together(processes, tmp_path / "all", mesh, *MORE)
    assert bits(tmp_path / "all") == bits(tmp_path / "one")
    assert losses(tmp_path / "all") == losses(tmp_path / "one")


def test_the_slice_may_number_its_devices_anyhow(runs, tmp_path):
    """Then XLA adds up in another order, which shows in the last bits."""
    mesh = "data=2,fsdp=2"
    runs.alone(tmp_path / "one", mesh, *MORE)
    runs.together(2, tmp_path / "all", mesh, *MORE, PRETEND_MIXED="1")
    for found, expected in zip(losses(tmp_path / "all"), losses(tmp_path / "one"), strict=True):
        assert found == pytest.approx(expected, rel=1e-5)
    assert bits(tmp_path / "all").keys() == bits(tmp_path / "one").keys()


def test_accumulation_evaluation_and_the_summary_too(runs, tmp_path):
    mesh = "fsdp=2"
    more = ["--max-steps", "5", "--eval-steps", "2", "--logging-steps", "1", "--save-steps", "2",
            "--gradient-accumulation-steps", "2", "--json",
            "--eval-dataset", str(runs.folder / "data/validation")]
    runs.alone(tmp_path / "one", mesh, *more)
    out, err = runs.together(2, tmp_path / "all", mesh, *more)
    assert bits(tmp_path / "all") == bits(tmp_path / "one")
    assert losses(tmp_path / "all") == losses(tmp_path / "one")
    assert "2 processes, cpu (2 devices, fsdp=2" in err
    assert err.count("step 2: eval loss") == 1  # one process tells
    said, expected = json.loads(out), json.loads((tmp_path / "one/all_results.json").read_text())
    for key in ("global_step", "train_loss", "eval_loss", "eval_accuracy", "eval_scored"):
        assert said[key] == expected[key]


def test_checkpoints_go_from_one_process_to_two_and_back(runs, tmp_path):
    mesh = "fsdp=2"
    runs.alone(tmp_path / "one", mesh, *MORE)
    for name, train in (("all", lambda *words: runs.together(2, *words)), ("back", runs.alone)):
        before = tmp_path / ("one" if name == "all" else "all") / "checkpoint-3"
        shutil.copytree(before, tmp_path / name / "checkpoint-3")
        train(tmp_path / name, mesh, *MORE)
        assert bits(tmp_path / name) == bits(tmp_path / "one")
