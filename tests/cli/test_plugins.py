"""athanor plugins and athanor devices: installing from an index (a small one here, and in CI the
real one), what is refused, and plugins that crash."""
import hashlib
import http.server
import json
import os
import pathlib
import signal
import socketserver
import subprocess
import threading
import time

import pytest

ATHANOR = os.environ.get("ATHANOR", "build/athanor")
FAKE = pathlib.Path(os.environ["ATHANOR_PROGRAMS"], "libfake_plugin.so").resolve()
PLUGINS = pathlib.Path("build/pjrt").resolve()
# The wheel that `plugins install cpu` wants, as the package index has it.
WHEEL = "lammps_jax_pjrt_cpu-0.11.2-py3-none-manylinux_2_27_x86_64.whl"
PAGE = "/simple/lammps-jax-pjrt-cpu/"
REQUIRED = "ATHANOR_REQUIRE_PLUGINS" in os.environ
needs_fake = pytest.mark.skipif(not FAKE.exists() and not REQUIRED,
                                reason="built without pjrt_c_api.h")


@pytest.fixture
def home(tmp_path):
    """An environment in which no plugin is found."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ATHANOR_PJRT", "PIP"))}
    environment.pop("VIRTUAL_ENV", None)
    return environment | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}


def run(home, *command, timeout=60):
    done = subprocess.run([ATHANOR, *command], capture_output=True, text=True, env=home,
                          timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def left(home):
    """Folders, too, of which a failed installation leaves none."""
    return list(pathlib.Path(home["XDG_DATA_HOME"]).glob("*"))


def installed(home):
    return sorted(str(p.relative_to(home["XDG_DATA_HOME"]))
                  for p in pathlib.Path(home["XDG_DATA_HOME"]).rglob("*") if p.is_file())


class Index:
    """Answers by path: bytes, a number (a status), or a function of the handler."""

    def __init__(self):
        self.answers, self.asked = {}, []
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                index.asked.append(self.path)
                answer = index.answers.get(self.path, 404)
                if callable(answer):
                    return answer(self)
                self.send_response(answer if isinstance(answer, int) else 200)
                body = b"" if isinstance(answer, int) else answer
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # the client went away
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def index():
    index = Index()
    yield index
    index.server.shutdown()


def page(*links):
    return "".join(f'<a href="{link}">file</a><br/>\n' for link in links).encode()


def test_a_file_with_another_checksum_is_not_installed(home, index):
    index.answers[PAGE] = page("/other.whl", f"../../files/{WHEEL}#sha256=00")
    index.answers[f"/files/{WHEEL}"] = b"not the wheel"
    code, output, text = run(home, "plugins", "install", "cpu", "--index", index.url + "/")
    assert code == 4 and output == ""
    assert hashlib.sha256(b"not the wheel").hexdigest() in text and "nothing was installed" in text
    assert left(home) == []
    assert index.asked == [PAGE, f"/files/{WHEEL}"]


def test_an_index_without_the_file_is_told(home, index):
    code, _, text = run(home, "plugins", "install", "cpu", "--index", index.url)
    assert code == 6 and "404" in text and len(index.asked) == 1
    index.answers[PAGE] = page(f"x{WHEEL[:-4]}.zip", "lammps_jax_pjrt_cpu-0.1.0.whl")
    code, _, text = run(home, "plugins", "install", "cpu", "--index", index.url)
    assert code == 6 and f"no file {WHEEL}" in text
    assert left(home) == []


def test_a_server_in_trouble_is_asked_three_times(home, index):
    index.answers[PAGE] = 503
    code, _, text = run(home, "plugins", "install", "cpu", "--index", index.url)
    assert code == 9 and "503" in text
    assert index.asked == [PAGE] * 3


def test_the_index_of_pip_is_used(home, index):
    code, _, text = run(home | {"PIP_INDEX_URL": index.url}, "plugins", "install", "cpu")
    assert code == 6 and index.url in text and index.asked == [PAGE]


def slowly(handler):
    """Sends without an end until the client goes."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 29))
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(bytes(1 << 16))
        time.sleep(0.05)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 13), (signal.SIGKILL, -9)])
