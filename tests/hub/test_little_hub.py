"""Pulling and pushing where servers and networks misbehave: against a small stand-in for the Hub
with a second origin."""
import io
import os
import random
import re
import signal
import stat
import threading
import time

import pytest

from little_hub import (ATHANOR, LARGE, TOKEN, Hub, environment, git_name, large_name, report, run,
                        start, succeed)

DRAW = random.Random(7)
BIG = DRAW.randbytes(3 * LARGE + 1)
FILES = {"config.json": b"{}", "sub/na\u00efve \u00fc.txt": b"x\n", "empty.txt": b"",
         "model.safetensors": BIG}


@pytest.fixture
def hub():
    made = Hub(FILES)
    yield made
    made.close()


@pytest.fixture
def env(hub, tmp_path):
    return environment(hub.address, tmp_path / "home")


def contents(folder):
    return {os.path.relpath(os.path.join(where, name), folder):
            open(os.path.join(where, name), "rb").read()
            for where, _, names in os.walk(folder) for name in names}


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


# --- pull ------------------------------------------------------------------------------------


def test_a_repository_is_pulled_whole_into_the_layout_of_the_shared_cache(hub, env, tmp_path):
    pulled = report(env, "hub", "pull", "tester/one")
    folder = tmp_path / "home/hub/models--tester--one"
    assert pulled == {"path": f"{folder}/snapshots/{hub.head}", "commit": hub.head, "files": 4,
                      "fetched": 4, "bytes": sum(map(len, FILES.values())), "offline": False}
    assert contents(pulled["path"]) == FILES
    assert (folder / "refs/main").read_text() == hub.head
    assert sorted(os.listdir(folder / "blobs")) == sorted(
        (large_name if len(content) >= LARGE else git_name)(content) for content in FILES.values())
    link = os.readlink(f"{pulled['path']}/sub/naïve ü.txt")
    assert link == "../../../blobs/" + git_name(b"x\n")


def test_what_is_there_is_not_fetched_again(hub, env):
    report(env, "hub", "pull", "tester/one")
    before = len(hub.requests)
    again = report(env, "hub", "pull", "tester/one")
    assert again["fetched"] == again["bytes"] == 0
    assert [r[1] for r in hub.requests[before:]] == ["/api/models/tester/one/revision/main"]


def test_the_token_goes_to_the_hub_and_not_to_the_store(hub, env):
    succeed(env, "hub", "pull", "tester/one")
    assert all(r[2]["Authorization"] == f"Bearer {TOKEN}" for r in hub.asked("/resolve/|/api/"))
    assert hub.asked("GET /get/")
    assert all("Authorization" not in r[2] for r in hub.asked("GET /get/"))


def test_an_error_that_repeats_the_token_is_shown_without_it(hub, env):
    hub.faults = lambda handler, path: handler.answer(
        403, {"error": f"no rights for {handler.headers['Authorization']}"}) or True
    code, _, messages = run(env, "hub", "pull", "tester/one")
    assert code == 7 and "no rights for Bearer ****" in messages


def test_a_listing_in_pages_is_read_to_its_end_and_only_from_the_hub(hub, env):
    hub.page = 1
    assert report(env, "hub", "pull", "tester/one")["files"] == 4
    hub.commits += 1

    def elsewhere(handler, path):
        if "/tree/" in path:
            handler.answer(200, [handler.entry("config.json")],
                           Link=f'<{hub.store_address}/api/tree>; rel="next"')
        return "/tree/" in path
    hub.faults = elsewhere
    assert report(env, "hub", "pull", "tester/one")["files"] == 1


