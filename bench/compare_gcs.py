"""Transfers to and from an emulator of Cloud Storage on loopback, beside plain curl: in turn, from
and to files in memory. Ours check a CRC-32C on the way; curl checks nothing. Up it goes by curl in
two ways: as one body, which cannot go on after a break, and in a session, as ours do; the emulator
takes several times as long over the second.

    build/venv/bin/python bench/compare_gcs.py [--megabytes N] [--rounds N]
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "tests/storage"))
os.environ.setdefault("ATHANOR", str(root / "build/athanor"))
from gcs_services import ATHANOR, BUCKET, paging_emulator  # noqa: E402


def timed(command, environment):
    """Seconds by the clock, and of the command's own processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run([str(c) for c in command], check=True, env=environment,
                   stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        size = options.megabytes * 1_000_000
        (folder / "file").write_bytes(os.urandom(size))
        with paging_emulator(folder) as url:
            environment = os.environ | {"STORAGE_EMULATOR_HOST": url}
            at = f"{url}/storage/v1/b/{BUCKET}/o"
            begin = f"{url}/upload/storage/v1/b/{BUCKET}/o?uploadType=resumable&name=s"
            session = (f"curl -sf -D - -o /dev/null -X POST -d '{{}}' '{begin}' | tr -d '\\r' | "
                       "sed -n 's/^Location: //Ip' | xargs curl -sf -H Expect: -H "
                       f"'Content-Range: bytes 0-{size - 1}/{size}' -T {folder}/file")
            ways = {
                "curl up": ["curl", "-sf", "-X", "POST", "-H", "Expect:", "-H",
                            "Content-Type: application/octet-stream", "-T", folder / "file",
                            f"{url}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name=a"],
                "curl in a session": ["sh", "-c", session],
                "ours up": [ATHANOR, "storage", "cp", folder / "file", f"gs://{BUCKET}/b"],
                "curl down": ["curl", "-sf", "-o", folder / "c", f"{at}/a?alt=media"],
                "ours down": [ATHANOR, "storage", "cp", f"gs://{BUCKET}/a", folder / "d"],
            }
            times = {way: [] for way in ways}
            for i in range(options.rounds + 1):
                for way, command in ways.items():
                    got = timed(command, environment)
                    if i > 0:
                        times[way].append(got)
            assert (folder / "d").read_bytes() == (folder / "file").read_bytes()
    for way, got in times.items():
        rates = [size / 1e6 / wall for wall, _ in got]
        cpu = statistics.median(own for _, own in got)
        print(f"{way:15} {statistics.median(rates):6.0f} MB/s "
              f"({min(rates):.0f} – {max(rates):.0f}), {cpu:.2f} s of processor time")
    for ours, theirs in (("ours up", "curl up"), ("ours up", "curl in a session"),
                         ("ours down", "curl down")):
        ratios = [c[0] / o[0] for c, o in zip(times[theirs], times[ours])]
        print(f"{ours}: {statistics.median(ratios):.2f} of the speed of {theirs} "
              f"({min(ratios):.2f} – {max(ratios):.2f})")


main()
