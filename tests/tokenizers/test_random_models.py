"""BPE, WordPiece, WordLevel and Unigram with random vocabularies, options and texts, the same ones
in every run, beside the tokenizers library: ids, tokens, offsets, and the file as it is saved."""
import json
import os
import random
import subprocess

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

PROGRAM = os.path.join(os.environ.get("ATHANOR_PROGRAMS", "build/tests"),
                       "tokenizers_program_models")
ALPHABETS = ["ab", "abc", "aé", "abé你😀", "ab▁", "a#b", "Ġab"]
OFFSETS, TOKENS = 2, 4


class Program:
    """One process for all cases of a test."""

    def __init__(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, command, data=b""):
        self.process.stdin.write(command.encode() + b"\n" + data)
        self.process.stdin.flush()
        return self.process.stdout.readline().decode("utf-8", "replace").rstrip("\n")

    def encode(self, text, flags=OFFSETS | TOKENS):
        data = text.encode()
        answer = self.ask(f"text {flags} {len(data)}", data)
        return answer if answer.startswith("error") else json.loads(answer)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def program():
    program = Program()
    yield program
    program.close()


def word(source, alphabet, least, most):
    return "".join(source.choice(alphabet) for _ in range(source.randint(least, most)))


def random_text(source, alphabet):
    if source.random() < 0.05:
        return word(source, alphabet, 0, 30) * source.randint(1, 40)
    return word(source, alphabet + source.choice(["", " ", "xé", "xy\u0301"]), 0,
                source.choice([4, 12, 30, 120]))


def byte_tokens(source):
    chosen = source.choice(["<0xC3>", ""]), source.random()
    return [f"<0x{b:02X}>" for b in range(256) if chosen[1] < 0.7 or f"<0x{b:02X}>" == chosen[0]
            or source.random() < 0.9]


def ids_of(source, tokens):
    tokens = list(dict.fromkeys(tokens))
    if source.random() < 0.3:
        source.shuffle(tokens)
    step = source.choice([1, 1, 1, 3])
    return {token: step * i for i, token in enumerate(tokens)}


def random_merges(source, symbols, prefix, count):
    """Merges that a trainer could have made, in its order or in another one."""
    known, merges = list(symbols), []
    for _ in range(count):
        left, right = source.choice(known), source.choice(known)
        if not right.startswith(prefix) or len(left) + len(right) > 24:
            continue
        merges.append((left, right))
        made = left + right[len(prefix):]
        if made not in known:
            known.append(made)
    if source.random() < 0.3:
        source.shuffle(merges)
    return merges, known


def random_bpe(source, alphabet):
    prefix = source.choice(["", "", "", "##"])
    suffix = source.choice(["", "", "", "</w>"])
    symbols = [c for c in alphabet if source.random() < 0.95]
    if prefix:
        symbols += [prefix + c for c in alphabet if source.random() < 0.95]
    if suffix:
        symbols += [c + suffix for c in list(symbols) if source.random() < 0.95]
    merges, tokens = [], list(symbols)
    if symbols:
        merges, tokens = random_merges(source, symbols, prefix, source.choice([0, 3, 10, 40]))
    fallback = source.random() < 0.3 and not prefix and not suffix
    if fallback:
        tokens = byte_tokens(source) + tokens
    unknown = source.choice([None, "<unk>", "<unk>"])
    if unknown and source.random() < 0.97:
        tokens.append(unknown)
    options = dict(fuse_unk=source.random() < 0.5, byte_fallback=fallback,
                   ignore_merges=source.random() < 0.2,
                   dropout=source.choice([None, None, None, 0.0, 1.0]))
    if unknown:
        options["unk_token"] = unknown
    if prefix or source.random() < 0.2:
        options["continuing_subword_prefix"] = prefix
    if suffix or source.random() < 0.2:
        options["end_of_word_suffix"] = suffix
    return models.BPE(ids_of(source, tokens), merges, **options)


def random_wordpiece(source, alphabet):
    prefix = source.choice(["##", "##", "#", "", "é"])
    tokens = ["[UNK]"] if source.random() < 0.95 else []
    for _ in range(source.randint(1, 30)):
        tokens.append(source.choice(["", prefix]) + word(source, alphabet, 0, 4))
    tokens += [p + c for c in alphabet for p in ("", prefix) if source.random() < 0.8]
    return models.WordPiece(ids_of(source, tokens), unk_token="[UNK]",
                            continuing_subword_prefix=prefix,
                            max_input_chars_per_word=source.choice([100, 100, 10, 3, 0]))