@pytest.mark.parametrize("words, names", [
    (["tester/one", "--include", "*.json"], {"config.json"}),
    (["tester/one", "--exclude", "*.safetensors", "--exclude", "sub/"],
     {"config.json", "empty.txt"}),
    (["tester/one", "config.json", "*.txt"], {"config.json", "empty.txt", "sub/naïve ü.txt"}),
    (["tester/one", "config.json", "--include", "*.safetensors"],
     {"config.json", "model.safetensors"}),
    (["hf://tester/one/sub"], {"sub/naïve ü.txt"}),
    (["hf://tester/one@main/*.txt"], {"empty.txt", "sub/naïve ü.txt"}),
    (["hf://tester/one/**/*.txt"], {"empty.txt", "sub/naïve ü.txt"}),
    (["hf://models/tester/one/model.safetensors"], {"model.safetensors"}),
])
def test_files_are_chosen_by_name_folder_and_pattern(hub, env, words, names):
    pulled = report(env, "hub", "pull", *words)
    snapshot = re.sub(r"(/snapshots/[0-9a-f]+).*", r"\1", pulled["path"])
    assert contents(snapshot) == {name: FILES[name] for name in names}
    assert pulled["path"].endswith({"hf://tester/one/sub": "/sub", "hf://models/tester/one/model."
                                    "safetensors": "/model.safetensors"}.get(words[0], hub.head))


def test_what_a_repository_lacks_is_named(hub, env):
    code, _, messages = run(env, "hub", "pull", "hf://tester/one/none.bin")
    assert code == 6 and 'tester/one@main has no file "none.bin"' in messages
    for words in (["none.bin"], ["config.json", "none.bin"], ["config.json", "*.none"]):
        code, out, messages = run(env, "hub", "pull", "tester/one", *words)
        assert code == 6 and f'tester/one@main has no file "{words[-1]}"' in messages and not out
    for words in (["--include", "*.none"], ["config.json", "--exclude", "*"]):
        code, out, messages = run(env, "hub", "pull", "tester/one", *words)
        assert code == 6 and "no file is left by --include and --exclude" in messages and not out
    code, _, messages = run({**env, "HF_TOKEN": ""}, "hub", "pull", "tester/two")
    assert code == 6 and "tester/two@main: 404" in messages and "athanor hub login" in messages


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_that_is_cut_goes_on_where_it_was(hub, env, ranges):
    """Within one command; a server without ranges sends all again."""
    hub.ranges, cuts = ranges, [1000, 5000]

    def send(handler, content, begin):
        if content != BIG or not cuts:
            return handler.wfile.write(content[begin:])
        handler.wfile.write(content[begin:begin + cuts.pop()])
        handler.wfile.flush()
        handler.connection.shutdown(2)
    hub.send = send
    pulled = report(env, "hub", "pull", "tester/one")
    assert contents(pulled["path"]) == FILES
    asked = [r[2].get("Range") for r in hub.asked("GET /get/")]
    assert asked == [None, "bytes=5000-", "bytes=6000-" if ranges else "bytes=1000-"]


def test_a_pull_that_was_killed_goes_on_in_the_next(hub, env, tmp_path):
    half, reached = len(BIG) // 2, threading.Event()

    def send(handler, content, begin):
        handler.wfile.write(content[begin:half] if content == BIG else content[begin:])
        handler.wfile.flush()
        if content == BIG:
            reached.set()
            time.sleep(30)
    hub.send = send
    child = start(env, "hub", "pull", "tester/one")
    unfinished = tmp_path / f"home/hub/models--tester--one/blobs/{large_name(BIG)}.incomplete"
    assert reached.wait(20)
    while not unfinished.exists() or unfinished.stat().st_size < half:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    hub.send = lambda handler, content, begin: handler.wfile.write(content[begin:])
    pulled = report(env, "hub", "pull", "tester/one")
    assert contents(pulled["path"]) == FILES and not unfinished.exists()
    assert hub.asked("GET /get/")[-1][2]["Range"] == f"bytes={half}-"
    assert pulled["bytes"] <= sum(map(len, FILES.values())) - half


def test_ctrl_c_stops_a_pull_at_once(hub, env):
    reached = threading.Event()

    def send(handler, content, begin):
        reached.set()
        time.sleep(30)
    hub.send = send
    child = start(env, "hub", "pull", "tester/one")
    assert reached.wait(20)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, messages = child.communicate(timeout=20)
    assert child.returncode == 13 and time.monotonic() - began < 15, messages


