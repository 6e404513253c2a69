"""What `tokenizer encode` gives with its options, beside the tokenizers library set the same way;
`tokenizer info` on every kind of model."""
import json

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from driving import lines_of, run, succeed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "fox", "##es", "run", "##s", "é", ",", "dog"]
TEXTS = ["The foxes run, the dog runs", "", "été", "fox, fox, foxes dog the the run fox dog"]


@pytest.fixture(scope="module")
def reference():
    ids = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


@pytest.fixture
def files(reference, tmp_path):
    reference.no_truncation()
    reference.no_padding()
    reference.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def members_of(encoding):
    return {"ids": encoding.ids, "tokens": encoding.tokens,
            "offsets": [list(o) for o in encoding.offsets], "type_ids": encoding.type_ids,
            "word_ids": encoding.word_ids, "sequence_ids": encoding.sequence_ids,
            "special_tokens_mask": encoding.special_tokens_mask,
            "attention_mask": encoding.attention_mask}


def object_of(encoding, windows):
    found = members_of(encoding)
    if windows and encoding.overflowing:
        found["overflowing"] = [members_of(e) for e in encoding.overflowing]
    return found


@pytest.mark.parametrize("pair", [None, "the dog"])
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("length, stride, windows, padding", [
    (0, 0, False, 0), (8, 0, False, 0), (8, 0, True, 0), (8, 1, True, 0), (0, 0, False, 11),
    (9, 2, True, 9), (8, 1, True, 12),
])
def test_objects_are_those_of_the_reference(reference, files, pair, special, length, stride,
                                            windows, padding):
    if length > 0:
        reference.enable_truncation(length, stride=stride)
    if padding > 0:
        reference.enable_padding(length=padding, pad_id=0, pad_token="[PAD]")
    options = ["--json", "--details", *(["--windows"] if windows else []),
               *(["--pair", pair] if pair else []), *([] if special else ["--no-special-tokens"]),
               "--max-length", length, "--stride", stride, "--padding", padding]
    output = succeed("tokenizer", "encode", "--tokenizer", files, *options, data=lines_of(TEXTS))
    ours = [json.loads(line) for line in output.decode().splitlines()]
    theirs = [object_of(reference.encode(text, pair, add_special_tokens=special), windows)
              for text in TEXTS]
    assert ours == theirs


def test_lines_show_windows_offsets_and_padding(files):
    output = succeed("tokenizer", "encode", "--tokenizer", files, "--offsets", "--max-length", 4,
                     "--windows", "--padding", 4, "fox cat the")
    assert output.decode() == ("[CLS] fox [UNK] [SEP]\t2 5 1 3\t0-0 0-3 4-7 0-0\n"
                               "[CLS] the [SEP] [PAD]\t2 4 3 0\t0-0 8-11 0-0 0-0\n")


@pytest.mark.parametrize("data", [b"fox \xff dog", b"\xe2\x82fox", b"\xf0\x9f\x98 dog\xc0\x80"])
def test_invalid_bytes_are_replaced_where_asked_for(reference, files, data):
    command = ("tokenizer", "encode", "--tokenizer", files, "--json")
    ours = json.loads(succeed(*command, "--replace-invalid", data=data))
    theirs = reference.encode(data.decode("utf-8", "replace"))
    assert (ours["ids"], ours["offsets"]) == (theirs.ids, [list(o) for o in theirs.offsets])
    code, _, messages = run(*command, data=data)
    assert code == 3 and "invalid UTF-8" in messages


@pytest.mark.parametrize("options, code, part", [
    (["--details"], 2, "--json"),
    (["--windows"], 2, "--max-length"),
    (["--stride", 3], 2, "--max-length"),
    (["--max-length", 1], 3, "special tokens"),
    (["--max-length", 6, "--stride", 4], 3, "stride"),
    (["--max-length", -1], 2, "between 0"),
])
def test_options_that_do_not_fit_are_refused(files, options, code, part):
    got, output, messages = run("tokenizer", "encode", "--tokenizer", files, *options, "fox")
    assert (got, output) == (code, b"") and part in messages.splitlines()[-1]


def test_padding_needs_a_token(tmp_path):
    Tokenizer(models.WordLevel({"a": 0}, "a")).save(str(tmp_path / "tokenizer.json"))
    code, _, messages = run("tokenizer", "encode", "--tokenizer", tmp_path, "--padding", 4, "a")
    assert code == 11 and "no padding token" in messages


# --- info ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model, name", [
    (models.WordPiece({"[UNK]": 0, "a": 1, "##béé": 2}), "WordPiece"),
    (models.BPE({"a": 0, "béé##": 1, "[UNK]": 2}, []), "BPE"),
    (models.WordLevel({"a": 0, "béé##": 1, "[UNK]": 2}, "[UNK]"), "WordLevel"),
    (models.Unigram([("a", -1.0), ("béé##", -2.0), ("[UNK]", 0.0)], 2), "Unigram"),
])
def test_info_of_every_kind_of_model(tmp_path, model, name):
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens(["[UNK]", "<s>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    info = json.loads(succeed("tokenizer", "info", "--tokenizer", tmp_path, "--json"))
    assert info["pipeline"] == {"normalizer": "none", "pre_tokenizer": "none", "model": name,
                                "post_processor": "none", "decoder": "none"}
    assert (info["tokens"], info["unused"], info["special_count"]) == (4, 0, 2)
    assert info["single_characters"] == 1
    assert info["mean_bytes"] == (1 + 7) / 2 and info["mean_characters"] == (1 + 5) / 2
    assert tokenizer.id_to_token(info["longest"]) in ("##béé", "béé##")


def test_info_shows_what_is_in_sequences(files):
    output = succeed("tokenizer", "info", "--tokenizer", files).decode()
    assert "  normalizer     Sequence (NFC, Lowercase)\n" in output
    assert "  pre_tokenizer  BertPreTokenizer\n  model          WordPiece\n" in output
    assert "  post_processor BertProcessing\n  decoder        WordPiece\n" in output


def test_info_names_the_parts_of_sequences_in_sequences(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, "a"))
    tokenizer.decoder = decoders.Sequence([decoders.Fuse(), decoders.ByteFallback()])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel()])
    tree = json.loads(tokenizer.to_str())
    inner = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": False}, {"type": "WhitespaceSplit"}]}
    tree["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, inner]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tree))
    info = json.loads(succeed("tokenizer", "info", "--tokenizer", tmp_path, "--json"))
    assert info["pipeline"] == {
        "normalizer": "none", "model": "WordLevel", "decoder": "Sequence (Fuse, ByteFallback)",
        "pre_tokenizer": "Sequence (Whitespace, Sequence (Digits, WhitespaceSplit))",
        "post_processor": "Sequence (ByteLevel)"}
