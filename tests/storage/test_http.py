"""Exchanges over HTTP against a small server here: methods, bodies, redirects, connections kept,
times that run out, and trying again."""
import email.utils
import http.server
import json
import os
import pathlib
import socket
import subprocess
import threading
import time

import pytest

PROGRAM = pathlib.Path(os.environ.get("ATHANOR_PROGRAMS", "build/tests"), "storage_program_http")
LETTERS = bytes(range(ord("a"), ord("z") + 1))


class Server(http.server.ThreadingHTTPServer):
    """Answers by path with a function of the handler; keeps what was asked."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.routes, self.asked, self.connections = {}, [], 0
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02},
                         daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections += 1

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length)
        self.server.asked.append((self.command, self.path, dict(self.headers.items()), self.body))
        self.server.routes[self.path](self)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def other():
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


def ask(method, url, env={}, **options):
    arguments = [f"{name}={value}" for name, value in options.items()]
    done = subprocess.run([PROGRAM, method, url, *arguments], capture_output=True, text=True,
                          timeout=60, env=os.environ | {"ATHANOR_RETRY_SECONDS": "20"} | env)
    return json.loads(done.stdout)


def test_the_body_and_headers_of_an_answer_are_there(server):
    server.routes["/a"] = lambda h: h.say(200, b"hello", X_Word="w: 1 ")
    got = ask("GET", server.url + "/a", header="X-Asked:yes")
    assert (got["status"], got["body"], got["word"]) == (200, "hello", "w: 1")
    assert server.asked[0][2]["X-Asked"] == "yes"


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_a_body_is_sent_whole(server, method, size):
    server.routes["/b"] = lambda h: h.say(201, str(len(h.body)).encode())
    got = ask(method, server.url + "/b", body=size)
    assert (got["status"], got["body"]) == (201, str(size))
    assert server.asked[0][3] == (LETTERS * (size // 26 + 1))[:size]


def test_head_and_delete_have_no_body(server):
    server.routes["/c"] = lambda h: h.say(204 if h.command == "DELETE" else 200, X_Word="x")
    assert ask("HEAD", server.url + "/c")["word"] == "x"
    assert ask("DELETE", server.url + "/c")["status"] == 204


def test_an_answer_of_any_number_is_no_failure(server):
    server.routes["/d"] = lambda h: h.say(418, b"teapot")
    got = ask("GET", server.url + "/d")
    assert (got["code"], got["status"], got["body"]) == (0, 418, "teapot")


def test_a_connection_is_kept(server):
    server.routes["/e"] = lambda h: h.say(200, b"x" * 1000)
    ask("GET", server.url + "/e", times=20)
    assert len(server.asked) == 20 and server.connections == 1


def test_a_connection_that_was_closed_is_opened_again(server):
    def answer(handler):
        handler.say(200, b"ok")
        handler.close_connection = True
    server.routes["/f"] = answer
    assert ask("PUT", server.url + "/f", body=100_000, times=3, retry=1)["code"] == 0
    assert [len(a[3]) for a in server.asked] == [100_000] * 3


def test_a_body_without_an_answer_is_not_sent_again_unasked(server):
    def answer(handler):
        if len(server.asked) == 1:
            return handler.say(200)
        handler.close_connection = True
        return None
    server.routes["/f"] = answer
    assert ask("POST", server.url + "/f", body=1000, times=2)["code"] == 9
    assert len(server.asked) == 2


def test_the_token_goes_along_within_an_origin_and_never_to_another(server, other):
    server.routes["/1"] = lambda h: h.say(307, Location="/2")
    server.routes["/2"] = lambda h: h.say(302, Location=other.url + "/3")
    other.routes["/3"] = lambda h: h.say(302, Location=server.url + "/4")
    server.routes["/4"] = lambda h: h.say(200, b"there")
    got = ask("GET", server.url + "/1", bearer="secret", redirects=5)
    assert got["body"] == "there" and got["url"] == server.url + "/4"
    tokens = [a[2].get("Authorization") for a in server.asked]
    assert tokens == ["Bearer secret", "Bearer secret", None]
    assert "Authorization" not in other.asked[0][2]
    # The same port under another name is another origin.
    server.routes["/5"] = lambda h: h.say(302, Location=f"http://localhost:{server.server_port}/4")
    ask("GET", server.url + "/5", bearer="secret", redirects=1)
    assert "Authorization" not in server.asked[-1][2]


@pytest.mark.parametrize("status,method,size", [(307, "PUT", 500_000), (308, "PUT", 500_000),
                                                (303, "GET", 0), (302, "PUT", 500_000)])
def test_a_redirect_repeats_the_body_or_becomes_get(server, status, method, size):
    server.routes["/g"] = lambda h: h.say(status, Location="h")
    server.routes["/h"] = lambda h: h.say(200)
    ask("PUT", server.url + "/g", body=500_000, redirects=1)
    assert server.asked[1][0] == method and len(server.asked[1][3]) == size


def test_redirects_are_counted_and_without_leave_a_308_is_an_answer(server):
    server.routes["/i"] = lambda h: h.say(308, b"r", Location="/i")
    assert ask("GET", server.url + "/i")["status"] == 308
    got = ask("GET", server.url + "/i", redirects=3)
    assert got["code"] == 9 and "3 redirects" in got["error"] and len(server.asked) == 5


def test_no_other_protocol_is_followed(server):
    server.routes["/j"] = lambda h: h.say(302, Location="file:///etc/hostname")
    got = ask("GET", server.url + "/j", redirects=3)
    assert got["code"] == 3 and got["body"] == ""


def test_an_answer_larger_than_its_maximum_is_refused(server):
    server.routes["/k"] = lambda h: h.say(int(h.headers["X-Status"]), b"x" * 5000)
    got = ask("GET", server.url + "/k", maximum=4999, header="X-Status:200")
    assert got["code"] == 3 and "4999" in got["error"]
    got = ask("GET", server.url + "/k", maximum=4999, header="X-Status:500")
    assert got["status"] == 500 and len(got["body"]) == 4999


def test_no_server_a_cut_answer_and_silence_are_failures_that_name_the_host(server):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        got = ask("GET", url)
        assert got["code"] == 9 and url in got["error"]

    def cut(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"x" * 50)
        handler.close_connection = True
    server.routes["/cut"] = cut
    got = ask("GET", server.url + "/cut")
    assert got["code"] == 9 and server.url in got["error"]
    server.routes["/silent"] = lambda h: time.sleep(5)
    began = time.monotonic()
    assert ask("GET", server.url + "/silent", seconds=0.3)["code"] == 9
    assert ask("GET", server.url + "/silent", {"ATHANOR_STALL_SECONDS": "1"})["code"] == 9
    assert time.monotonic() - began < 4.5


def test_a_body_that_takes_longer_than_the_deadline_is_sent_again(server):
    def answer(handler):
        if len(server.asked) > 1:
            return handler.say(200)
        handler.close_connection = True
        return None

    def slowly(handler):  # in place of reading the body at once
        left = int(handler.headers["Content-Length"])
        while left > 0:
            left -= len(handler.rfile.read(min(left, 1_000_000)))
            if not server.asked:
                time.sleep(0.2)
        server.asked.append(None)
        answer(handler)
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    plain, Handler.do_PUT = Handler.do_PUT, slowly
    try:
        got = ask("PUT", server.url + "/v", body=20_000_000, retry=1,
                  env={"ATHANOR_RETRY_SECONDS": "2"})
    finally:
        Handler.do_PUT = plain
    assert (got["status"], got["tries"]) == (200, 2)


def test_headers_without_end_are_refused(server):
    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for i in range(300):
            handler.wfile.write(b"X-%d: %s\r\n" % (i, b"x" * 1000))
        handler.wfile.write(b"\r\n")
    server.routes["/t"] = answer
    got = ask("GET", server.url + "/t")
    assert got["code"] == 3 and "headers have more than 262144 bytes" in got["error"]


def test_a_trickle_is_as_silence(server):
    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"x")
            time.sleep(0.1)
    server.routes["/u"] = answer
    began = time.monotonic()
    got = ask("GET", server.url + "/u", {"ATHANOR_STALL_SECONDS": "1"})
    assert got["code"] == 9 and "too slow" in got["error"] and time.monotonic() - began < 8


def test_what_passes_is_tried_again_and_what_stays_is_not(server):
    left = [503, 429, 408, 200]
    server.routes["/l"] = lambda h: h.say(left.pop(0), b"then")
    got = ask("GET", server.url + "/l", retry=1)
    assert (got["status"], got["body"], got["tries"]) == (200, "then", 4)
    for status, code in [(400, 3), (401, 7), (403, 7), (404, 6), (410, 3), (412, 5)]:
        message = b'{"error": {"code": 1, "message": "it is\\u001b so"}}'
        server.routes["/m"] = lambda h: h.say(status, message)
        got = ask("GET", server.url + "/m", retry=1)
        assert (got["code"], got["tries"]) == (code, 1)
        assert got["error"] == f"asking: {status}: it is  so"


def test_tries_and_time_are_bounded_and_reported(server):
    server.routes["/n"] = lambda h: h.say(503, b"<html>busy")
    got = ask("GET", server.url + "/n", retry=1, env={"ATHANOR_RETRY_SECONDS": "6"})
    assert got["code"] == 9 and got["tries"] == 8
    assert got["error"].startswith("asking: 503 after 8 tries in ")
    began = time.monotonic()
    server.routes["/o"] = lambda h: h.say(503, b"{}", Retry_After="30")
    got = ask("GET", server.url + "/o", retry=1)  # which does not fit into 20 s
    assert got["tries"] == 1 and got["wait"] == 30 and time.monotonic() - began < 2


def test_retry_after_is_a_number_a_date_or_a_rate_limit(server):
    server.routes["/p"] = lambda h: h.say(429, Retry_After="1" if len(server.asked) < 2 else "0")
    began = time.monotonic()
    ask("GET", server.url + "/p", retry=1, env={"ATHANOR_RETRY_SECONDS": "6"})
    assert time.monotonic() - began > 1
    then = email.utils.formatdate(time.time() + 100, usegmt=True)
    server.routes["/q"] = lambda h: h.say(503, Retry_After=then)
    assert 90 < ask("GET", server.url + "/q")["wait"] <= 100
    server.routes["/r"] = lambda h: h.say(429, RateLimit='"api";r=0;t=55')
    assert ask("GET", server.url + "/r")["wait"] == 55
    server.routes["/s"] = lambda h: h.say(429, Retry_After="soon", RateLimit='"api";r=5;t=55')
    assert ask("GET", server.url + "/s")["wait"] == -1
