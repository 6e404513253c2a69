"""Training speed beside transformers on PyTorch, both in one run, in turn, so that a drift of the
machine's speed touches both: prints each round and the median of the ratios with their spread.

    build/venv/bin/python bench/compare_torch.py [--size mini|base] [--rounds 5] [--threads 2]

The peer's side is ../shared/bench/bench_mlm_torch.py; ours is build/bench_train_step. GFLOP/s are
given as a share of what build/bench_fma_peak measures in the same round."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[1]
parser = argparse.ArgumentParser()
parser.add_argument("--size", default="mini", choices=["mini", "base"])
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--threads", type=int, default=2)
arguments = parser.parse_args()
environment = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads))
VOCABULARY = {"mini": ("8192", "32"), "base": ("32000", "8")}
vocab, batch = VOCABULARY[arguments.size]


def figures(command):
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads([line for line in ran.stdout.splitlines() if line.startswith("{")][-1])


peer_command = [sys.executable, str(root / "../shared/bench/bench_mlm_torch.py"), "--size",
                arguments.size, "--vocab", vocab, "--batch", batch, "--seq", "128",
                "--steps", str(arguments.steps), "--threads", str(arguments.threads)]
our_command = [str(root / "build/bench_train_step"), arguments.size,
               "--steps", str(arguments.steps)]
ratios = []
for turn in range(arguments.rounds):
    ours = figures(our_command)
    peer = figures(peer_command)
    peak = figures([str(root / "build/bench_fma_peak"), str(arguments.threads)])["f32_gflops"]
    ratio = ours["tok_per_s_median"] / peer["tok_per_s_median"]
    ratios.append(ratio)
    print(f"round {turn + 1}: athanor {ours['tok_per_s_median']:.0f} tokens/s "
          f"({ours['computed_gflop_per_s']:.0f} GFLOP/s computed, "
          f"{100 * ours['computed_gflop_per_s'] / peak:.0f} % of the FMA peak {peak:.0f}), "
          f"PyTorch {peer['tok_per_s_median']:.0f} tokens/s "
          f"({100 * peer['gflop_per_s_median'] / peak:.0f} %): {ratio:.2f} x", flush=True)
print(json.dumps({"size": arguments.size, "ratio_median": round(statistics.median(ratios), 3),
                  "ratio_min": round(min(ratios), 3), "ratio_max": round(max(ratios), 3),
                  "rounds": arguments.rounds}))
