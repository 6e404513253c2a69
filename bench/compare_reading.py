"""Reading speed beside DuckDB alone, zcat and zstdcat, in turn: seconds of processor time, medians.

    build/venv/bin/python bench/compare_reading.py [--megabytes 97] [--rounds 3]

The text is WikiText-2's valid and test, given in ../shared/data, over and over, a line a document,
in every form. DuckDB runs on one thread, is told the columns, and adds up the lengths of the texts;
loading it is not counted there, but is with us, where parquet needs it."""
import argparse
import csv
import gzip
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRESENT = {"csv": """read_csv('{}', header=true, delim=',', quote='"', escape='"',
                    auto_detect=false, columns={{'n': 'VARCHAR', 'text': 'VARCHAR'}})""",
           "tsv": """read_csv('{}', header=true, delim='\t', quote='', escape='',
                    auto_detect=false, columns={{'n': 'VARCHAR', 'text': 'VARCHAR'}})""",
           "jsonl": "read_json('{}', format='newline_delimited', columns={{'text': 'VARCHAR'}})",
           "parquet": "read_parquet('{}')"}


def write_forms(folder, megabytes):
    parts = [ROOT / f"../shared/data/text/wikitext-2-raw.{part}.raw" for part in ("test", "valid")]
    lines = [line for part in parts for line in part.read_text().split("\n") if line.strip()]
    lines *= max(1, round(megabytes * 1e6 / sum(len(line.encode()) + 1 for line in lines)))
    text = ("\n".join(lines) + "\n").encode()
    (folder / "a.txt").write_bytes(text)
    (folder / "a.txt.gz").write_bytes(gzip.compress(text, 6))
    with pa.CompressedOutputStream(str(folder / "a.txt.zst"), "zstd") as out:
        out.write(text)
    with open(folder / "a.jsonl", "w") as file:
        file.writelines(json.dumps({"n": n, "text": t}, ensure_ascii=False) + "\n"
                        for n, t in enumerate(lines))
    with open(folder / "a.csv", "w", newline="") as file:
        csv.writer(file).writerows([["n", "text"], *enumerate(lines)])
    (folder / "a.tsv").write_text("n\ttext\n" + "".join(f"{n}\t{t}\n" for n, t in enumerate(lines)))
    pq.write_table(pa.table({"n": range(len(lines)), "text": lines}), folder / "a.parquet")
    return len(text), len(lines)


def used(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def time_command(*command):
    before = used(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return used(resource.RUSAGE_CHILDREN) - before


def time_ours(path, documents):
    env = os.environ | {"VIRTUAL_ENV": sys.prefix}
    words = [str(ROOT / "build/bench_reading"), str(path)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=env)
    read, _, seconds = done.stdout.split()
    assert int(read) == documents, path
    return float(seconds)


def time_duckdb(path):
    connection = duckdb.connect(config={"threads": 1})
    before = used(resource.RUSAGE_SELF)
    connection.execute("SELECT count(*), sum(strlen(text)) FROM " +
                       PRESENT[path.suffix[1:]].format(path)).fetchall()
    return used(resource.RUSAGE_SELF) - before


def peer_of(path):
    if path.suffix[1:] in PRESENT:
        return "DuckDB", lambda: time_duckdb(path)
    packer = {".gz": "zcat", ".zst": "zstdcat", ".txt": "cat"}[path.suffix]
    return packer, lambda: time_command(packer, str(path))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=float, default=97)
    parser.add_argument("--rounds", type=int, default=3)
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        size, documents = write_forms(folder, wishes.megabytes)
        print(f"{size / 1e6:.1f} MB of text, {documents} documents")
        for path in sorted(folder.iterdir()):
            peer, time_peer = peer_of(path)
            rounds = [(time_ours(path, documents), time_peer()) for _ in range(wishes.rounds)]
            ours, theirs = (statistics.median(column) for column in zip(*rounds))
            print(f"{path.name:10} {ours:6.2f} s   {peer:7} {theirs:6.2f} s")


main()
