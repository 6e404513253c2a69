"""`tokenizer bench` encodes every line of its file once, whatever the number of threads."""
import json
import random

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from driving import run, succeed


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    made = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "[CLS]": 2, "[SEP]": 3}, "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.save(str(folder / "tokenizer.json"))
    return folder


def bench(tokenizer, path, *options):
    return json.loads(succeed("tokenizer", "bench", "--tokenizer", tokenizer, "--input", path,
                              "--json", *options))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("last", ["", "\n", "\r\n", "\n\n"])
def test_every_line_is_encoded_once(tokenizer, tmp_path, threads, last):
    draw = random.Random(5)
    lines = ["a " * draw.choice([0, 0, 1, 5, 40, 3000]) + "b" for _ in range(700)]
    lines += ["a " * 200000, "é a", ""] + ["" for _ in range(300)] + ["a"]
    path = tmp_path / "text.txt"
    path.write_bytes(("\n".join(lines) + last).encode())
    texts = ("\n".join(lines) + last).split("\n")
    texts = texts[:-1] if texts[-1] == "" else texts
    tokens = sum(len(text.split()) + 2 for text in texts)
    for options in [], ["--offsets"]:
        found = bench(tokenizer, path, "--threads", threads, *options)
        assert set(found) == {"bytes", "tokens", "seconds", "processor_seconds", "mb_per_s",
                              "load_ms"}
        assert found["bytes"] == path.stat().st_size and found["tokens"] == tokens
        assert found["seconds"] > 0 and found["load_ms"] > 0
        assert 0 < found["processor_seconds"] < threads * found["seconds"] + 0.01
        assert found["mb_per_s"] == pytest.approx(found["bytes"] / found["seconds"] / 1e6, rel=0.01)


def test_faults_name_the_file_and_the_place(tokenizer, tmp_path):
    path = tmp_path / "text.txt"
    command = ("tokenizer", "bench", "--tokenizer", tokenizer, "--input", path)
    for data, code, part in [(None, 6, "text.txt"), (b"", 3, "empty"),
                             (b"a\nb \xff\n", 3, "text.txt: the line at byte 2: invalid UTF-8")]:
        if data is not None:
            path.write_bytes(data)
        got, output, messages = run(*command)
        assert (got, output) == (code, b"") and part in messages.splitlines()[-1]
