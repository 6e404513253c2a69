"""`tokenizer convert` of small files, beside transformers' own reading of them."""
import json

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
from transformers import BertTokenizerFast, RobertaTokenizerFast

from driving import decode, encode, run, succeed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "The", "fox", "##es", "é", "e", ",",
         "日", "t", "##e"]
TEXTS = ["The foxes, the FOX", "été É e", "", "日本 [MASK] the[SEP]fox", " fox\u00a0the\tfox,,"]


def compare(reference, folder, texts):
    ours = encode(folder, texts)
    for text, found in zip(texts, ours):
        theirs = reference(text, return_offsets_mapping=True)
        assert found["ids"] == theirs["input_ids"], text
        assert found["offsets"] == [list(o) for o in theirs["offset_mapping"]], text
    ids = [found["ids"] for found in ours]
    assert decode(folder, ids) == [reference.backend_tokenizer.decode(i, False) for i in ids]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_vocab_txt_is_berts(tmp_path, lowercase, ending):
    path = tmp_path / "vocab.txt"
    path.write_bytes("".join(word + ending for word in WORDS).encode())
    options = [] if lowercase else ["--no-lowercase"]
    for number, given in enumerate([path, tmp_path]):
        succeed("tokenizer", "convert", *options, given, tmp_path / f"made{number}")
    made = [(tmp_path / f"made{n}" / "tokenizer.json").read_bytes() for n in range(2)]
    assert made[0] == made[1]
    assert Tokenizer.from_str(made[0].decode()).get_vocab_size() == len(WORDS)
    assert json.loads(made[0])["normalizer"]["lowercase"] is lowercase
    reference = BertTokenizerFast(vocab={w: i for i, w in enumerate(WORDS)},
                                  do_lower_case=lowercase)
    compare(reference, tmp_path / "made0", TEXTS)


@pytest.mark.parametrize("config", [
    {"do_lower_case": False}, {"do_lower_case": False, "strip_accents": True},
    {"strip_accents": False, "tokenize_chinese_chars": False},
    {"do_lower_case": True, "strip_accents": None, "model_max_length": 10**30}])
def test_vocab_txt_is_used_as_the_configuration_beside_it_says(tmp_path, config):
    (tmp_path / "vocab.txt").write_text("".join(word + "\n" for word in WORDS), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    reference = BertTokenizerFast(vocab={w: i for i, w in enumerate(WORDS)}, **config)
    for number, given in enumerate([tmp_path / "vocab.txt", tmp_path]):
        succeed("tokenizer", "convert", given, tmp_path / f"made{number}")
        compare(reference, tmp_path / f"made{number}", TEXTS)
    compare(reference, tmp_path, TEXTS) # loaded as it is


@pytest.mark.parametrize("length, kept", [(512, 512), (10**30, 10**30), (None, 10**30)])
def test_the_length_of_a_model_goes_along(tmp_path, length, kept):
    (tmp_path / "vocab.txt").write_text("".join(word + "\n" for word in WORDS), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": length}))
    for number, given in enumerate([tmp_path / "vocab.txt", tmp_path]):
        succeed("tokenizer", "convert", given, tmp_path / f"made{number}")
        config = json.loads((tmp_path / f"made{number}/tokenizer_config.json").read_text())
        assert config["model_max_length"] == pytest.approx(kept)


def test_one_of_two_files_wants_the_other(tmp_path):
    for name in ("vocab.json", "merges.txt"):
        folder = tmp_path / name[0]
        folder.mkdir()
        (folder / name).write_text("{}")
        code, _, messages = run("tokenizer", "convert", folder / name, tmp_path / "made")
        assert code == 6 and "belong together" in messages.splitlines()[-1]


def write_byte_level(folder, special):
    """Trains a byte-level BPE and writes it as the two older files."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.model.save(str(folder))
    return tokenizer


def test_vocab_json_with_the_tokens_of_roberta_is_robertas(tmp_path):
    trained = write_byte_level(tmp_path, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    succeed("tokenizer", "convert", tmp_path, tmp_path / "made")
    model = json.loads(trained.to_str())["model"]
    reference = RobertaTokenizerFast(vocab=model["vocab"],
                                     merges=[tuple(m) for m in model["merges"]],
                                     mask_token=AddedToken("<mask>", lstrip=True, special=True))
    compare(reference, tmp_path / "made", [*TEXTS, "the <mask> fox</s>"])


@pytest.mark.parametrize("given", ["", "vocab.json", "merges.txt"])
def test_vocab_json_without_them_is_gpt2s(tmp_path, given):
    trained = write_byte_level(tmp_path, ["<|endoftext|>"])
    succeed("tokenizer", "convert", tmp_path / given, tmp_path / "made")
    for text, found in zip(TEXTS, encode(tmp_path / "made", TEXTS)):
        assert found["ids"] == trained.encode(text).ids


@pytest.mark.parametrize("files, code, part", [
    ({}, 6, "neither vocab.txt nor vocab.json"),
    ({"vocab.json": b"{}"}, 6, "neither vocab.txt nor vocab.json"),
    ({"vocab.txt": b"[UNK]\na\nb\na\n"}, 3, 'vocab.txt: line 4: "a" is the token of line 2'),
    ({"vocab.txt": b""}, 3, "vocab.txt: is empty; each line should be a token"),
    ({"vocab.txt": b"import json\n"}, 3, "vocab.txt: has no token [UNK]"),
    ({"tokenizer.json": b"{}"}, 3, "tokenizer.json is there: nothing needs to be converted"),
    ({"vocab.txt": b"[UNK]\na\xff\n"}, 3, "vocab.txt: invalid UTF-8 at byte 7"),
    ({"vocab.json": b'{"a": 0, "b": 1}', "merges.txt": b"#version: 0.2\na b\n"}, 3, "merges"),
    ({"vocab.json": b'{"a": 0, "b": 1}', "merges.txt": b"ab\n"}, 3, "merges.txt: line 1"),
    ({"vocab.json": b'{"a": "x"}', "merges.txt": b""}, 3, "vocab"),
    ({"vocab.json": b'{"a": 0', "merges.txt": b""}, 3, "vocab.json: not valid JSON"),
    ({"vocab.txt": b"[UNK]\n", "tokenizer_config.json": b'{"do_lower_case": 1}'}, 3,
     "tokenizer_config.json: do_lower_case: expected true or false, found a number"),
])
def test_faults_have_their_file_and_line(tmp_path, files, code, part):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    got, output, messages = run("tokenizer", "convert", tmp_path, tmp_path / "made")
    assert (got, output) == (code, b"") and part in messages.splitlines()[-1]
    assert not (tmp_path / "made").exists()
    assert run("tokenizer", "convert", tmp_path)[0] == 2
