"""A training step on XLA's CPU plugin beside plain JAX with the very same plugin, in turn, so that
a drift of the machine's speed touches both: prints each round and the ratios with their spread.

    python -m venv build/jax && build/jax/bin/pip install jax==0.11.2 numpy
    build/jax/bin/python bench/compare_jax.py [--size mini|base] [--rounds 5] [--steps 6]

JAX's side is bench/train_step_jax.py, ours build/bench_train_step; both wait for each step's loss.
Above 1 ours is the faster. Where others use the machine, processor time tells more than the clock
does."""
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
parser.add_argument("--plugin", default=str(root / "build/pjrt/cpu-0.115.so"))
parser.add_argument("--ours", default=str(root / "build/bench_train_step"))
parser.add_argument("--random", default="rbg", choices=["rbg", "threefry2x32"])
arguments = parser.parse_args()
environment = dict(os.environ, ATHANOR_COMPILE_CACHE="off")


def figures(command):
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads([line for line in ran.stdout.splitlines() if line.startswith("{")][-1])


steps = ["--steps", str(arguments.steps)]
our_command = [arguments.ours, arguments.size, "--device", arguments.plugin] + steps
peer_command = [sys.executable, str(root / "bench/train_step_jax.py"), "--size", arguments.size,
                "--plugin", arguments.plugin, "--random", arguments.random] + steps
MEASURES = {"step_s_median": "step", "step_s_min": "best step", "step_cpu_s": "processor time",
            "compile_cpu_s": "compile, processor time"}
ratios = {name: [] for name in MEASURES}
for turn in range(arguments.rounds):
    ours, peer = figures(our_command), figures(peer_command)
    texts = []
    for name, what in MEASURES.items():
        ratios[name].append(peer[name] / ours[name])
        texts.append(f"{what} {ours[name]:.3f} s, JAX {peer[name]:.3f} s: {ratios[name][-1]:.2f}")
    print(f"round {turn + 1}: " + "; ".join(texts), flush=True)
for name, what in MEASURES.items():
    print(json.dumps({"size": arguments.size, "measure": what, "rounds": arguments.rounds,
                      "ratio_median": round(statistics.median(ratios[name]), 3),
                      "ratio_min": round(min(ratios[name]), 3),
                      "ratio_max": round(max(ratios[name]), 3)}))