def test_what_an_earlier_download_left_wrong_is_loaded_anew(hub, env, tmp_path):
    blobs = tmp_path / "home/hub/models--tester--one/blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{large_name(BIG)}.incomplete").write_bytes(b"not this")
    (blobs / f"{git_name(b'{}')}.incomplete").write_bytes(b"longer than the file")
    assert contents(report(env, "hub", "pull", "tester/one")["path"]) == FILES


def test_bytes_with_the_wrong_checksum_are_refused(hub, env, tmp_path):
    hub.send = lambda handler, content, begin: handler.wfile.write(
        bytes(len(content) - begin) if content == BIG else content[begin:])
    code, _, messages = run(env, "hub", "pull", "tester/one")
    assert code == 4 and "model.safetensors" in messages and large_name(BIG) in messages
    assert len(hub.asked("GET /get/")) == 2  # a second time from the start, and no more
    assert large_name(BIG) not in os.listdir(tmp_path / "home/hub/models--tester--one/blobs")


@pytest.mark.parametrize("path", ["../out.txt", "/out.txt", "a/../../out.txt", "a//b", "./a"])
def test_names_that_lead_out_of_the_snapshot_are_refused(hub, env, tmp_path, path):
    hub.files = {path: b"x"}
    code, _, messages = run(env, "hub", "pull", "tester/one")
    assert code == 3 and "cannot be one here" in messages
    assert not list(tmp_path.rglob("out.txt"))


def test_without_a_server_the_cache_does(hub, env):
    first = report(env, "hub", "pull", "tester/one")
    hub.close()
    code, out, messages = run(env, "hub", "pull", "tester/one")
    assert (code, out.strip()) == (0, first["path"]) and "from the cache" in messages
    offline = report({**env, "HF_HUB_OFFLINE": "1"}, "hub", "pull", "tester/one")
    assert offline["path"] == first["path"] and offline["offline"]


def test_offline_what_the_cache_lacks_is_named_and_nothing_asked(hub, env):
    report(env, "hub", "pull", "tester/one", "config.json")
    before = len(hub.requests)
    off = {**env, "HF_HUB_OFFLINE": "1"}
    code, _, messages = run(off, "hub", "pull", "tester/one")
    assert code == 6 and "empty.txt is not in the cache" in messages
    assert report(off, "hub", "pull", "tester/one", "config.json")["files"] == 1
    assert run(off, "hub", "push", "tester/one", ATHANOR)[0] == 7
    assert len(hub.requests) == before


@pytest.mark.parametrize("what", ["listing", "file"])
def test_a_server_that_answers_in_drops_is_given_up(hub, env, what):
    """The listing within the deadline, though bytes move; a file where fewer move than a line has,
    however many tries it would take to get them all."""
    def drip(handler, content):
        for byte in content:
            handler.wfile.write(bytes([byte]))
            time.sleep(0.05)

    def faults(handler, path):
        if what == "file" or "/api/" not in path:
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        drip(handler, b" " * 1000000)
        return True
    hub.faults = faults
    hub.send = lambda handler, content, begin: drip(handler, content[begin:])
    began = time.monotonic()
    code, _, messages = run({**env, "ATHANOR_RETRY_SECONDS": "6", "ATHANOR_STALL_SECONDS": "1"},
                            "hub", "pull", "tester/one", "model.safetensors")
    assert code == 9 and "tester/one" in messages and "tries" in messages, messages
    assert time.monotonic() - began < 25


def test_two_pulls_at_once_fetch_each_file_once(hub, env):
    plain = hub.send

    def slowly(handler, content, begin):
        time.sleep(0.3)
        plain(handler, content, begin)
    hub.send = slowly
    children = [start(env, "hub", "pull", "tester/one") for _ in range(2)]
    assert [child.wait(30) for child in children] == [0, 0]
    assert len(hub.asked("GET /get/")) == 1


# --- push ------------------------------------------------------------------------------------


