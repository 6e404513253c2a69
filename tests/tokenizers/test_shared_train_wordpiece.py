"""WordPiece training on 2 MB of text against the `tokenizers` library, vocabulary of 8000: with its
choices among "##" characters taken away the same ids, and otherwise hardly another piece and no
more tokens per word of text not seen."""
from pathlib import Path

from tokenizers import Tokenizer, models, trainers

from driving import SHARED
from test_train_wordpiece import SPECIALS, pipeline, reference_vocab, vocab_of
from training import train_on

TEXT = Path(SHARED) / "data" / "text"
SIZE = 8000


def lines_of(name):
    return (TEXT / name).read_text(encoding="utf-8").split("\n")


def tokens(tokenizer, lines):
    return sum(len(e.ids) for e in tokenizer.encode_batch(lines, add_special_tokens=False))


def test_the_pieces_are_those_of_the_reference(tmp_path):
    texts = lines_of("enwiki-2019-2MB.wikiextractor.txt")
    path = train_on(texts, tmp_path, "wordpiece", "--vocab-size", SIZE)
    ours = vocab_of(path)
    assert ours == reference_vocab(texts, vocab_size=SIZE)
    free = pipeline(models.WordPiece(unk_token="[UNK]"))
    free.train_from_iterator(texts, trainers.WordPieceTrainer(
        vocab_size=SIZE, special_tokens=SPECIALS, show_progress=False))
    held_out = lines_of("wikitext-2-raw.valid.raw")
    words = sum(len(free.pre_tokenizer.pre_tokenize_str(line)) for line in held_out)
    found = tokens(Tokenizer.from_file(str(path)), held_out) / words
    wanted = tokens(free, held_out) / words
    missing = len(set(free.get_vocab()) - set(ours))
    print(f"tokens per word: {found:.4f}, reference {wanted:.4f}; {missing} other pieces")
    assert found <= wanted + 0.001 and missing < SIZE // 200