def test_a_stopped_download_leaves_nothing_in_the_way(home, index, number, code):
    index.answers[PAGE] = page(f"/files/{WHEEL}")
    index.answers[f"/files/{WHEEL}"] = slowly
    process = subprocess.Popen([ATHANOR, "plugins", "install", "cpu", "--index", index.url],
                               env=home, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not any("tmp" in name for name in installed(home)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    busy, _, text = run(home, "plugins", "install", "cpu", "--index", index.url)
    assert busy == 7 and "another process is installing" in text
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == code
    if number == signal.SIGINT:
        assert left(home) == []
    index.answers[PAGE] = 404  # the next try clears what a kill left
    assert run(home, "plugins", "install", "cpu", "--index", index.url)[0] == 6
    assert left(home) == []


def test_without_a_network_nothing_is_left(home):
    code, _, text = run(home, "plugins", "install", "cpu", "--index", "http://127.0.0.1:9/simple")
    assert code == 9 and "127.0.0.1" in text and left(home) == []


def test_a_failure_leaves_what_was_there(home, index):
    folder = pathlib.Path(home["XDG_DATA_HOME"], "athanor", "plugins", "tpu")
    folder.mkdir(parents=True)
    assert run(home, "plugins", "install", "cpu", "--index", index.url)[0] == 6
    assert [p.name for p in folder.parent.iterdir()] == ["tpu"]


def test_a_second_signal_ends_at_once_whichever_it_is(home, index):
    index.answers[PAGE] = page(f"/files/{WHEEL}")
    index.answers[f"/files/{WHEEL}"] = slowly
    for _ in range(5):  # the download may have stopped by itself before the second one comes
        process = subprocess.Popen([ATHANOR, "plugins", "install", "cpu", "--index", index.url],
                                   env=home, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not any("tmp" in name for name in installed(home)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert any(b"second signal ends at once" in line for line in process.stderr)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        if process.returncode == -signal.SIGTERM:
            return
        assert process.returncode == 13
    raise AssertionError("SIGTERM after SIGINT never ended the process")


def test_a_wheel_on_disk_is_checked(home, tmp_path):
    (tmp_path / WHEEL).write_bytes(b"something")
    code, _, text = run(home, "plugins", "install", "cpu", "--wheel", str(tmp_path / WHEEL))
    assert code == 4 and "SHA-256" in text and installed(home) == []
    code, _, text = run(home, "plugins", "install", "cpu", "--wheel", str(tmp_path / "none.whl"))
    assert code == 6 and "none.whl" in text
    code, _, text = run(home, "plugins", "install", "cpu", "tpu", "--wheel", "x")
    assert code == 2
    code, _, text = run(home, "plugins", "install", "gpu")
    assert code == 2 and "cpu, tpu, cuda and duckdb" in text
    assert run(home, "plugins", "install")[0] == 2


@pytest.mark.skipif(not REQUIRED, reason="downloads 63 MB")
def test_the_plugin_of_the_real_index_is_installed_and_used(home):
    code, output, text = run(home, "plugins", "install", "cpu", timeout=600)
    assert code == 0, text
    path = pathlib.Path(output.split(" (")[0])
    assert path.read_bytes() == (PLUGINS / "cpu-0.115.so").read_bytes()
    assert len(installed(home)) == 2
    code, output, _ = run(home, "devices", "xla:cpu", "--json")
    device = json.loads(output)
    assert code == 0 and device["plugin"] == str(path) and device["kind"] == "cpu"
    cpu = json.loads(run(home, "plugins", "list", "--json")[1].splitlines()[0])
    assert cpu["wheel"] == "lammps-jax-pjrt-cpu 0.11.2" and cpu["pjrt_version"] == "0.115"


# --- devices ----------------------------------------------------------------------------------


def devices(home, *names):
    code, output, text = run(home, "devices", *names, "--json")
    return code, [json.loads(line) for line in output.splitlines()], text


def test_every_device_has_a_line(home):
    start = time.monotonic()
    code, lines, _ = devices(home)
    assert time.monotonic() - start < 2
    assert code == 0 and [line["device"] for line in lines] == ["cpu", "xla:cpu", "tpu", "cuda"]
    assert lines[0]["error"] is None
    assert "athanor plugins install cpu" in lines[1]["error"]
    if not os.path.exists("/dev/accel0") and not os.path.exists("/dev/vfio/0"):
        assert "/dev/accel0" in lines[2]["error"] and "/dev/vfio" in lines[2]["error"]


def test_a_device_asked_for_must_be_there(home):
    assert devices(home, "cpu")[0] == 0
    code, lines, text = devices(home, "cpu", "xla:cpu")
    assert code == 6 and len(lines) == 2 and "1 of the 2" in text
    code, lines, _ = devices(home, "tpuu")
    assert code == 11 and "no device" in lines[0]["error"]


@needs_fake
def test_a_plugin_that_crashes_is_a_line_and_the_others_follow(home):
    crashing = home | {"ATHANOR_PJRT_CPU": str(FAKE), "FAKE_PJRT": "crash"}
    code, lines, _ = devices(crashing)
    assert code == 0 and len(lines) == 4
    assert "signal 6" in lines[1]["error"]
    code, output, _ = run(crashing, "plugins", "list")
    assert code == 0 and "PJRT 0.81, StableHLO 9.8.7" in output


@needs_fake
def test_what_a_plugin_finds_is_told(home):
    code, lines, _ = devices(home | {"ATHANOR_PJRT_CUDA": str(FAKE)}, "cuda")
    assert code == 0
    assert lines == [{"device": "cuda", "count": 2, "kind": "fake chip", "memory_bytes": 1000,
                      "plugin": str(FAKE), "error": None}]
    code, output, _ = run(home | {"ATHANOR_PJRT_CUDA": str(FAKE)}, "devices", "cuda")
    assert "2 × fake chip with 0.0 GB each" in output
    failing = home | {"ATHANOR_PJRT_CUDA": str(FAKE), "FAKE_PJRT": "fail:Client_Create"}
    code, lines, _ = devices(failing, "cuda")
    assert code == 1 and "the fake fails in Client_Create" in lines[0]["error"]


def test_the_program_starts_without_loading_the_downloader(home):
    """libcurl and what it needs take 34 ms to load; a start takes 3."""
    libraries = subprocess.run(["ldd", ATHANOR], capture_output=True, text=True).stdout
    assert "libc.so" in libraries and "curl" not in libraries
