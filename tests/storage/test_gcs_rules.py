"""The rules of resumable uploads and of tokens, one by one, against a server that plays a script;
expected are the requests that Cloud Storage's documentation prescribes (P1 to P3 of the cases)."""
import base64
import http.server
import json
import re
import threading
import time
import urllib.parse

import google_crc32c
import pytest

from gcs_services import athanor, content

GRAIN = 262144
DATA = content(1, 3 * GRAIN + 1000)


class Cloud(http.server.ThreadingHTTPServer):
    """Keeps what arrives; `script` has for each PUT what happens instead: a number answers with
    that, a pair (number, stored) stores so many bytes of the request first, after a float of
    seconds all is normal, as with None. A read waits for an event."""
    daemon_threads = True

    def __init__(self, script=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.ranges, self.objects, self.sessions = list(script), [], {}, []
        self.accepted, self.tokens, self.asked, self.reads = None, [], [], []
        self.damage = 0  # of the checksums it tells
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02},
                         daemon=True).start()

    def info(self, name):
        data = bytes(self.objects[name])
        crc = google_crc32c.value(data) ^ self.damage
        crc = base64.b64encode(crc.to_bytes(4, "big")).decode()
        return json.dumps({"name": name, "size": str(len(data)), "generation": "7",
                           "crc32c": crc}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refused(self):
        """An old token: 401, as in the middle of a transfer."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.server.tokens.append(token)
        if self.server.accepted is None or token in self.server.accepted:
            return False
        self.say(401, b'{"error": {"message": "Invalid Credentials"}}')
        return True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/token":
            self.server.asked.append(dict(urllib.parse.parse_qsl(body.decode())))
            new = f"token-{len(self.server.asked)}"
            self.server.accepted = [new]
            return self.say(200, json.dumps({"access_token": new, "expires_in": 3600}).encode())
        if self.refused():
            return None
        if "/compose" in self.path:
            return self.say(500)
        name = dict(urllib.parse.parse_qsl(self.path.split("?")[1]))["name"]
        self.server.sessions.append((name, bytearray(), json.loads(body)))
        return self.say(200, Location=f"{self.server.url}/session/{len(self.server.sessions) - 1}")

    def stored(self, data, status=308):
        return self.say(status, **({"Range": f"bytes=0-{len(data) - 1}"} if data else {}))

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.refused():
            return None
        server, asked = self.server, self.headers["Content-Range"]
        server.ranges.append(asked)
        name, data, _ = server.sessions[int(self.path.split("/")[-1])]
        step = server.script.pop(0) if server.script else None
        if isinstance(step, float):
            step = time.sleep(step)  # None
        begin, total = re.fullmatch(r"bytes (?:\*|(\d+)-\d+)/(\d+)", asked).groups()
        if begin is not None:
            assert int(begin) <= len(data), "a gap"
            keep = body if step is None else body[:step[1]] if isinstance(step, tuple) else b""
            data[int(begin):] = keep
        if isinstance(step, tuple):
            step = step[0]
        if step == "cut":
            self.close_connection = True
            return None
        if step is not None:
            return self.stored(data) if step == 308 else self.say(step)
        if len(data) < int(total):
            return self.stored(data)
        server.objects[name] = data
        return self.say(200, server.info(name))

    def do_GET(self):
        if self.refused():
            return None
        if "/o?" in self.path:
            items = [json.loads(self.server.info(name)) for name in sorted(self.server.objects)]
            return self.say(200, json.dumps({"items": items}).encode())
        name = urllib.parse.unquote(self.path.split("/o/")[1].split("?")[0])
        if name not in self.server.objects:
            return self.say(404, b'{"error": {"message": "No such object"}}')
        if "alt=media" not in self.path:
            return self.say(200, self.server.info(name))
        begin, end = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        self.server.reads.append((begin, end))
        data = bytes(self.server.objects[name])
        step = self.server.script.pop(0) if self.server.script else None
        headers = {"Content-Range": f"bytes {begin}-{end}/{len(data)}", "x-goog-generation": "7"}
        if step == "replaced":
            headers["x-goog-generation"] = "8"
        part = data[begin:end + 1]
        if isinstance(step, threading.Event):
            assert step.wait(60)
        if step == "damaged":
            part = part[:-1] + bytes([part[-1] ^ 1])
        return self.say(206, part, **headers)

    def do_DELETE(self):
        self.say(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def cloud():
    made = Cloud()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    return tmp_path / "data"


def upload(cloud, path, *script, code=0, **variables):
    cloud.script = list(script)
    return athanor(cloud.url, "storage", "cp", path, "gs://bucket-one/a/b", code=code,
                   **{"ATHANOR_GCS_CHUNK": str(GRAIN), "ATHANOR_RETRY_SECONDS": "5"} | variables)


def part(i, end=None):
    return f"bytes {i * GRAIN}-{(end or min((i + 1) * GRAIN, len(DATA))) - 1}/{len(DATA)}"


ASK = f"bytes */{len(DATA)}"
ALL = [part(0), part(1), part(2), part(3)]


def test_chunks_are_multiples_of_256_kib_and_the_checksum_goes_ahead(cloud, path):
    upload(cloud, path)
    assert cloud.ranges == ALL and bytes(cloud.objects["a/b"]) == DATA
    crc = base64.b64encode(google_crc32c.value(DATA).to_bytes(4, "big")).decode()
    assert cloud.sessions[0][2]["crc32c"] == crc


@pytest.mark.parametrize("answer", [503, 500, 429, 408, "cut"])
def test_after_trouble_the_session_is_asked_how_far_it_is(cloud, path, answer):
    upload(cloud, path, None, answer)
    assert cloud.ranges == [part(0), part(1), ASK, part(1), part(2), part(3)]
    assert bytes(cloud.objects["a/b"]) == DATA


@pytest.mark.parametrize("lost", [404, 410])
def test_a_lost_session_is_begun_anew_from_byte_0(cloud, path, lost):
    upload(cloud, path, None, 503, lost)
    assert cloud.ranges == [part(0), part(1), ASK, *ALL] and len(cloud.sessions) == 2
    assert bytes(cloud.objects["a/b"]) == DATA


def test_lost_sessions_are_bounded(cloud, path):
    text = upload(cloud, path, *[410] * 100, code=3)
    assert "410" in text and len(cloud.sessions) == 8


def test_a_session_that_is_lost_after_long_progress_is_begun_anew(cloud, path):
    upload(cloud, path, None, 1.5, 410, ATHANOR_RETRY_SECONDS="1")
    assert cloud.ranges == [part(0), part(1), part(2), *ALL]
    assert bytes(cloud.objects["a/b"]) == DATA


def test_308_with_a_range_goes_on_behind_it(cloud, path):
    upload(cloud, path, None, (308, GRAIN // 2))
    half = GRAIN + GRAIN // 2
    assert cloud.ranges[2] == f"bytes {half}-{half + GRAIN - 1}/{len(DATA)}"
    assert bytes(cloud.objects["a/b"]) == DATA


def test_308_without_a_range_goes_on_from_byte_0(cloud, path):
    upload(cloud, path, (308, 0), None)
    assert cloud.ranges == [part(0), *ALL] and bytes(cloud.objects["a/b"]) == DATA


def test_a_session_that_never_stores_anything_ends(cloud, path):
    began = time.monotonic()
    upload(cloud, path, *[(308, 0)] * 100, code=9)
    assert len(cloud.ranges) <= 10 and time.monotonic() - began < 10


def test_a_session_that_has_all_and_does_not_end_is_begun_anew(cloud, path):
    upload(cloud, path, None, None, None, (308, GRAIN), 308, 503, 308, 308)
    assert len(cloud.sessions) == 2 and cloud.ranges == [*ALL, *[ASK] * 4, *ALL]
    assert bytes(cloud.objects["a/b"]) == DATA


def test_a_last_answer_that_was_lost_is_asked_for(cloud, path):
    upload(cloud, path, None, None, None, ("cut", GRAIN))
    assert cloud.ranges == [*ALL, ASK] and bytes(cloud.objects["a/b"]) == DATA


@pytest.mark.parametrize("status,code", [(403, 7), (404, 6), (400, 3)])
def test_what_stays_is_not_tried_again_and_the_answer_is_told(cloud, path, status, code):
    Handler.real = Handler.do_POST
    Handler.do_POST = lambda h: (h.rfile.read(int(h.headers["Content-Length"])),
                                 h.server.asked.append(1),
                                 h.say(status, b'{"error": {"message": "because"}}'))
    try:
        text = upload(cloud, path, code=code)
    finally:
        Handler.do_POST = Handler.real
    assert text == f"athanor: gs://bucket-one/a/b: {status}: because\n" and len(cloud.asked) == 1


def test_trouble_without_end_ends_and_tells_how_often_it_was_tried(cloud, path):
    text = upload(cloud, path, *[503] * 100, code=9)
    assert re.search(r"gs://bucket-one/a/b: 503 after 8 tries in \d+ s", text)


def test_an_upload_that_arrives_damaged_is_sent_again_and_then_refused(cloud, path):
    cloud.damage = 1
    text = upload(cloud, path, code=4)
    assert "checksum" in text and len(cloud.sessions) == 8


def credentials(cloud, folder):
    path = folder / "user.json"
    path.write_text(json.dumps({"type": "authorized_user", "client_id": "i", "client_secret": "s",
                                "refresh_token": "r", "token_uri": cloud.url + "/token"}))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}


def test_a_token_that_runs_out_is_replaced_in_mid_transfer(cloud, path, tmp_path):
    cloud.accepted = []
    real = Handler.do_PUT

    def put(handler):
        if len(handler.server.ranges) == 2 and handler.server.accepted == ["token-1"]:
            handler.server.accepted = []  # an hour is over
        real(handler)
    Handler.do_PUT = put
    try:
        upload(cloud, path, **credentials(cloud, tmp_path))
    finally:
        Handler.do_PUT = real
    assert cloud.ranges == ALL and bytes(cloud.objects["a/b"]) == DATA
    assert cloud.asked[0] == {"grant_type": "refresh_token", "client_id": "i",
                              "client_secret": "s", "refresh_token": "r"}
    assert cloud.tokens[-3:] == ["token-1", "token-2", "token-2"] and len(cloud.asked) == 2


def test_a_token_that_is_refused_twice_ends_it_and_is_not_printed(cloud, path):
    cloud.accepted = ["other"]
    text = upload(cloud, path, code=7, GOOGLE_OAUTH_ACCESS_TOKEN="my-secret-token")
    assert "GOOGLE_OAUTH_ACCESS_TOKEN" in text and "my-secret" not in text
    assert len(cloud.tokens) == 1


def download(cloud, to, *script, code=0):
    cloud.objects["x"] = bytearray(DATA)
    cloud.script = list(script)
    return athanor(cloud.url, "storage", "cp", "gs://bucket-one/x", to, code=code,
                   ATHANOR_GCS_CHUNK=str(2 * GRAIN), ATHANOR_RETRY_SECONDS="5")


def test_a_download_is_read_by_ranges_and_checked(cloud, tmp_path):
    download(cloud, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == DATA
    assert sorted(cloud.reads) == [(0, 2 * GRAIN - 1), (2 * GRAIN, len(DATA) - 1)]
    download(cloud, tmp_path / "x", "damaged")  # which is noticed, and read again
    assert (tmp_path / "x").read_bytes() == DATA


@pytest.mark.parametrize("harm,code", [("damaged", 4), ("replaced", 5)])
def test_a_download_that_stays_wrong_is_refused(cloud, tmp_path, harm, code):
    text = download(cloud, tmp_path / "x", *[harm] * 100, code=code)
    assert "gs://bucket-one/x" in text and not list(tmp_path.iterdir())
