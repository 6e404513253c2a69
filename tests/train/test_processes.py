"""Training under a launcher that starts several processes, on a device that is one: refused, not
done twice."""
import os
import subprocess

import pytest

ATHANOR = os.environ["ATHANOR"]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def train(count, folder, device):
    words = ["train", "--tokenizer", "t", "--train-dataset", "no-data", "--output-dir",
             str(folder / "run"), "--device", device]
    return subprocess.run([*MPIRUN, "-n", str(count), ATHANOR, *words], capture_output=True,
                          text=True, timeout=240, cwd=folder)


@pytest.mark.parametrize("device", ["cpu", "xla:cpu"])
def test_several_processes_are_refused_with_what_works(tmp_path, device):
    run = train(2, tmp_path, device)
    assert run.returncode != 0
    assert f"of 2 by mpirun, but a run on the device {device} is one process" in run.stderr
    assert "xla:cpu is as many as are asked for" in run.stderr
    assert not (tmp_path / "run").exists()


def test_one_process_under_mpirun_is_like_any_other(tmp_path):
    run = train(1, tmp_path, "cpu")
    assert "is one process" not in run.stderr
    assert "tokenizer" in run.stderr  # it is the first thing that is missing
