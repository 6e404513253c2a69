"""The peer's side of compare_training.py: one library trains one tokenizer on the lines of a file.

    peer_train.py tokenizers|sentencepiece MODEL FILE VOCAB_SIZE THREADS OUTPUT

MODEL is bpe, wordpiece or unigram, with the pipeline of ours: `tokenizers` trains the same thing.
SentencePiece has pipelines of its own, and no WordPiece."""
import os
import sys

library, model, path, size, threads, output = sys.argv[1:7]
os.environ["RAYON_NUM_THREADS"] = threads
os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads != "1" else "false"


def lines_of(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        batch = []
        for line in file:
            batch.append(line.rstrip("\n"))
            if len(batch) == 1000:
                yield batch
                batch = []
        yield batch


def train_sentencepiece():
    import sentencepiece
    sentencepiece.SentencePieceTrainer.train(
        input=path, model_prefix=output, vocab_size=int(size), model_type=model,
        num_threads=int(threads), max_sentence_length=1 << 20, input_sentence_size=0,
        minloglevel=2)


def bpe():
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer, trainers.BpeTrainer(
        vocab_size=int(size), special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)


def wordpiece():
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer, trainers.WordPieceTrainer(
        vocab_size=int(size), special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        show_progress=False)


def unigram():
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer, trainers.UnigramTrainer(
        vocab_size=int(size), unk_token="<unk>", show_progress=False,
        special_tokens=["[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"])


if library == "sentencepiece":
    train_sentencepiece()
else:
    tokenizer, trainer = {"bpe": bpe, "wordpiece": wordpiece, "unigram": unigram}[model]()
    tokenizer.train_from_iterator(lines_of(path), trainer=trainer)
    tokenizer.save(output + ".json")
