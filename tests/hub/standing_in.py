"""The given stand-in for the Hub (../shared/tools/hf_standin.py), started on free ports."""
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from little_hub import TOKEN

SHARED = pathlib.Path(os.environ["ATHANOR_SHARED"])
MODEL = SHARED / "data/h5/tiny_roberta_mlm"


class StandIn:
    """The given stand-in on free ports; its store of large files listens 1000 above."""

    def __init__(self, folder, *options):
        self.folder = folder
        for _ in range(50):
            port = random.randrange(20000, 30000)
            if all(self.is_free(p) for p in (port, port + 1000)):
                break
        self.address, self.log = f"http://127.0.0.1:{port}", folder / "trace.jsonl"
        self.server = subprocess.Popen([
            sys.executable, SHARED / "tools/hf_standin.py", "--port", str(port), "--root",
            folder / "root", "--token", TOKEN, "--trace", self.log, *options])
        deadline = time.monotonic() + 20
        while not self.answers():
            assert time.monotonic() < deadline and self.server.poll() is None
            time.sleep(0.02)

    @staticmethod
    def is_free(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    def answers(self):
        try:
            urllib.request.urlopen(self.address, timeout=5)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def requests(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def asked(self, part):
        return [r for r in self.requests() if part in f"{r['m']} {r['path']}"]

    def close(self):
        self.server.kill()
        self.server.wait()
