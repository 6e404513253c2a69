"""The peer's side of compare_encoding.py: one library encodes the lines of a file once, with new
caches, and prints the seconds that passed and those of processors.

    peer_encode.py hf|hf_fast|tiktoken|spm TOKENIZER_JSON FILE THREADS

Each library is asked in the way that its manual gives for many texts; hf_fast leaves out offsets.
tiktoken takes the vocabulary of a byte-level BPE's tokenizer.json with GPT-2's pattern.
SentencePiece takes a .model file, which compare_encoding.py makes of t5-small's tokenizer.json."""
import json
import os
import sys
import time

library, model, path, threads = sys.argv[1:4] + [int(sys.argv[4])]
os.environ["RAYON_NUM_THREADS"] = str(threads)
os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"

PATTERN = (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s")


def byte_alphabet():
    """GPT-2's characters for the 256 bytes: visible ones stand for themselves."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    letters = {chr(byte): byte for byte in visible}
    letters.update({chr(256 + place): byte for place, byte in enumerate(hidden)})
    return letters


def tiktoken_encoder():
    import tiktoken
    file = json.load(open(model, encoding="utf-8"))
    special = {token["content"] for token in file["added_tokens"]}
    letters = byte_alphabet()
    ranks = {bytes(letters[c] for c in token): id
             for token, id in file["model"]["vocab"].items() if token not in special}
    made = tiktoken.Encoding("bench", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    if threads == 1:
        return lambda lines: [made.encode_ordinary(line) for line in lines]
    return lambda lines: made.encode_ordinary_batch(lines, num_threads=threads)


def encoder():
    if library == "tiktoken":
        return tiktoken_encoder()
    if library == "spm":
        import sentencepiece
        made = sentencepiece.SentencePieceProcessor(model_file=model)
        return lambda lines: made.encode(lines, num_threads=threads)
    import tokenizers
    made = tokenizers.Tokenizer.from_file(model)
    made.no_truncation()
    made.no_padding()
    return made.encode_batch if library == "hf" else made.encode_batch_fast


data = open(path, "rb").read()
lines = data.decode().split("\n")
encode = encoder()
began, processor = time.perf_counter(), time.process_time()
encodings = encode(lines)
seconds, processor = time.perf_counter() - began, time.process_time() - processor
print(json.dumps({"bytes": len(data), "tokens": sum(map(len, encodings)), "seconds": seconds,
                  "processor_seconds": processor}))
