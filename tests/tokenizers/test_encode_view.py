"""`tokenizer encode --view`: the text cut at the offsets that the tokenizers library gives."""
import os
import pty
import re
import subprocess

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from driving import ATHANOR, lines_of, run, succeed

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def reference():
    words = ["[UNK]", "[CLS]", "[SEP]", "hello", "wor", "##ld", "!", "é", "x"]
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


@pytest.fixture
def path(reference, tmp_path):
    reference.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


TEXTS = ["hello  world!", "é é", "", "hello zebra x", " world "]


def test_bars_stand_where_tokens_begin(reference, path):
    lines = succeed("tokenizer", "encode", "--tokenizer", path, "--view", "--no-special-tokens",
                    data=lines_of(TEXTS)).decode().split("\n")[:-1]
    for text, line in zip(TEXTS, lines, strict=True):
        starts = [start for start, _ in reference.encode(text, add_special_tokens=False).offsets]
        cuts = sorted({0, *starts, len(text)})
        assert line.split("|") == ([text[a:b] for a, b in zip(cuts, cuts[1:])] or [""])


def test_special_tokens_are_shown_in_brackets(path):
    line = succeed("tokenizer", "encode", "--tokenizer", path, "--view", "x")
    assert line == b"<[CLS]>|x|<[SEP]>\n"


def test_bytes_that_steer_a_terminal_are_shown_as_numbers(path):
    line = succeed("tokenizer", "encode", "--tokenizer", path, "--view", "x \x1b[31m")
    assert b"\x1b" not in line and b"\\x1B|[|31m" in line


def at_a_terminal(path, text, **variables):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "", **variables}
    subprocess.run([ATHANOR, "tokenizer", "encode", "--tokenizer", path, "--view",
                    "--no-special-tokens", text], stdout=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    return shown


def test_a_terminal_gets_the_whole_text_in_colours(path):
    shown = at_a_terminal(path, "hello world! zebra")
    assert ESCAPE.sub("", shown) == "hello world! zebra\r\n"
    parts = re.findall(r"\x1b\[([0-9;]+)m([^\x1b]+)\x1b\[0m", shown)
    assert [part for _, part in parts] == ["hello", "wor", "ld", "!", "zebra"]
    colours = [colour for colour, _ in parts]
    assert all(a != b for a, b in zip(colours, colours[1:]))
    assert colours[-1] == "97;41", "the unknown word is red"


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_gets_bars(path, variables):
    assert at_a_terminal(path, "hello world", **variables) == "hello |wor|ld\r\n"


def test_files_are_encoded_in_turn(path, tmp_path):
    (tmp_path / "a").write_text("hello\nx\n")
    (tmp_path / "b").write_text("x x")
    data = succeed("tokenizer", "encode", "--tokenizer", path, "--no-special-tokens",
                   "--input", tmp_path / "a", "--input", "-", "--input", tmp_path / "b",
                   data=b"world")
    assert data.decode() == "hello\t3\nx\t8\nwor ##ld\t4 5\nx x\t8 8\n"


@pytest.mark.parametrize("words, part", [
    (["--input", "absent"], "absent: No such file"),
    (["--input", "src", "--format", "parquets"], "--format parquets: there are auto, text"),
    (["--view", "--json", "x"], "--view"), (["--input", "absent", "x"], "both TEXT and --input")])
def test_what_cannot_be_shown_or_read_is_refused(path, words, part):
    code, _, messages = run("tokenizer", "encode", "--tokenizer", path, *words)
    assert code != 0 and part in messages


def test_a_bad_line_is_told_with_its_file(path, tmp_path):
    (tmp_path / "bad").write_bytes(b"x\nx\xff\n")
    code, output, messages = run("tokenizer", "encode", "--tokenizer", path, "--input",
                                 tmp_path / "bad")
    assert code != 0 and "bad: line 2" in messages and output.startswith(b"[CLS] x")
