"""WordPiece and WordLevel training against the `tokenizers` library: the same vocabularies.

The library numbers the "##" characters in the order of a hash map, which changes from run to run,
and prefers the pair of the least numbers among equals. Given the alphabet as special tokens, in the
order that ours has, it has no choice left, and every id must be the same."""
import json
import random

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, BertTokenizerFast

from driving import differences, run, succeed
from training import random_texts, train_on

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
KINDS = ["It's 3.14, isn't it?  Don't trust 100%!", "naïve CAFÉ — “über”  \t x", "语言 模型语言",
         "\u3000 \xa0leading \u200bzero", "🙂🙂🙂 🙂", "", "aaaa aaaa aaaaaaaa", "'s's's 'll"]


def pipeline(model, lowercase=True):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def words_of(texts, lowercase=True):
    cutter = pipeline(models.WordPiece(), lowercase)
    return [word for text in texts for word, _ in cutter.pre_tokenizer.pre_tokenize_str(
        cutter.normalizer.normalize_str(text))]


def alphabet_of(texts, lowercase=True):
    words = words_of(texts, lowercase)
    return (sorted({c for word in words for c in word}) +
            sorted({"##" + c for word in words for c in word[1:]}))


def reference_vocab(texts, lowercase=True, ordered=True, **options):
    tokenizer = pipeline(models.WordPiece(unk_token="[UNK]"), lowercase)
    alphabet = alphabet_of(texts, lowercase) if ordered else []
    trainer = trainers.WordPieceTrainer(special_tokens=SPECIALS + alphabet, show_progress=False,
                                        **options)
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]["vocab"]


def vocab_of(path):
    return json.loads(path.read_text())["model"]["vocab"]


@pytest.mark.parametrize("seed", range(30))
def test_random_words_give_the_pieces_of_the_reference(seed, tmp_path):
    draw, texts = random.Random(-1 - seed), random_texts(seed)
    size, frequency = draw.choice([30, 60, 500]), draw.choice([0, 1, 2, 5])
    path = train_on(texts, tmp_path, "wordpiece", "--vocab-size", size,
                    "--min-frequency", frequency)
    assert vocab_of(path) == reference_vocab(texts, vocab_size=size, min_frequency=frequency)


@pytest.mark.parametrize("lowercase", [True, False])
def test_all_kinds_of_text_give_the_pieces_of_the_reference(lowercase, tmp_path):
    path = train_on(KINDS * 3, tmp_path, "wordpiece", "--vocab-size", 200,
                    *([] if lowercase else ["--no-lowercase"]))
    assert vocab_of(path) == reference_vocab(KINDS * 3, lowercase, vocab_size=200)


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_pieces_stay_as_short_as_the_reference_has_them_in_bpe(longest, tmp_path):
    texts = [line for seed in range(3) for line in random_texts(seed)]
    path = train_on(texts, tmp_path, "wordpiece", "--vocab-size", 600,
                    "--max-token-length", longest)
    tokenizer = pipeline(models.BPE(continuing_subword_prefix="##"))
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=600, max_token_length=longest, continuing_subword_prefix="##",
        special_tokens=SPECIALS + alphabet_of(texts), show_progress=False))
    assert vocab_of(path) == json.loads(tokenizer.to_str())["model"]["vocab"]


def test_the_first_pieces_need_no_order_where_no_pairs_tie(tmp_path):
    texts = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
    path = train_on(texts, tmp_path, "wordpiece", "--vocab-size", 25)
    vocab = vocab_of(path)
    assert list(vocab)[:5] == SPECIALS
    assert set(vocab) == set(reference_vocab(texts, ordered=False, vocab_size=25))


def test_the_alphabet_is_limited_to_the_frequent_characters(tmp_path):
    texts = ["aaaa bbb cc d ab"]
    path = train_on(texts, tmp_path, "wordpiece", "--vocab-size", 40, "--limit-alphabet", 2)
    ours, theirs = vocab_of(path), reference_vocab(texts, ordered=False, vocab_size=40,
                                                   limit_alphabet=2)
    assert set(ours) == set(theirs) and not {"c", "d", "##c"} & set(ours)


def test_the_initial_alphabet_is_there_and_spared(tmp_path):
    options = {"vocab_size": 40, "limit_alphabet": 3, "initial_alphabet": ["x", "é"]}
    texts = ["aaaa bbb ab"]
    path = train_on(texts, tmp_path, "wordpiece", "--vocab-size", 40, "--limit-alphabet", 3,
                    "--initial-alphabet", "xé")
    ours = vocab_of(path)
    assert set(ours) == set(reference_vocab(texts, ordered=False, **options))
    assert {"x", "é", "a"} <= set(ours) and "b" not in ours