def random_wordlevel(source, alphabet):
    tokens = ["<unk>"] if source.random() < 0.95 else ["a"]
    tokens += [word(source, alphabet, 0, 3) for _ in range(source.randint(1, 30))]
    return models.WordLevel(ids_of(source, tokens), unk_token="<unk>")


def random_unigram(source, alphabet):
    tokens = ["<unk>"] + [word(source, alphabet, 1, 4) for _ in range(source.randint(1, 30))]
    fallback = source.random() < 0.7
    if fallback:
        tokens += byte_tokens(source)
    scores = [(token, -round(source.random() * 8, 1)) for token in dict.fromkeys(tokens)]
    return models.Unigram(scores, source.choice([0, 0, 0, 1, None]), fallback)


KINDS = {"bpe": random_bpe, "wordpiece": random_wordpiece, "wordlevel": random_wordlevel,
         "unigram": random_unigram}


def expected(tokenizer, text):
    """What the library gives, or "error" when it refuses the text."""
    try:
        theirs = tokenizer.encode(text)
    except Exception:  # the library raises nothing more specific
        return "error"
    return {"ids": theirs.ids, "offsets": [list(o) for o in theirs.offsets],
            "tokens": theirs.tokens}


def saved(tokenizer, path):
    """The library's file, once it has read its own."""
    tokenizer.save(str(path))
    return Tokenizer.from_file(str(path))


@pytest.mark.parametrize("kind", KINDS)
def test_random_models_encode_as_the_reference(kind, program, tmp_path):
    source = random.Random(kind)
    path = tmp_path / "tokenizer.json"
    for _ in range(int(os.environ.get("ATHANOR_MODELS", "300"))):
        alphabet = source.choice(ALPHABETS)
        tokenizer = Tokenizer(KINDS[kind](source, alphabet))
        if source.random() < 0.5:
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer = saved(tokenizer, path)
        answer = program.ask(f"load {path}")
        assert answer == "ok", path.read_text()
        same = json.loads(program.ask("save")) == path.read_text()
        assert same, path.read_text()
        for _ in range(12):
            text = random_text(source, alphabet)
            theirs, ours = expected(tokenizer, text), program.encode(text)
            if isinstance(ours, str):
                ours = ours.split()[0]
            if ours != theirs:
                pytest.fail(f"{text!r}\n{ours}\n{theirs}\n{tokenizer.to_str()}")


def random_number(source):
    """As JSON spells it, short or long. (Of scores' size: others may not be saved so.)"""
    kind = source.randrange(6)
    digits = "".join(source.choice("0123456789") for _ in range(source.randint(1, 30)))
    if kind < 2:
        return repr(-source.random() * 10 ** source.randint(-3, 2))
    if kind == 2:
        return f"-{source.randint(0, 10 ** source.randint(0, 25))}.{digits}"
    if kind == 3:
        return f"{source.randint(0, 99)}.{digits}e{source.randint(-9, 20)}"
    if kind == 4:
        return f"-{source.randint(0, 10 ** source.randint(1, 40))}"
    return f"0.0000{digits}E-{source.randint(0, 5)}"


def test_scores_are_those_that_the_reference_reads_to_the_bit_and_are_saved_so(program, tmp_path):
    source, path = random.Random("scores"), tmp_path / "tokenizer.json"
    rows = ",".join(f'["{i}",{random_number(source)}]' for i in range(20000))
    path.write_text('{"version":"1.0","added_tokens":[],"model":{"type":"Unigram","unk_id":null,'
                    f'"byte_fallback":false,"vocab":[{rows}]}}}}')
    assert program.ask(f"load {path}") == "ok"
    again = Tokenizer.from_str(json.loads(program.ask("save")))
    assert again.to_str() == Tokenizer.from_file(str(path)).to_str()


def test_merges_as_strings_and_files_without_a_type_are_the_same_model(program, tmp_path):
    model = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["#version: 0.2", "a b"]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    assert program.ask(f"load {path}") == "ok"
    assert program.encode("ab")["ids"] == Tokenizer.from_file(str(path)).encode("ab").ids == [2]
    assert json.loads(program.ask("save")) == Tokenizer.from_file(str(path)).to_str(pretty=True)