def test_what_differs_is_pushed_in_one_commit_and_the_rest_is_not_sent(hub, env, tmp_path):
    new = {"config.json": b'{"a": 1}', "other.bin": DRAW.randbytes(LARGE), "no.ignored": b"x"}
    folder = write(tmp_path / "model", {**FILES, **new, ".git/x": b"x", ".cache/y": b"y"})
    pushed = report(env, "hub", "push", "one", folder)
    del new["no.ignored"]
    assert hub.files == {**FILES, **new}
    assert pushed == {"id": "tester/one", "url": f"{hub.address}/c", "commit": hub.head,
                      "committed": True, "files": 2, "bytes": LARGE}
    assert len(hub.asked("POST .*/commit/")) == 1 and len(hub.asked("PUT ")) == 1
    again = report(env, "hub", "push", "one", folder)
    assert not again["committed"] and again["commit"] == hub.head
    assert len(hub.asked("POST .*/commit/")) == 1 and len(hub.asked("batch")) == 1


def test_a_file_and_a_folder_get_the_names_that_they_are_given(hub, env, tmp_path):
    write(tmp_path, {"a.txt": b"a", "d/b.txt": b"b", "d/c.md": b"c"})
    succeed(env, "hub", "push", "tester/one", tmp_path / "a.txt")
    succeed(env, "hub", "push", "tester/one", tmp_path / "a.txt", "x/y.txt", "--message", "words")
    succeed(env, "hub", "push", "hf://tester/one/z", tmp_path / "d", "--exclude", "*.md")
    assert hub.files == {**FILES, "a.txt": b"a", "x/y.txt": b"a", "z/b.txt": b"b"}
    assert any(b'"summary": "words"' in body for body in hub.bodies)


def test_a_commit_that_came_between_is_built_upon(hub, env, tmp_path):
    between = iter([True, True])

    def faults(handler, path):
        if "/commit/" in path and next(between, False):
            hub.commits += 1
            hub.files["other.txt"] = b"%d" % hub.commits
        return False
    hub.faults = faults
    pushed = report(env, "hub", "push", "tester/one", write(tmp_path / "m", {"new.txt": b"new"}))
    assert pushed["commit"] == hub.head and hub.files["new.txt"] == b"new"
    assert hub.files["other.txt"] == b"3" and len(hub.asked("POST .*/commit/")) == 3


def test_a_commit_whose_answer_was_lost_is_not_made_twice(hub, env, tmp_path):
    lost = iter([True])

    def faults(handler, path):
        if "/commit/" not in path or not next(lost, False):
            return False
        told, handler.wfile = handler.wfile, io.BytesIO()
        handler.api_commit(hub.bodies[-1], {}, "")
        handler.wfile = told
        handler.close_connection = True
        return True
    hub.faults = faults
    pushed = report(env, "hub", "push", "tester/one", write(tmp_path / "m", {"new.txt": b"new"}))
    assert hub.commits == 2 and pushed["commit"] == hub.head and pushed["committed"]


def test_a_push_that_was_killed_sends_only_the_rest_in_the_next(hub, env, tmp_path):
    files = {f"{i}.bin": DRAW.randbytes(LARGE + i) for i in range(4)}
    reached = threading.Event()

    def faults(handler, path):
        if path == f"/put/{large_name(files['2.bin'])}":
            reached.set()
            time.sleep(30)
        return False
    hub.faults = faults
    child = start(env, "hub", "push", "tester/one", write(tmp_path / "m", files))
    assert reached.wait(20)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    hub.faults = lambda handler, path: False
    before = len(hub.asked("PUT "))
    assert report(env, "hub", "push", "tester/one", tmp_path / "m")["files"] == 4
    assert len(hub.asked("PUT ")) - before == 2 and hub.files == {**FILES, **files}


def test_a_cache_that_cannot_be_written_serves_what_it_has(hub, env, tmp_path):
    report(env, "hub", "pull", "tester/one")
    refs = tmp_path / "home/hub/models--tester--one/refs"
    (refs / "main").unlink()
    refs.rmdir()
    refs.touch()  # no folder, not even for root
    code, out, messages = run(env, "hub", "pull", "tester/one")
    assert code == 0 and contents(out.strip()) == FILES
    assert messages.startswith("warning: ") and str(refs) in messages


