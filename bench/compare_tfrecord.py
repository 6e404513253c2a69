#!/usr/bin/env python3
"""Records written and read, Athanor on one thread beside TensorFlow and the packages tfrecord and
array_record, in turn, on the same ids: Zipf-like, 128 to a record, with their attention mask.

    build/venv/bin/python bench/compare_tfrecord.py [--records 20000] [--rounds 3]
        [--folder /dev/shm]

The others are timed by bench/bench_tfrecord.py of the given data (../shared), as it stands; those
that are missing are left out: pip install --no-deps tfrecord==1.14.6 crc32c==2.7.1
array_record==0.8.6. Their numbers are by the clock. Ours are by the clock and, in brackets, by
processor time, which on a machine that others use too says more; the median over the rounds, and
the best."""

import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = os.path.join(ROOT, "build", "bench_tfrecord")
GIVEN = os.path.join(ROOT, "..", "shared", "bench", "bench_tfrecord.py")
LENGTH, VOCABULARY = 128, 32000
TIMES = 20  # as many records for us: a short run would measure the start of a process
# What of ours stands beside what of theirs.
BESIDE = {"write": [("tf", "write"), ("tfrecord", "write")],
          "parse": [("tf", "read_parse_batch"), ("tf", "read_parse_single"),
                    ("tfrecord", "read_parse")],
          "raw-read": [("tf", "read_raw"), ("array_record", "read_raw")],
          "raw-write": [("tf", "write_preserialized"), ("array_record", "write_preserialized")]}


def theirs(library, options):
    """Examples and megabytes a second of each thing that it times, once."""
    done = subprocess.run([sys.executable, options.given, "--lib", library, "--n",
                           str(options.records), "--seq", str(LENGTH), "--vocab", str(VOCABULARY),
                           "--reps", "1", "--threads", "1", "--dir", options.folder],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return {}
    return json.loads(done.stdout.splitlines()[-1])["results"]


def ours(*words):
    done = subprocess.run([OURS, *map(str, words)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {kind: (found["records"] / found[kind], found["bytes"] / found[kind] / 1e6)
            for kind in ("seconds", "processor")}


def run(options):
    ids, path = (os.path.join(options.folder, name) for name in ("bench.ids", "ours.tfrecord"))
    raw = os.path.join(options.folder, "ours.raw")
    draw = np.random.default_rng(0)
    count = options.records * TIMES
    np.minimum(draw.zipf(1.2, (count, LENGTH)), VOCABULARY - 1).astype(np.int32).tofile(ids)
    rows, peers = [], {}
    for _ in range(options.rounds):
        rows.append({"write": ours("write", ids, path, LENGTH),
                     "parse": ours("parse", path, LENGTH),
                     "raw-write": ours("raw-write", raw, 1 << 16, 500),
                     "raw-read": ours("raw-read", raw)})
        for library in ("tf", "tfrecord", "array_record"):
            for name, value in theirs(library, options).items():
                peers.setdefault((library, name), []).append(
                    (value["ex_per_s_median"], value["MB_per_s_median"]))
    for name in (ids, path, raw, *(os.path.join(options.folder, f"bench.{end}")
                                   for end in ("tfrecord", "arrayrecord"))):
        if os.path.exists(name):
            os.remove(name)
    return rows, peers


def show(rows, peers):
    for what, beside in BESIDE.items():
        # Of whole records the megabytes count, since they are of other sizes there.
        column, unit = (1, "MB/s") if what.startswith("raw") else (0, "examples/s")
        clock = [row[what]["seconds"][column] for row in rows]
        processor = [row[what]["processor"][column] for row in rows]
        print(f"{what}: Athanor {statistics.median(clock):,.0f} {unit} (processor "
              f"{statistics.median(processor):,.0f}), best {max(clock):,.0f} "
              f"({max(processor):,.0f})")
        for key in beside:
            found = [value[column] for value in peers.get(key, [])]
            if not found:
                print(f"  {key[0]} {key[1]}: not here")
                continue
            ratios = [a / b for a, b in zip(clock, found)]
            print(f"  {key[0]} {key[1]}: {statistics.median(found):,.0f} {unit}; ratio "
                  f"{statistics.median(ratios):.1f} ({min(ratios):.1f} – {max(ratios):.1f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--given", default=GIVEN)
    show(*run(parser.parse_args()))


main()
