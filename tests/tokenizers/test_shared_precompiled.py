"""SentencePiece's character maps of published tokenizers, on random texts, beside the tokenizers
library."""
import base64
import gzip
import json
import os
import random

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from pieces import encoded, serve
from test_reference_text_parts import random_text

SHARED = os.environ.get("ATHANOR_SHARED", "../shared")
WHOLE = ["a\u0301", "ﬁ\u0301", "①\u0301", "\u0007", "\u0001", "ﷺ", "ﷺ\u0301", "\r\n", "\r", "🇩🇪",
         "ｱ", "ﾊﾟ", "½", "．．．", "™", "\u00ad", "\u3000", "\u0600a", "©\u200d"]


def find_map(name):
    with gzip.open(f"{SHARED}/data/tokenizers/{name}/tokenizer.json.gz") as file:
        normalizer = json.load(file)["normalizer"]
    for part in normalizer.get("normalizers", [normalizer]):
        if part["type"] == "Precompiled":
            return base64.b64decode(part["precompiled_charsmap"])


@pytest.mark.parametrize("name", ["t5-small", "nmt"])
def test_published_maps_rewrite_texts_as_the_reference_does(name, tmp_path):
    source = random.Random(name)
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0)], 0))
    tokenizer.normalizer = normalizers.Precompiled(find_map(name))
    requests, cases = [], []
    for number in range(2):
        tokenizer.pre_tokenizer = pre_tokenizers.FixedLength(1 + number * 2)
        path = tmp_path / f"{number}.json"
        path.write_text(tokenizer.to_str())
        texts = ["".join(source.choice([source.choice(WHOLE), random_text(source)])
                         for _ in range(source.randint(1, 4))) for _ in range(3000)]
        requests.append(f"encode {path} " + " ".join(t.encode().hex() for t in texts))
        for text in texts:
            e = tokenizer.encode(text)
            cases.append((text, [(t, s, n) for t, (s, n) in zip(e.tokens, e.offsets)]))
    differences = [(ascii(text), ascii(theirs), ascii(encoded(line)))
                   for (text, theirs), line in zip(cases, serve(requests))
                   if encoded(line) != theirs]
    differences.sort(key=lambda d: len(d[0]))
    assert not differences, "\n".join([str(len(differences))] + list(map(str, differences[:4])))


KEY = '"precompiled_charsmap"'


def spellings(part):
    """Normalisers with the map at many places of the file, and the key where it is none."""
    text = json.dumps(part)
    replace = {"type": "Replace", "pattern": {"String": KEY + ':"QUFB"'}, "content": "x"}
    sequence = {"type": "Sequence", "normalizers": [replace, part]}
    yield text
    yield text.replace(":", " :\n\t")
    yield json.dumps(dict(reversed(part.items())))
    yield text.replace("/", "\\/")
    yield text.replace('"precompiled_', '"\\u0070recompiled_')
    yield json.dumps(sequence)
    yield json.dumps({"type": "Sequence", "normalizers": [part, replace]})
    yield json.dumps({"type": "Sequence", "normalizers": [part, part]})
    yield json.dumps({"type": "Sequence", "normalizers": [sequence, replace]})
    yield json.dumps({"type": "Sequence", "normalizers": [{"type": "Lowercase"}, sequence]})


def test_a_map_is_found_wherever_it_stands_in_the_file(tmp_path):
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0)], 0))
    tokenizer.normalizer = normalizers.Precompiled(find_map("t5-small"))
    tokenizer.pre_tokenizer = pre_tokenizers.FixedLength(1)
    file = json.loads(tokenizer.to_str())
    part, file["normalizer"] = file["normalizer"], "HERE"
    texts = ["ﬁ ① ｱ x", KEY + ':"QUFB"']
    for number, spelling in enumerate(spellings(part)):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(file).replace('"HERE"', spelling))
        reference = Tokenizer.from_file(str(path))
        lines = serve([f"encode {path} " + " ".join(t.encode().hex() for t in texts)])
        for text, line in zip(texts, lines):
            e = reference.encode(text)
            assert encoded(line) == [(t, s, n) for t, (s, n) in zip(e.tokens, e.offsets)], spelling