@pytest.mark.parametrize("frequency", [0, 2])
@pytest.mark.parametrize("size", [8, 30, 1000])
def test_wordlevel_has_the_words_of_the_reference(size, frequency, tmp_path):
    texts = [line for seed in range(4) for line in random_texts(seed)] + KINDS
    tokenizer = pipeline(models.WordLevel(unk_token="[UNK]"))
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=frequency, special_tokens=SPECIALS, show_progress=False))
    path = train_on(texts, tmp_path, "wordlevel", "--vocab-size", size,
                    "--min-frequency", frequency)
    assert vocab_of(path) == json.loads(tokenizer.to_str())["model"]["vocab"]


@pytest.mark.parametrize("model", ["wordpiece", "wordlevel"])
def test_the_library_reads_and_encodes_alike(model, tmp_path):
    texts = [line for seed in range(4) for line in random_texts(seed)] + KINDS
    path = train_on(texts, tmp_path, model, "--vocab-size", 300)
    checked = texts[:20] + ["It [MASK] is", "[CLS]ab[SEP]", " ABÉ  语 \t🙂 unseen"]
    assert differences(Tokenizer.from_file(str(path)), path, checked) == []


def test_transformers_opens_the_folder_as_a_bert_tokenizer(tmp_path):
    path = train_on(KINDS * 3, tmp_path, "wordpiece", "--vocab-size", 150)
    for opened in (BertTokenizerFast.from_pretrained(path.parent),
                   AutoTokenizer.from_pretrained(path.parent)):
        tokens = opened.convert_ids_to_tokens(opened("A café [MASK]", "语言")["input_ids"])
        assert tokens[0] == "[CLS]" and tokens.count("[SEP]") == 2 and "[MASK]" in tokens
        assert opened.mask_token == "[MASK]" and opened.pad_token_id == 0


def test_special_tokens_in_the_text_are_passed_over(tmp_path):
    path = train_on(["a[MASK]b", "[UNK] ab"], tmp_path, "wordpiece", "--vocab-size", 100)
    assert set(vocab_of(path)) == {*SPECIALS, "a", "b", "##b", "ab"}


@pytest.mark.parametrize("options, message", [
    (["wordpiece", "--vocab-size", "8"], "at least 9"),
    (["wordpiece", "--seed-size", "8"], "--seed-size is of no use to --model wordpiece"),
    (["wordlevel", "--limit-alphabet", "8"], "belongs to wordpiece"),
    (["wordlevel", "--special-tokens", "[PAD],[PAD]"], "there twice"),
    (["wordlevel", "--special-tokens", "a,b,c,d,e", "--vocab-size", "10"], "10 special tokens"),
    (["bpe", "--no-lowercase"], "--lowercase is of no use to --model bpe"),
    (["unigram", "--min-frequency", "2"], "belongs to bpe, wordpiece and wordlevel"),
])
def test_what_cannot_be_trained_is_refused(options, message, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("ab ba\n")
    code, _, messages = run("tokenizer", "train", "--model", *options, "--input", text,
                            "--output", tmp_path / "tokenizer")
    assert code != 0 and message in messages


def test_files_come_by_name_by_pattern_and_from_standard_input(tmp_path):
    for name in ["b.txt", "a.txt", "[c].txt"]:
        (tmp_path / name).write_text(f"from {name[:-4].strip('[]')} here\n")
    train = lambda *inputs, data=b"": succeed(
        "tokenizer", "train", "--model", "wordlevel", "--output", tmp_path / "out", *inputs,
        data=data).decode()
    vocab = lambda: set(vocab_of(tmp_path / "out" / "tokenizer.json")) - set(SPECIALS)
    train("--input", tmp_path / "[ab].txt")
    assert vocab() == {"from", "a", "b", "here"}
    train("--input", tmp_path / "[c].txt", tmp_path / "a.txt")
    assert vocab() == {"from", "a", "c", "here"}
    assert "from 2 lines" in train("--input", "-", tmp_path / "a.txt", data=b"piped\n")
    assert vocab() == {"from", "a", "here", "piped"}
    code, _, messages = run("tokenizer", "train", "--output", tmp_path / "out",
                            "--input", tmp_path / "*.csv")
    assert code == 6 and "no file matches" in messages


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "wordlevel"])
def test_threads_do_not_change_a_byte(model, tmp_path):
    draw = random.Random(5)
    word = lambda: "".join(draw.choice("abcdefgh") for _ in range(1 + int(draw.expovariate(0.3))))
    texts = [" ".join(word() for _ in range(30)) for _ in range(15_000)]  # some blocks of text
    found = set()
    for threads in [1, 2, 5]:
        (tmp_path / str(threads)).mkdir()
        path = train_on(texts, tmp_path / str(threads), model, "--vocab-size", 400,
                        "--threads", threads, "--memory", 16)
        found.add(path.read_bytes())
    assert len(found) == 1
