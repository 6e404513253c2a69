"""One text in every form that can be read: the same documents, tokenizer and shards from each."""
import bz2
import csv
import gzip
import json
import lzma
import os
import pathlib
import random
import re
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ATHANOR = os.environ["ATHANOR"]
RESUME = pathlib.Path(os.environ["ATHANOR_PROGRAMS"], "readers_program_resume")
DUCKDB = next(pathlib.Path(pa.__file__).parents[1].glob("_duckdb*.so"))
ENVIRONMENT = os.environ | {"ATHANOR_DUCKDB": str(DUCKDB)}


def athanor(*words, code=0, data=None, env=ENVIRONMENT):
    done = subprocess.run([ATHANOR, *map(str, words)], input=data, capture_output=True,
                          timeout=120, env=env)
    assert done.returncode == code, done.stderr.decode()
    return done


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(11)
    words = 'river "stone" a,b naïve 山 tab\\there 🏔 x; = 1.5 house [MASK]'.split()
    return ["".join(rng.choices(["", " "])) + " ".join(rng.choices(words, k=rng.randrange(1, 40)))
            for _ in range(900)]


def as_csv(path, texts):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["n", "text"], *enumerate(texts)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, texts):
    """The forms, each in a file of its own."""
    path = tmp_path_factory.mktemp("forms")
    plain = "".join(text + "\n" for text in texts).encode()
    (path / "a.txt").write_bytes(plain)
    (path / "cr.txt").write_bytes(plain.replace(b"\n", b"\r"))
    for name, pack in PACKERS.items():
        (path / f"a.txt.{name}").write_bytes(pack(plain[:9000]) + pack(plain[9000:]))
    jsonl = "".join(json.dumps({"n": n, "text": text}) + "\n" for n, text in enumerate(texts))
    (path / "a.jsonl").write_text(jsonl)
    (path / "a.jsonl.zst").write_bytes(zstd(jsonl.encode()))
    as_csv(path / "a.csv", texts)
    (path / "a.csv.gz").write_bytes(gzip.compress((path / "a.csv").read_bytes()))
    (path / "a.tsv").write_text("n\ttext\n" + "".join(f"{n}\t{t}\n" for n, t in enumerate(texts)))
    table = pa.table({"n": range(len(texts)), "text": texts})
    pq.write_table(table, path / "a.parquet", row_group_size=250, compression="zstd")
    return path


FORMS = ["a.txt", "cr.txt", *(f"a.txt.{name}" for name in PACKERS), "a.jsonl", "a.jsonl.zst",
         "a.csv", "a.csv.gz", "a.tsv", "a.parquet"]


def shown(*words, **more):
    lines = athanor("data", "show", "--json", *words, **more).stdout.decode().split("\n")
    return [json.loads(line)["text"] for line in lines[:-1]]


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_documents(folder, texts, name):
    assert shown(folder / name) == texts


@pytest.mark.parametrize("text,label", [(0, 3), (3, 0), (1, 2)])
def test_fields_of_several_lines_are_read_wherever_they_stand(tmp_path, text, label):
    rng = random.Random(text)
    rows = [["".join(rng.choices(['"', "\n", "\r\n", ",", "a", "ß"], k=rng.randrange(6)))
             for _ in range(4)] for _ in range(600)]
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_MINIMAL).writerows([list("abcd"), *rows])
    lines = athanor("data", "show", "--json", tmp_path / "a.csv", "--text-column", "abcd"[text],
                    "--label-column", "abcd"[label]).stdout.decode().split("\n")[:-1]
    read = [(line["text"], line["label"]) for line in map(json.loads, lines)]
    assert read == [(row[text], row[label]) for row in rows]


def test_a_row_is_cut_once_however_many_of_its_fields_go_over_a_line(tmp_path):
    count = 200_000  # cutting all again at each line would take a quarter of an hour
    (tmp_path / "a.csv").write_text('"\n' + '","\n' * count + '"\n')
    assert shown(tmp_path / "a.csv", "--no-header", "--text-column", 60_000) == ["\n"]


def test_standard_input_folders_and_patterns_are_read(folder, texts, tmp_path):
    assert shown("-", data=(folder / "a.txt.xz").read_bytes()) == texts
    assert shown("-", "--format", "csv", data=(folder / "a.csv").read_bytes()) == texts
    (tmp_path / "in/deep").mkdir(parents=True)
    for name, data in {"in/b": b"2", "in/a.txt": b"1", "in/deep/c": b"3", "in/_SUCCESS": b"no",
                       "in/.hidden": b"no"}.items():
        (tmp_path / name).write_bytes(data)
    assert shown(tmp_path / "in") == ["1", "2", "3"]
    assert shown(tmp_path / "in/*") == ["no", "1", "2", "3"]
    assert shown(tmp_path / "in/**/[bc]") == ["2", "3"]  # as glob in Python: here or further down
    assert shown(tmp_path / "**/deep/*") == ["3"]


