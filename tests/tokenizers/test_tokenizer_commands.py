"""The tokenizer commands: what they print, and how they end."""
import json

import pytest

from driving import run, succeed


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    pieces = [["[CLS]", 0], ["[SEP]", 0], ["<unk>", 0], ["▁", -3], ["▁a", -1], ["b", -1]]
    special = {"normalized": False, "special": True}
    token = lambda name, i: {"id": name, "ids": [i], "tokens": [name]}
    part = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    text = lambda name: {"Sequence": {"id": name, "type_id": 0}}
    metaspace = {"type": "Metaspace", "replacement": "▁"}
    (folder / "tokenizer.json").write_text(json.dumps({
        "added_tokens": [dict(special, id=i, content=pieces[i][0]) for i in range(3)],
        "pre_tokenizer": metaspace, "decoder": metaspace,
        "post_processor": {"type": "TemplateProcessing",
                           "single": [part("[CLS]"), text("A"), part("[SEP]")],
                           "pair": [text("A"), text("B")],
                           "special_tokens": {"[CLS]": token("[CLS]", 0),
                                              "[SEP]": token("[SEP]", 1)}},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": pieces}}))
    return folder


def test_encode_prints_tokens_and_ids_of_each_text(tokenizer):
    output = succeed("tokenizer", "encode", "--tokenizer", tokenizer, "ab a", "")
    assert output.decode() == "[CLS] ▁a b ▁a [SEP]\t0 4 5 4 1\n[CLS] [SEP]\t0 1\n"


def test_encode_reads_lines_of_standard_input(tokenizer):
    output = succeed("tokenizer", "encode", "--tokenizer", tokenizer, "--no-special-tokens",
                     data=b"ab\r\n\na\tb")
    assert output.decode() == "▁a b\t4 5\n\n▁a \\x09 b\t4 2 5\n"


def test_encode_json_has_offsets_in_code_points(tokenizer):
    output = succeed("tokenizer", "encode", "--tokenizer", tokenizer, "--json", "a😀b")
    assert json.loads(output) == {
        "ids": [0, 4, 2, 5, 1], "tokens": ["[CLS]", "▁a", "😀", "b", "[SEP]"],
        "offsets": [[0, 0], [0, 1], [1, 2], [2, 3], [0, 0]]}


def test_decode_takes_ids_as_words_or_lines(tokenizer):
    assert succeed("tokenizer", "decode", "--tokenizer", tokenizer, 4, 5, 4) == b"ab a\n"
    output = succeed("tokenizer", "decode", "--tokenizer", tokenizer, "--skip-special-tokens",
                     data=b"[0, 4, 5, 1]\n\n4 4\n")
    assert output == b"ab\n\na a\n"


def test_info_shows_size_and_special_tokens(tokenizer):
    output = succeed("tokenizer", "info", "--tokenizer", tokenizer / "tokenizer.json").decode()
    assert "tokens: 6\n" in output and "[CLS] = 0" in output and "mask  none" in output


def test_info_lists_special_tokens_that_have_no_role(tmp_path):
    (tmp_path / "text.txt").write_text("ab ba abc\n" * 9)
    names = [f"<{n}>" for n in range(12)]
    succeed("tokenizer", "train", "--model", "bpe", "--vocab-size", 280, "--special-tokens",
            ",".join(names), "--input", tmp_path / "text.txt", "--output", tmp_path / "made")
    output = succeed("tokenizer", "info", "--tokenizer", tmp_path / "made").decode()
    assert "  other <0> = 5\n" in output and "        <9> = 14\n        and 2 more\n" in output
    answer = json.loads(succeed("tokenizer", "info", "--json", "--tokenizer", tmp_path / "made"))
    assert answer["other_special"] == list(range(5, 17))


@pytest.mark.parametrize("arguments, code, part", [
    (["encode", "a"], 2, "--tokenizer"),
    (["encode", "--tokenizer", "/nonexistent", "a"], 6, "/nonexistent"),
    (["decode", "--tokenizer", "TOKENIZER", "4x"], 3, '"4x" is not an id'),
    (["decode", "--tokenizer", "TOKENIZER", "4", "99"], 3, "no token 99 (number 2 of"),
    (["train", "--special-tokens", "<a>,,<b>", "--input", "a", "--output", "b"], 2,
     "special token 2 of those given must be UTF-8, and not empty"),
    (["train", "--model", "nonsense", "--input", "a", "--output", "b"], 2, "--model nonsense"),
    (["train", "--input", "/nonexistent.txt", "--output", "b"], 6, "/nonexistent.txt"),
])
def test_faults_have_one_line_and_an_exit_code(arguments, code, part, tokenizer):
    arguments = [str(tokenizer) if a == "TOKENIZER" else a for a in arguments]
    got, output, messages = run("tokenizer", *arguments)
    assert (got, output) == (code, b"")
    assert part in messages.splitlines()[-1]
