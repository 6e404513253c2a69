"""A Hub of one repository on two loopback ports, for tests: the second one is the store of large
files, another origin. It misbehaves on demand (`Hub.faults`), and keeps what it was asked.

Formats as huggingface_hub 2.4 speaks them: api/…/revision, tree, paths-info, preupload, commit,
resolve, and the Batch API of Git LFS."""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import traceback
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ATHANOR = os.environ["ATHANOR"]
TOKEN = "hf_aSecretThatNobodyMaySee"
LARGE = 4096  # bytes from which a file goes to the store
DEADLINE = 100


def git_name(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def large_name(content):
    return hashlib.sha256(content).hexdigest()


class Hub:
    """`files` is the head of main; `requests` (method, path, headers) in the order they came.
    `faults(handler, path)` may answer in its own way and then says True; `send(handler, content,
    start)` sends the body of a download."""

    def __init__(self, files=None):
        self.files, self.store, self.commits = dict(files or {}), {}, 1
        self.requests, self.bodies, self.lock = [], [], threading.Lock()
        self.faults = lambda handler, path: False
        self.send = lambda handler, content, start: handler.wfile.write(content[start:])
        self.ranges, self.page, self.private = True, 10 ** 9, False
        for content in self.files.values():
            self.store[large_name(content)] = content
        self.servers = [self.serve("api"), self.serve("store")]
        self.address, self.store_address = (
            f"http://127.0.0.1:{server.server_port}" for server in self.servers)

    def serve(self, role):
        class Handler(Answers):
            hub, part = self, role
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *words: None if isinstance(
            sys.exc_info()[1], OSError) else traceback.print_exc()  # clients that hang up
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    @property
    def head(self):
        return hashlib.sha1(b"%d" % self.commits).hexdigest()

    def asked(self, pattern):
        return [r for r in self.requests if re.search(pattern, f"{r[0]} {r[1]}")]


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, content=b"", **headers):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(content), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(content)

    def run(self):
        url = urllib.parse.urlsplit(self.path)
        path, query = urllib.parse.unquote(url.path), dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.hub.lock:
            self.hub.requests.append((self.command, path, dict(self.headers)))
            self.hub.bodies.append(body)
        if self.hub.faults(self, path):
            return
        if self.part == "store":
            self.answer_from_store(path, body)
        elif self.headers.get("Authorization") not in (None, f"Bearer {TOKEN}"):
            self.answer(401, {"error": f"unknown: {self.headers['Authorization']}"})
        else:
            with self.hub.lock:
                content = self.answer_from_api(path, query, body)
            if content is not None:
                self.download(content)

    do_GET = do_HEAD = do_POST = do_PUT = run

    # --- the API -----------------------------------------------------------------------------

    def entry(self, path):
        content = self.hub.files[path]
        entry = {"type": "file", "path": path, "size": len(content), "oid": git_name(content)}
        if len(content) >= LARGE:
            entry["lfs"] = {"oid": large_name(content), "size": len(content), "pointerSize": 130}
        return entry

    def answer_from_api(self, path, query, body):
        hub = self.hub
        if path == "/api/whoami-v2":
            return self.answer(200, {"name": "tester"}) if self.headers.get("Authorization") else (
                self.answer(401, {"error": "who?"}))
        found = re.fullmatch(r"/api/(?:model|dataset)s/tester/one/([a-z-]+)/([^/]+)/?(.*)", path)
        if found:
            return getattr(self, "api_" + found[1].replace("-", "_"))(
                json.loads(body) if body and found[1] != "commit" else body, query, found[3])
        if path.endswith("tester/one.git/info/lfs/objects/batch"):
            return self.batch(json.loads(body))
        found = re.fullmatch(r"/(?:datasets/)?tester/one/resolve/([^/]+)/(.+)", path)
        if found and found[2] in hub.files:
            content = hub.files[found[2]]
            if len(content) < LARGE:
                return content
            return self.answer(302, Location=f"{hub.store_address}/get/{large_name(content)}?sig=1")
        self.answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")

    def api_revision(self, body, query, rest):
        self.answer(200, {"sha": self.hub.head, "private": self.hub.private})

    def api_tree(self, body, query, rest):
        paths = sorted(p for p in self.hub.files if p.startswith(rest and rest + "/"))
        start, end = int(query.get("cursor", 0)), self.hub.page
        more = {}
        if start + end < len(paths):
            more["Link"] = (f'<{self.hub.address}{urllib.parse.urlsplit(self.path).path}?recursive='
                            f'true&cursor={start + end}>; rel="next"')
        self.answer(200, [self.entry(p) for p in paths[start:start + end]], **more)

    def api_paths_info(self, body, query, rest):
        self.answer(200, [self.entry(p) for p in body["paths"] if p in self.hub.files])

    def api_preupload(self, body, query, rest):
        def wish(file):
            there = self.hub.files.get(file["path"])
            large = file["size"] >= LARGE
            assert len(base64.b64decode(file["sample"], validate=True)) == min(512, file["size"])
            return {"path": file["path"], "uploadMode": "lfs" if large else "regular",
                    "shouldIgnore": file["path"].endswith(".ignored"),
                    "oid": None if there is None else (
                        large_name if large else git_name)(there)}
        self.answer(200, {"files": [wish(file) for file in body["files"]]})

    def api_commit(self, body, query, rest):
        header, *changes = [json.loads(line) for line in body.splitlines()]
        if header["value"]["parentCommit"] != self.hub.head:
            return self.answer(412, {"error": "A commit has happened since."})
        for change in (change["value"] for change in changes):
            self.hub.files[change["path"]] = (
                self.hub.store[change["oid"]] if "oid" in change else
                base64.b64decode(change["content"], validate=True))
        self.hub.commits += 1
        self.answer(200, {"commitOid": self.hub.head, "commitUrl": f"{self.hub.address}/c"})

    def batch(self, body):
        def wanted(item):
            if item["oid"] in self.hub.store:
                return item
            url = f"{self.hub.store_address}/put/{item['oid']}?sig=1"
            return {**item, "actions": {"upload": {"href": url, "header": {"X-Signed": "yes"}}}}
        self.answer(200, {"objects": [wanted(item) for item in body["objects"]]})

    # --- contents ----------------------------------------------------------------------------

    def answer_from_store(self, path, body):
        if "Authorization" in self.headers:
            return self.answer(400, b"a token for another origin")
        action, name = path.strip("/").split("/")
        if action == "put":
            if self.headers["X-Signed"] != "yes" or large_name(body) != name:
                return self.answer(400, b"wrong checksum")
            self.hub.store[name] = body
            return self.answer(200)
        self.download(self.hub.store[name])

    def download(self, content):
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked and self.hub.ranges else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.hub.send(self, content, start)


# --- the command -----------------------------------------------------------------------------


def environment(address, home, **more):
    """That of a command: the caches lie in `home`, and repetitions take no time."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    return {**kept, "HF_ENDPOINT": address, "HF_HOME": str(home), "HF_TOKEN": TOKEN,
            "ATHANOR_RETRY_SECONDS": "12", "no_proxy": "127.0.0.1", **more}


def start(env, *words, **more):
    return subprocess.Popen([ATHANOR, *map(str, words)], env=env, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **more)


def run(env, *words, data=None, **more):
    """Exit code, standard output, standard error."""
    done = subprocess.run([ATHANOR, *map(str, words)], env=env, text=True, input=data or "",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, **more)
    assert TOKEN not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


def succeed(env, *words, **more):
    code, out, messages = run(env, *words, **more)
    assert code == 0, messages
    return out


def report(env, *words, **more):
    return json.loads(succeed(env, *words, "--json", **more))
