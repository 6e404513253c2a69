"""The demo's run on XLA's CPU plugin with 1 and with 4 devices beside the CPU engine: losses of 200
steps; a checkpoint of each at step 100 continued on itself, to the bit, and on the others.

    make demo && python3 bench/demo_on_xla.py [--athanor build/athanor] [--steps 200]

The whole batch is 64 records on each. The runs go into --folder and are kept."""
import argparse
import filecmp
import json
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[1]
parser = argparse.ArgumentParser()
parser.add_argument("--athanor", default=str(root / "build/athanor"))
parser.add_argument("--tokenizer", default=str(root / "runs/demo/tokenizer"))
parser.add_argument("--data", default=str(root / "runs/demo/data"))
parser.add_argument("--plugin", default=str(root / "build/pjrt/cpu-0.115.so"))
parser.add_argument("--folder", default=str(root / "runs/demo-xla"))
parser.add_argument("--steps", type=int, default=200)
arguments = parser.parse_args()
folder, half = pathlib.Path(arguments.folder), arguments.steps // 2
ENGINES = {"cpu": ["--device", "cpu"], "xla": ["--device", arguments.plugin],
           "xla4": ["--device", arguments.plugin, "--mesh", "data=4"]}
LIMIT = 1e-4


def train(engine, run):
    devices = 4 if engine == "xla4" else 1
    subprocess.run([arguments.athanor, "train", "--config", str(root / "examples/demo.yaml"),
                    "--output-dir", str(run), "--tokenizer", arguments.tokenizer,
                    "--train-dataset", arguments.data + "/train", "--eval-dataset", "",
                    "--max-steps", str(arguments.steps), "--logging-steps", "1",
                    "--save-steps", str(half), "--max-train-minutes", "0",
                    "--per-device-train-batch-size", str(64 // devices)] + ENGINES[engine],
                   check=True, stderr=subprocess.DEVNULL)


def losses(run):
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return {line["step"]: line["loss"] for line in lines if "loss" in line}


def furthest(run, other, after):
    ours, theirs = losses(run), losses(other)
    steps = range(after + 1, arguments.steps + 1)
    return max(abs(ours[i] - theirs[i]) / abs(theirs[i]) for i in steps)


failed = False


def report(what, ok):
    global failed
    failed |= not ok
    print(("ok   " if ok else "FAIL ") + what, flush=True)


shutil.rmtree(folder, ignore_errors=True)
for engine in ENGINES:
    train(engine, folder / engine)
    relative = furthest(folder / engine, folder / "cpu", 0)
    last = losses(folder / engine)[arguments.steps]
    report(f"{engine}: losses within {relative:.1e} of the CPU engine's; the last is {last:.4f}",
           relative <= LIMIT)
for begun in ENGINES:
    for engine in ENGINES:
        run, name = folder / f"{begun}-then-{engine}", f"checkpoint-{half}"
        shutil.copytree(folder / begun / name, run / name)
        train(engine, run)
        if begun == engine:
            report(f"{begun} resumed at step {half}: the same bits",
                   filecmp.cmp(run / "model.safetensors", folder / begun / "model.safetensors",
                               shallow=False))
        relative = furthest(run, folder / "cpu", half)
        report(f"{begun} continued on {engine}: losses within {relative:.1e}", relative <= LIMIT)
sys.exit(failed)
