"""Beside the real huggingface_hub client, on the given stand-in for the Hub: what one pushes the
other pulls, one cache serves both, and answers like 429, 503 and 412 are lived with."""
import filecmp
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from little_hub import TOKEN, environment, report, run, start, succeed
from standing_in import MODEL, StandIn


@pytest.fixture
def stand_in(tmp_path, request):
    made = StandIn(tmp_path, *getattr(request, "param", []))
    yield made
    made.close()


@pytest.fixture
def env(stand_in, tmp_path):
    return environment(stand_in.address, tmp_path / "home")


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for path in MODEL.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "sub").mkdir()
    (folder / "sub/naïve ü.txt").write_text("x\n")
    (folder / "empty.txt").touch()
    return folder


def client(env, script):
    """The script, with the real client at hand; returns what it prints."""
    plain = {**env, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run([sys.executable, "-c", "from huggingface_hub import *\n" + script],
                          env=plain, text=True, capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def check_same(folder, other):
    names = sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*")
                   if p.is_file() and p.name != ".gitattributes")
    assert names == sorted(str(p.relative_to(other)) for p in pathlib.Path(other).rglob("*")
                           if p.is_file() and p.name != ".gitattributes")
    assert filecmp.cmpfiles(folder, other, names, shallow=False)[1:] == ([], [])


# --- both directions ---------------------------------------------------------------------------


@pytest.mark.parametrize("stand_in", [[], ["--part-size", "50000"]], indirect=True,
                         ids=["basic", "multipart"])
def test_what_we_push_the_real_client_pulls(stand_in, env, model, tmp_path):
    pushed = report(env, "hub", "push", "tester/one", model)
    path = client(env, f"print(snapshot_download('tester/one', cache_dir='{tmp_path}/other'))")
    check_same(path, model)
    assert path.endswith(pushed["commit"])
    assert len(stand_in.asked("POST /api/models/tester/one/commit/")) == 1
    assert len(stand_in.asked("PUT /_lfs/part/")) == (8 if stand_in.asked("/part/") else 0)


def test_what_the_real_client_pushes_we_pull(stand_in, env, model):
    client(env, f"""api = HfApi()
api.create_repo('tester/one')
api.upload_folder(folder_path='{model}', repo_id='tester/one')
api.create_repo('tester/texts', repo_type='dataset')
api.upload_file(path_or_fileobj=b'a\\n', path_in_repo='data/a.txt', repo_id='tester/texts',
                repo_type='dataset')""")
    check_same(succeed(env, "hub", "pull", "tester/one").strip(), model)
    text = succeed(env, "hub", "pull", "hf://datasets/tester/texts/data/a.txt").strip()
    assert pathlib.Path(text).read_text() == "a\n"


def test_a_private_repository_is_seen_with_a_token_only(stand_in, env, model):
    report(env, "hub", "push", "tester/one", model, "--private")
    code, _, messages = run({**env, "HF_TOKEN": ""}, "hub", "pull", "tester/one")
    assert code == 7 and "athanor hub login first" in messages
    report(env, "hub", "pull", "tester/one")


def test_what_the_other_pushed_is_not_sent_again(stand_in, env, model):
    report(env, "hub", "push", "tester/one", model)
    client(env, f"HfApi().upload_folder(folder_path='{model}', repo_id='tester/one')")
    assert len(stand_in.asked("/commit/")) == 1
    (model / "config.json").write_text("{}")
    client(env, f"HfApi().upload_folder(folder_path='{model}', repo_id='tester/one')")
    again = report(env, "hub", "push", "tester/one", model)
    assert not again["committed"] and len(stand_in.asked("/commit/")) == 2


# --- one cache ---------------------------------------------------------------------------------


def downloads(stand_in):
    return [r["path"] for r in stand_in.requests()
            if r["m"] == "GET" and ("/resolve/" in r["path"] or "/_cdn/" in r["path"])]


def test_neither_downloads_what_the_other_has(stand_in, env, model):
    report(env, "hub", "push", "tester/one", model)
    ours = report(env, "hub", "pull", "tester/one", "--include", "*.json")
    before = downloads(stand_in)
    theirs = client(env, "print(snapshot_download('tester/one', allow_patterns='*.json'))")
    assert theirs == ours["path"] and downloads(stand_in) == before
    client(env, "print(snapshot_download('tester/one'))")
    before = downloads(stand_in)
    assert report(env, "hub", "pull", "tester/one")["fetched"] == 0
    assert downloads(stand_in) == before
    check_same(ours["path"], model)


def test_the_real_client_finds_ours_offline_and_we_find_its(stand_in, env, model):
    report(env, "hub", "push", "tester/one", model)
    off = {**env, "HF_HUB_OFFLINE": "1"}
    ours = report(env, "hub", "pull", "tester/one")
    assert client(off, "print(snapshot_download('tester/one'))") == ours["path"]
    assert client(off, "print(hf_hub_download('tester/one', 'sub/naïve ü.txt'))").startswith(
        ours["path"])
    assert client(off, "print([r.repo_id for r in scan_cache_dir().repos])") == "['tester/one']"
    other = {**env, "HF_HOME": env["HF_HOME"] + "2"}
    theirs = client(other, "print(snapshot_download('tester/one'))")
    offline = report({**other, "HF_HUB_OFFLINE": "1"}, "hub", "pull", "tester/one")
    assert offline["path"] == theirs and offline["offline"]


def test_both_hold_the_same_locks(stand_in, env, model, tmp_path):
    """While the real client's lock is held we wait; and then take what came meanwhile."""
    report(env, "hub", "push", "tester/one", model)
    blob = next(r for r in json.loads(client(env, """import json
print(json.dumps([f.blob_id for f in HfApi().list_repo_tree('tester/one') if f.path ==
'config.json']))""")))
    lock = pathlib.Path(env["HF_HOME"]) / f"hub/.locks/models--tester--one/{blob}.lock"
    lock.parent.mkdir(parents=True)
    holder = subprocess.Popen([sys.executable, "-c", f"""import filelock, sys
with filelock.FileLock(r'{lock}'):
    print('held', flush=True)
    sys.stdin.read()"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    child = start(env, "hub", "pull", "tester/one", "config.json")
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(1)
    assert not downloads(stand_in)
    holder.communicate("")
    assert child.wait(20) == 0 and len(downloads(stand_in)) == 1


def test_a_token_that_we_keep_the_real_client_uses_and_the_other_way(stand_in, env):
    none = {k: v for k, v in env.items() if k != "HF_TOKEN"}
    succeed(none, "hub", "login", data=TOKEN + "\n")
    assert client(none, "print(HfApi().whoami()['name'], get_token() == '%s')" % TOKEN
                  ) == "tester True"
    assert client(none, "from huggingface_hub.utils import get_stored_tokens\n"
                        "print(get_stored_tokens() == {'t': '%s'})" % TOKEN) == "True"
    client(none, "logout()")
    assert run(none, "hub", "whoami")[0] == 7
    client(none, f"login(token='{TOKEN}')")
    assert succeed(none, "hub", "whoami").startswith("tester")
    succeed(none, "hub", "login", data=TOKEN + "\n")  # in the place of the other's of that name
    assert client(none, "from huggingface_hub.utils import get_stored_tokens\n"
                        "print(len(get_stored_tokens()))") == "1"
    succeed(none, "hub", "logout")
    assert client(none, "print(get_token())") == "None"


# --- models by their names ---------------------------------------------------------------------


def test_a_model_on_the_hub_is_used_by_its_name(stand_in, env, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the river runs under the old bridge\n" * 60)
    made = tmp_path / "made"
    succeed(env, "tokenizer", "train", "--vocab-size", 40, "--input", text, "--output", made / "t")
    succeed(env, "data", "prepare", "--tokenizer", made / "t", "--input", text, "--max-length", 16,
            "--output", made / "d")
    succeed(env, "train", "--tokenizer", made / "t", "--train-dataset", made / "d/train",
            "--output-dir", made / "m", "--hidden-size", 8, "--num-hidden-layers", 1,
            "--num-attention-heads", 2, "--intermediate-size", 16, "--max-steps", 2, "--threads", 1)
    succeed(env, "hub", "push", "tester/one", made / "m", "--exclude", "checkpoint-*")
    succeed(env, "hub", "push", "hf://datasets/tester/shards", made / "d/train")
    question = ["--json", "the [MASK] runs"]
    assert succeed(env, "fill-mask", "--model", "tester/one", *question) == succeed(
        env, "fill-mask", "--model", made / "m", *question)
    fetched = [path.rsplit("/", 1)[1] for path in downloads(stand_in)]
    assert "config.yaml" not in fetched and "config.json" in fetched
    assert succeed(env, "eval", "--model", "hf://tester/one@main", "--data",
                   "hf://datasets/tester/shards", "--json") == succeed(
        env, "eval", "--model", made / "m", "--data", made / "d/train", "--json")
    succeed(env, "train", "--model-name-or-path", "tester/one", "--train-dataset",
            "tester/shards", "--output-dir", made / "n", "--max-steps", 1, "--threads", 1)
    (tmp_path / "tester").mkdir()
    os.symlink(made / "t", tmp_path / "tester/one")  # what is there goes first
    before = len(stand_in.requests())
    succeed(env, "tokenizer", "info", "--tokenizer", "tester/one", cwd=tmp_path)
    assert len(stand_in.requests()) == before


def test_text_on_the_hub_is_read_by_file_folder_and_pattern(stand_in, env, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in "abc":
        (texts / f"{name}.txt").write_text(f"the {name} stands near the old bridge\n" * 40)
    succeed(env, "hub", "push", "hf://datasets/tester/words/data", texts)
    for given, local in [("data/a.txt", ["a"]), ("data", "abc"), ("data/[ab].txt", "ab")]:
        made = [succeed(env, "tokenizer", "train", "--vocab-size", 40, "--output", tmp_path / "t",
                        *[word for path in paths for word in ("--input", path)])
                and (tmp_path / "t/tokenizer.json").read_text()
                for paths in ([f"hf://datasets/tester/words/{given}"],
                              [texts / f"{name}.txt" for name in local])]
        assert made[0] == made[1]


def test_a_name_that_is_neither_here_nor_there_is_told_so(env, tmp_path):
    code, _, messages = run(env, "fill-mask", "--model", "tester/none", "a", cwd=tmp_path)
    assert code == 6
    assert "tester/none: no such file or folder here, and as a name on the Hub: " in messages


# --- faults ------------------------------------------------------------------------------------

FAULTS = [word for fault in ["POST .*create:503:1", "POST .*preupload:429:1",
                             "POST .*batch:503:1", "PUT /_lfs/put:500:2", "PUT /_lfs/part:503:1",
                             "POST .*verify:503:1", "POST .*commit:503:1", "POST .*commit:412:2",
                             "GET .*tree:429:1", "GET .*resolve:503:2", "GET /_cdn:500:1"]
          for word in ("--fail", fault)]


@pytest.mark.parametrize("stand_in", [FAULTS, [*FAULTS, "--part-size", "50000"]], indirect=True,
                         ids=["basic", "multipart"])
def test_faults_on_the_way_are_lived_with(stand_in, env, model, tmp_path):
    patient = {**env, "ATHANOR_RETRY_SECONDS": "20"}
    pushed = report(patient, "hub", "push", "tester/one", model)
    pulled = report(patient, "hub", "pull", "tester/one")
    assert pulled["commit"] == pushed["commit"]
    check_same(pulled["path"], model)
    statuses = [r["status"] for r in stand_in.requests()]
    assert statuses.count(412) == 2 and {429, 500, 503} <= set(statuses)
    assert [r["status"] for r in stand_in.asked("/commit/")] == [503, 412, 412, 200]


@pytest.mark.parametrize("stand_in", [["--fail", "GET /api/models:429:1"]], indirect=True)
def test_as_long_is_waited_as_the_hub_says(stand_in, env, model):
    began = time.monotonic()
    run(env, "hub", "pull", "tester/none")  # its Retry-After is a second
    assert 1 <= time.monotonic() - began < 15


@pytest.mark.parametrize("stand_in", [["--fail", "GET .*revision:404:1"],
                                      ["--fail", "POST .*commit:403:9"]], indirect=True)
def test_what_cannot_be_helped_is_told_after_one_try(stand_in, env, model):
    code, _, messages = run(env, "hub", "push", "tester/one", model)
    refused = stand_in.asked("/commit/")
    assert code == (7 if refused and refused[-1]["status"] == 403 else 0), messages
    assert len(refused) == 1
