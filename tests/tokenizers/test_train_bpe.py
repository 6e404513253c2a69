"""Byte-level BPE training against the `tokenizers` library: the same vocabulary and merges, on
small random texts where most pairs are equally frequent and many tokens come about in two ways."""
import json
import random

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from driving import differences, run, succeed
from training import random_texts, train_on

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LEAST = 256 + len(SPECIALS)


def reference_model(texts, vocab_size, min_frequency=0, **options):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=min_frequency, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        **{"special_tokens": SPECIALS, **options})
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], model["merges"]


def train(texts, folder, vocab_size, *options):
    return train_on(texts, folder, "bpe", "--vocab-size", vocab_size, *options)


def assert_same(texts, folder, vocab_size, min_frequency=0):
    path = train(texts, folder, vocab_size, "--min-frequency", min_frequency)
    ours = json.loads(path.read_text())["model"]
    vocab, merges = reference_model(texts, vocab_size, min_frequency)
    assert ours["merges"] == merges
    assert ours["vocab"] == vocab


@pytest.mark.parametrize("seed", range(40))
def test_random_words_give_the_merges_of_the_reference(seed, tmp_path):
    draw = random.Random(-1 - seed)
    assert_same(random_texts(seed), tmp_path, LEAST + draw.choice([1, 7, 60, 500]),
                draw.choice([0, 1, 2, 5]))


@pytest.mark.parametrize("longest", [1, 2, 3, 4, 6])
def test_tokens_stay_as_short_as_in_the_reference(longest, tmp_path):
    texts = [line for seed in range(3) for line in random_texts(seed)]
    path = train(texts, tmp_path, 900, "--max-token-length", longest)
    ours = json.loads(path.read_text())["model"]
    vocab, merges = reference_model(texts, 900, max_token_length=longest)
    assert (ours["merges"], ours["vocab"]) == (merges, vocab)


def test_special_tokens_have_the_ids_of_their_order(tmp_path):
    specials = ["<pad>", "<extra>", "</s>", "a", "<mask>"]
    path = train(["a bab abab"] * 3, tmp_path, 300, "--special-tokens", ",".join(specials))
    model = json.loads(path.read_text())["model"]
    vocab, merges = reference_model(["a bab abab"] * 3, 300,
                                    special_tokens=["<s>", "<unk>", *specials])
    assert (model["merges"], model["vocab"]) == (merges, vocab)
    read = Tokenizer.from_file(str(path))
    assert read.encode("b<extra>").ids == [0, vocab["b"], vocab["<extra>"], vocab["</s>"]]


def test_all_kinds_of_text_give_the_merges_of_the_reference(tmp_path):
    texts = ["It's 3.14, isn't it?  Don't   <s> trust <mask> 100%!", "naïve café — “über”  \t x",
             "语言 模型 语言", "  \u3000 \xa0leading", "🙂🙂🙂 🙂", "", "aaaa aaaa aaaaaaaa", "'s's's 'll"]
    assert_same(texts * 3, tmp_path, 600)


def test_no_merges_fit_into_the_least_vocabulary(tmp_path):
    model = json.loads(train(["ab ab"], tmp_path, LEAST).read_text())["model"]
    assert model["merges"] == [] and len(model["vocab"]) == LEAST


def test_the_library_reads_and_encodes_alike(tmp_path):
    texts = [line for seed in range(4) for line in random_texts(seed)]
    path = train(texts, tmp_path, 400)
    checked = texts[:20] + ["It <mask> is", "<s>ab</s>", " abé  语 \t🙂"]
    assert differences(Tokenizer.from_file(str(path)), path, checked) == []


def test_the_special_tokens_have_their_roles(tmp_path):
    path = train(["some text"], tmp_path, 270)
    answer = json.loads(succeed("tokenizer", "info", "--json", "--tokenizer", path.parent))
    assert answer["special"] == {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}


@pytest.mark.parametrize("options, data, message", [
    (["--vocab-size", "260"], b"text\n", "256 bytes and 5 special tokens need at least 261"),
    (["--vocab-size", "2000000"], b"text\n", "at most 1048576"),
    (["--min-frequency", "-1"], b"text\n", "min-frequency"),
    ([], b"", "no text"),
    ([], b"good\nbad \xff\n", "line 2"),
    ([], b"t\0e\0x\0t\0\n\0", "NUL"),
])
def test_what_cannot_be_trained_is_refused(options, data, message, tmp_path):
    text = tmp_path / "text.txt"
    text.write_bytes(data)
    code, _, messages = run("tokenizer", "train", "--model", "bpe", *options, "--input", text,
                            "--output", tmp_path / "tokenizer")
    assert code != 0 and message in messages
    assert not (tmp_path / "tokenizer" / "tokenizer.json").exists()