def test_an_expired_address_is_asked_for_anew(hub, env, tmp_path):
    expired = iter([True])
    hub.faults = lambda handler, path: path.startswith("/put/") and next(expired, False) and (
        handler.answer(403, b"<Error>Request has expired</Error>") or True)
    content = DRAW.randbytes(2 * LARGE)
    succeed(env, "hub", "push", "tester/one", write(tmp_path / "m", {"a.bin": content}))
    assert hub.files["a.bin"] == content and len(hub.asked("batch")) == 2


def test_addresses_are_asked_for_again_as_long_as_that_brings_files_there(hub, env, tmp_path):
    """The addresses of one answer last for two files; the last file's is never good."""
    files, left = {f"{i}.bin": DRAW.randbytes(2 * LARGE + i) for i in range(7)}, [0]

    def faults(handler, path):
        left[0] = 2 if path.endswith("/batch") else left[0] - path.startswith("/put/")
        refused = left[0] < 0 or path == f"/put/{large_name(files['6.bin'])}"
        return refused and (handler.answer(403) or True)
    hub.faults = faults
    folder = write(tmp_path / "m", files)
    code, _, messages = run(env, "hub", "push", "tester/one", folder)
    assert code == 7 and "6.bin: 403" in messages and len(hub.asked("batch")) < 8
    (folder / "6.bin").unlink()
    puts = len(hub.asked("PUT "))
    succeed(env, "hub", "push", "tester/one", folder)
    assert len(hub.files) == len(FILES) + 6 and len(hub.asked("PUT ")) == puts


def test_two_hundred_files_each_way_under_random_faults(hub, env, tmp_path):
    """Cut connections, 429 and 5xx, before and within bodies; every byte is right in the end."""
    draw = random.Random(11)
    files = {f"{i % 7}/{i}.bin": draw.randbytes(draw.choice([0, 10, 1000, LARGE, 9 * LARGE]))
             for i in range(200)}
    plain, faulty = hub.send, []

    def faults(handler, path):
        chance = draw.random()
        if chance < 0.03:
            handler.close_connection = True
            handler.connection.shutdown(2)
        elif chance < 0.08:
            handler.answer(draw.choice([429, 500, 502, 503, 504, 408]), b"later")
        faulty.append(chance < 0.08)
        return faulty[-1]

    def send(handler, content, begin):
        if draw.random() > 0.1:
            return plain(handler, content, begin)
        faulty.append(True)
        handler.wfile.write(content[begin:begin + draw.randrange(len(content) - begin + 1)])
        handler.wfile.flush()
        handler.connection.shutdown(2)
    hub.faults, hub.send = faults, send
    patient = {**env, "ATHANOR_RETRY_SECONDS": "30"}
    pushed = report(patient, "hub", "push", "tester/one", write(tmp_path / "m", files))
    assert pushed["files"] == 200 and hub.files == {**FILES, **files}
    pulled = report(patient, "hub", "pull", "tester/one")
    assert pulled["files"] == 204 and contents(pulled["path"]) == {**FILES, **files}
    assert sum(faulty) > 30


# --- who -------------------------------------------------------------------------------------


def test_a_token_is_kept_once_the_hub_knows_it(hub, env, tmp_path):
    none = {k: v for k, v in env.items() if k != "HF_TOKEN"}
    assert run(none, "hub", "whoami")[0] == 7
    code, _, messages = run(none, "hub", "login", data="two words\n")
    assert code == 2 and "the token that was given is none" in messages
    code, _, messages = run(none, "hub", "login", data="hf_wrong\n")
    assert code == 7 and "hf_wrong" not in messages and not (tmp_path / "home/token").exists()
    out = succeed(none, "hub", "login", data=f"  {TOKEN}\r\n")
    assert "tester" in out and (tmp_path / "home/token").read_text() == TOKEN
    assert stat.S_IMODE(os.stat(tmp_path / "home/token").st_mode) == 0o600
    assert succeed(none, "hub", "whoami").startswith("tester")
    succeed(none, "hub", "logout")
    assert run(none, "hub", "whoami")[0] == 7 and "no token" in succeed(none, "hub", "logout")