def test_messages_name_an_input_as_it_was_given(tmp_path):
    done = athanor("data", "show", "-", data=b"a\n\xff\n", code=3)
    assert done.stdout == b"standard input:1: a\n"
    assert b"athanor: standard input: line 2, column 1: " in done.stderr


def test_datasets_of_the_hub_s_cache_are_read(tmp_path):
    repository, commit = tmp_path / "hub/datasets--me--d", "0123456789abcdef" * 2 + "01234567"
    files = {"README.md": "no", "data/train-0.csv": "text\na\n", "data/test-0.csv": "text\nb\n"}
    for name, data in {"refs/main": commit,
                       **{f"snapshots/{commit}/{n}": data for n, data in files.items()}}.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(data)
    env = ENVIRONMENT | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    assert shown("hf://datasets/me/d", env=env) == ["b", "a"]
    assert shown("hf://datasets/me/d/data/test-0.csv", env=env) == ["b"]
    (repository / f"snapshots/{commit}/data/train-0.csv").write_bytes(b"text\n\xff\n")
    done = athanor("data", "show", "hf://datasets/me/d", env=env, code=3)
    assert done.stdout == b"hf://datasets/me/d/data/test-0.csv:2: b\n"
    assert b"athanor: hf://datasets/me/d/data/train-0.csv: line 2" in done.stderr


def test_queries_are_read_in_their_order(folder, texts):
    query = f"SELECT text FROM '{folder}/a.parquet' WHERE n % 2 = 0 ORDER BY n DESC;"
    assert shown("--sql", query) == texts[::2][::-1]
    assert shown("--sql", f"SELECT text FROM read_json('{folder}/a.jsonl')") == texts
    wrong = athanor("data", "show", "--sql", "SELECT x FROM nowhere", code=3).stderr.decode()
    assert "DuckDB" in wrong and "nowhere" in wrong
    for query, near in (("SELEC text", "SELEC"), ("SELECT 'a' FORM 3;", "3")):
        wrong = athanor("data", "show", "--sql", query, code=3).stderr.decode()
        assert f'syntax error at or near "{near}"' in wrong


@pytest.mark.parametrize("text", ['[{"text": "a"}, {"text": "b"}]\n', '[\n  {"text": "a"}\n]\n'])
def test_who_has_an_array_is_told_how_its_rows_are_read(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    advice = athanor("data", "show", tmp_path / "a.json", code=3).stderr.decode()
    assert "not an object on each line, --sql" in advice
    query = re.search('--sql "(.*)" takes', advice)[1].replace("…", str(tmp_path / "a.json"))
    assert shown("--sql", query) == [row["text"] for row in json.loads(text)]


@pytest.mark.parametrize("name, how", [
    *((name, "rows") for name in FORMS), ("a.txt.gz", "block"), ("a.jsonl", "skip"),
    ("a.parquet", "sql")])
def test_reading_goes_on_from_the_place_of_a_document(folder, texts, name, how):
    what = folder / name if how != "sql" else f"SELECT text FROM '{folder / name}'"
    count = len(texts)
    done = subprocess.run([RESUME, what, how], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=300)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) == (1 if how == "block" else count)


