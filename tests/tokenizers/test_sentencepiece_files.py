"""SentencePiece models give the ids of the sentencepiece package, converted or as they are."""
import io

import pytest
import sentencepiece

from driving import decode, encode, run, succeed

WORDS = ("the a fox dog river mountain runs sleeps under over tree house lower newest widest "
         "don't (1984) 3.14 x=y naïve Zoë 日本語 テスト größer ﬁne e-mail").split()
TEXTS = ["the fox runs over the newest river", "", "  two  spaces  ", " ", "a", "tree", "日本語 テスト",
         "x\u00a0y\tz", "émoji 😀😀 ok", "ﬁ ① ½", "<sep> the<sep>fox <sep>", "a+b the a+b", "QQQ q",
         "don't (1984) lower-case", "new york", "\u3000wide", "the " * 50 + "end"]


def train(**options):
    """A model of sentences of WORDS, in an order that a formula gives."""
    sentences = [" ".join(WORDS[(i * 7 + j * (i % 5 + 3)) % len(WORDS)] for j in range(3 + i % 9))
                 for i in range(600)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, vocab_size=150, minloglevel=2,
        hard_vocab_limit=False, **options)
    return model.getvalue()


@pytest.fixture(scope="module")
def unigram():
    return train(model_type="unigram")


MODELS = {
    "unigram": {"model_type": "unigram"},
    "bpe": {"model_type": "bpe"},
    "unigram with bytes": {"model_type": "unigram", "byte_fallback": True, "vocab_size_": 400},
    "bpe with bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size_": 400},
    "other ids": {"model_type": "bpe", "pad_id": 0, "unk_id": 3, "bos_id": -1, "eos_id": 1},
    "symbols in unigram": {"model_type": "unigram", "user_defined_symbols": ["<sep>", "a+b"]},
    "symbols in bpe": {"model_type": "bpe", "user_defined_symbols": ["<sep>", "a+b"]},
    "across words": {"model_type": "unigram", "split_by_whitespace": False},
    "bpe across words": {"model_type": "bpe", "split_by_whitespace": False},
    "as it is": {"model_type": "unigram", "normalization_rule_name": "identity",
                 "remove_extra_whitespaces": False},
    "without a mark": {"model_type": "bpe", "add_dummy_prefix": False},
    "small letters": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf"},
}


@pytest.mark.parametrize("name", MODELS)
def test_ids_and_texts_are_sentencepieces(tmp_path, name):
    options = dict(MODELS[name])
    size = options.pop("vocab_size_", None)
    path = tmp_path / "spiece.model"
    if size:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([" ".join(WORDS)] * 20 + WORDS * 3), model_writer=model,
            vocab_size=size, minloglevel=2, hard_vocab_limit=False, **options)
        path.write_bytes(model.getvalue())
    else:
        path.write_bytes(train(**options))
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    succeed("tokenizer", "convert", path, tmp_path / "made")
    expected = [reference.encode(text) for text in TEXTS]
    for tokenizer in [tmp_path / "made", path, tmp_path]:
        assert [found["ids"] for found in encode(tokenizer, TEXTS)] == expected, tokenizer
    known = [ids for ids in expected if reference.unk_id() not in ids]
    assert len(known) > 5
    assert decode(tmp_path / "made", known) == [reference.decode(ids) for ids in known]


def test_control_pieces_and_the_unknown_one_are_special(tmp_path, unigram):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(unigram)
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    found = encode(path, ["the<s>fox</s>"])[0]["ids"]
    assert found == [*reference.encode("the"), 1, *reference.encode("fox"), 2]
    assert decode(path, [found], "--skip-special-tokens") == [
        reference.decode(reference.encode("the") + reference.encode("fox"))]


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def message(*fields):
    """A protocol-buffer message of fields of bytes, and of numbers as varints below 128."""
    data = b""
    for number, value in fields:
        if isinstance(value, int):
            data += bytes([number << 3, value]) if number < 16 else (
                bytes([number << 3 & 127 | 128, number >> 4, value]))
        else:
            data += bytes([number << 3 | 2]) + varint(len(value)) + value
    return data


UNKNOWN = (1, message((1, b"<unk>"), (3, 2)))
A = (1, message((1, b"a")))


@pytest.mark.parametrize("data, part", [
    (b"", "of 0 pieces none stands for what is unknown"),
    (b"\x0a\x05ab", "no message of a protocol buffer"),
    (message(A), "of 1 pieces none stands for what is unknown"),
    (message(UNKNOWN, UNKNOWN), "pieces[0] and [1] both stand for what is unknown"),
    (message(UNKNOWN, A, A), 'pieces[2], "a", is there twice'),
    (message(UNKNOWN, A, A, (2, message((3, 2)))), 'pieces[2], "a", is there twice'),
    (message(UNKNOWN, (1, message((1, b"")))), "pieces[1] is empty"),
    (message(UNKNOWN, (1, message((1, b"\xff")))), "pieces[1] is not UTF-8"),
    (message(UNKNOWN, (1, message((1, b"b")) + b"\x15\x00\x00\xc0\x7f")), "score is not finite"),
    (message(UNKNOWN, (2, message((3, 3)))), "a model of words; Unigram and BPE are supported"),
    (message(UNKNOWN, (1, message((1, b"b" * 4097))), (2, message((3, 2)))),
     "pieces[1] has 4097 bytes; at most 4096 are supported"),
    (message(UNKNOWN, (2, message((24, 1)))), "treat_whitespace_as_suffix is not supported"),
    (message(UNKNOWN, (3, message((2, b"abc")))), "precompiled_charsmap"),
])
def test_faults_are_told_with_their_place(tmp_path, data, part):
    path = tmp_path / "spiece.model"
    path.write_bytes(data)
    code, output, messages = run("tokenizer", "convert", path, tmp_path / "made")
    assert code in (3, 11) and output == b"" and part in messages.splitlines()[-1], messages
    assert not (tmp_path / "made").exists()


def test_a_model_cut_or_changed_anywhere_is_refused_or_read(tmp_path, unigram):
    path = tmp_path / "spiece.model"
    for at in range(0, len(unigram), max(1, len(unigram) // 60)):
        for data in (unigram[:at], unigram[:at] + bytes([unigram[at] ^ 0x55]) + unigram[at + 1:]):
            path.write_bytes(data)
            code, _, messages = run("tokenizer", "encode", "--tokenizer", path, "the fox")
            assert code == 0 or (code in (3, 11) and messages), messages
