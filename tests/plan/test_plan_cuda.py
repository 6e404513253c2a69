"""athanor plan for GPUs, by the compiler in the CUDA plugin and without a GPU: a tiny model on
eight H100."""
import json
import os
import pathlib
import subprocess

import pytest

ATHANOR = os.environ.get("ATHANOR", "build/athanor")
ROOT = pathlib.Path(__file__).resolve().parents[2]
CUDA = ROOT / "build" / "pjrt" / "cuda.so"
HIDDEN, INNER, LAYERS, VOCABULARY, POSITIONS, LENGTH, BATCH, PLACES = 64, 128, 2, 200, 34, 32, 4, 8
TINY = f"""--hidden-size {HIDDEN} --num-hidden-layers {LAYERS} --num-attention-heads 1
    --intermediate-size {INNER} --vocab-size {VOCABULARY} --max-seq-length {LENGTH}
    --max-position-embeddings {POSITIONS} --max-predictions-per-seq {PLACES}
    --per-device-train-batch-size {BATCH} --max-steps 1000 --topology h100:8
    --no-largest-batch""".split()


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    if not CUDA.exists():
        text = f"{CUDA} is missing (scripts/setup.sh check)"
        pytest.fail(text) if os.environ.get("ATHANOR_REQUIRE_PLUGINS") else pytest.skip(text)
    cache = tmp_path_factory.mktemp("cache")

    def run(*words):
        environment = {**os.environ, "ATHANOR_COMPILE_CACHE": str(cache),
                       "ATHANOR_PJRT_CUDA": str(CUDA)}
        return subprocess.run([ATHANOR, "plan", str(ROOT / "examples" / "roberta-base.yaml"), *TINY,
                               *words], env=environment, text=True, check=True,
                              stdout=subprocess.PIPE, timeout=1400).stdout
    return run


def parameters():
    """Numbers that the model learns, counted as in transformers' RobertaForMaskedLM."""
    embeddings = (VOCABULARY + POSITIONS + 1) * HIDDEN + 2 * HIDDEN
    layer = 4 * (HIDDEN * HIDDEN + HIDDEN) + 2 * 2 * HIDDEN
    layer += HIDDEN * INNER + INNER + INNER * HIDDEN + HIDDEN
    return embeddings + LAYERS * layer + HIDDEN * HIDDEN + HIDDEN + 2 * HIDDEN + VOCABULARY


def test_memory_is_told_by_kind_and_times_are_not_known(plan):
    report = json.loads(plan("--json"))
    assert report["topology"] == "h100:8" and report["chips"] == 8 and report["fits"] is True
    kinds = report["memory"]
    assert kinds["parameters"] == 4 * parameters()
    assert kinds["optimizer"] == 8 * parameters()
    # Ids, masks and places of a row are four bytes each; three values for a place that is chosen.
    rows, scalars = 3 * 4 * LENGTH * BATCH, 3 * 4 * PLACES * BATCH
    assert 0 < kinds["inputs"] - rows - scalars < 256
    assert report["memory_bytes"] == sum(kinds[k] for k in kinds if k != "unit")
    assert report["memory_limit_bytes"] == int(0.9 * 84942979072)
    for name in ("step_seconds", "mfu", "tokens_per_second", "hours", "cost"):
        assert report[name] is None
    text = plan()  # from the cache
    assert "not known" in text and "earlier" in text
    assert "tokens/s" not in text and " ms" not in text