def shards(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.tfrecord")}


def test_every_form_makes_the_same_tokenizer_and_shards(folder, texts, tmp_path):
    made = {}
    for number, name in enumerate(("a.txt", "a.txt.bz2", "a.csv.gz", "a.jsonl.zst", "a.parquet")):
        tokenizer, output = tmp_path / name / "tokenizer", tmp_path / name / "data"
        athanor("tokenizer", "train", "--vocab-size", 120, "--input", folder / name, "--output",
                tokenizer, "--threads", 1 + number % 2)
        athanor("data", "prepare", "--tokenizer", tokenizer, "--input", folder / name, "--output",
                output, "--max-length", 32, "--shard-size", 50, "--threads", 1 + number % 2)
        made[name] = (tokenizer / "tokenizer.json").read_bytes(), shards(output)
    assert all(each == made["a.txt"] for each in made.values())
    ids = {name: athanor("tokenizer", "encode", "--tokenizer", tmp_path / "a.txt/tokenizer",
                         "--input", folder / name).stdout for name in made}
    assert len(ids["a.txt"].splitlines()) >= len(texts)
    assert all(each == ids["a.txt"] for each in ids.values())


def test_skipped_documents_are_counted_also_after_an_interruption(folder, texts, tmp_path):
    lines = (folder / "a.jsonl").read_text().splitlines()
    for at in (3, 400, 850):
        lines[at] = lines[at][:-3]
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    tokenizer = tmp_path / "tokenizer"
    athanor("tokenizer", "train", "--vocab-size", 120, "--input", folder / "a.txt", "--output",
            tokenizer)
    job = ["data", "prepare", "--tokenizer", tokenizer, "--input", tmp_path / "bad.jsonl",
           "--max-length", 32, "--json", "--output", tmp_path / "data"]
    wrong = athanor(*job, code=3).stderr.decode()
    assert "bad.jsonl: line 4, column " in wrong and wrong.count("athanor:") == 1
    report = json.loads(athanor(*job, "--on-error", "skip", "--overwrite").stdout)
    assert report["skipped"] == 3 and report["lines"] == len(texts) - 3
    again = json.loads(athanor(*job, "--on-error", "skip").stdout)
    assert again["skipped"] == 3
    assert "reading" in athanor(*job, code=5).stderr.decode()


def test_markup_is_left_out_where_asked(tmp_path):
    wiki = ('<doc id="1" url="u" title="T">\nT\n\nText one .\n</doc>\n'
            '<doc id="2" url="u" title="S">\nS\n</doc>\n')
    text = " \n = Title = \n \n Body = x . \n = = Part = = \n <unk> @-@ \n"
    (tmp_path / "wiki_00").write_text(wiki)
    (tmp_path / "wiki.tokens").write_text(text)
    assert shown(tmp_path / "wiki_00") == wiki.splitlines()
    assert shown(tmp_path / "wiki_00", "--drop-markup") == ["T", "", "Text one .", "S"]
    assert shown(tmp_path / "wiki_00", "--drop-markup", "--documents", "block") == [
        "T", "Text one .", "S"]
    assert shown(tmp_path / "wiki.tokens", "--drop-markup") == [
        " ", " ", " Body = x . ", " <unk> @-@ "]
    assert b"--drop-markup" in athanor("data", "show", tmp_path / "wiki_00").stderr


def test_glue_s_quotes_are_characters(tmp_path):
    (tmp_path / "cola.tsv").write_text('gj04\t1\t\t" b c\ngj04\t0\t*\t a"\n')
    done = athanor("data", "show", "--json", "--no-header", "--text-column", 4, "--label-column", 2,
                   tmp_path / "cola.tsv")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["text"], row["label"]) for row in rows] == [('" b c', "1"), (' a"', "0")]


@pytest.mark.parametrize("words, code, part", [
    (["a.parquet", "--text-column", "txt"], 3, 'there are: "n", "text" (text); --text-column'),
    (["a.csv", "--text-column", "txt"], 3, 'no column is named "txt"; there are: "n", "text"'),
    (["a.jsonl", "--text-column", "txt"], 3, 'no member "txt"; there are: "n", "text"'),
    (["a.jsonl", "--text-column", "n"], 3, '"n" is no string'),
    (["a.csv", "--documents", "line"], 2, "its documents are its rows"),
    (["a.txt", "--documents", "row"], 2, "has no rows"),
    (["a.txt", "--format", "xml"], 2, "there are auto, text, jsonl"),
    (["a.txt", "--sql", "SELECT 1"], 2, "both files and --sql"),
    (["gs.txt.gz"], 4, "its name says gzip, but it does not begin"),
    (["cut.zst"], 4, "cut short"), (["cut.xz"], 4, "cut short"), (["cut.bz2"], 4, "cut short"),
    (["bad.bz2"], 4, "line 1, column 1: near byte"), (["none"], 6, "none: No such file")])
def test_faults_say_what_is_wrong_and_what_to_do(folder, words, code, part):
    (folder / "gs.txt.gz").write_text("plain")
    for name in ("zst", "xz", "bz2"):
        (folder / f"cut.{name}").write_bytes((folder / f"a.txt.{name}").read_bytes()[:300])
    damaged = bytearray((folder / "a.txt.bz2").read_bytes())
    damaged[200] ^= 255
    (folder / "bad.bz2").write_bytes(damaged)
    done = athanor("data", "show", folder / words[0], *words[1:], code=code)
    assert part in done.stderr.decode()
    for name in ("gs.txt.gz", "cut.zst", "cut.xz", "cut.bz2", "bad.bz2"):
        (folder / name).unlink()


def test_without_duckdb_it_is_said_how_to_get_it(folder, tmp_path):
    nowhere = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path),
               "VIRTUAL_ENV": str(tmp_path)}
    done = athanor("data", "show", folder / "a.parquet", code=11, env=nowhere).stderr.decode()
    assert "athanor plugins install duckdb" in done and "ATHANOR_DUCKDB" in done
    nowhere["ATHANOR_DUCKDB"] = str(tmp_path / "none.so")
    done = athanor("data", "show", folder / "a.parquet", code=6, env=nowhere).stderr.decode()
    assert "none.so: no such file" in done
