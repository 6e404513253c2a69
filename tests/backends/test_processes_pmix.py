"""The contract of a store between processes: PMIx, as Open MPI's mpirun serves it."""
import os
import subprocess
import time

import pytest

PROGRAM = os.path.join(os.environ["ATHANOR_PROGRAMS"], "backends_program_store")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def mpirun(count, *words):
    try:
        return subprocess.run([*MPIRUN, "-n", str(count), *words], capture_output=True,
                              timeout=240, text=True)
    except subprocess.TimeoutExpired as late:
        said = [(text or b"").decode() for text in (late.stdout, late.stderr)]
        pytest.fail("still running after 240 s, having said:\n" + "\n".join(said))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_contract_holds_between_processes(count):
    run = mpirun(count, PROGRAM)
    assert run.returncode == 0, run.stdout + run.stderr
    for rank in range(count):
        assert f"process {rank} of {count}: 0 failures" in run.stdout


def test_one_process_can_end_all():
    start = time.monotonic()
    run = mpirun(2, PROGRAM, "1")
    assert run.returncode == 7  # the code that it gives
    assert time.monotonic() - start < 120  # the other would sleep for 300 s


def test_a_process_without_launcher_is_told_what_to_do():
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX", "OMPI", "SLURM"))}
    run = subprocess.run([PROGRAM], capture_output=True, text=True, env=clean, timeout=60)
    assert run.returncode == 1
    assert "mpirun, or srun --mpi=pmix" in run.stderr
