"""Text to shards as the Hugging Face example for TPUs does it, for compare_prepare.py: the datasets
library maps the tokenizer and the cutting over batches of 1000 lines in worker processes, and
TensorFlow writes each record as a tf.train.Example.

    PYTHON bench/peer_prepare.py TEXT TOKENIZER.json OUTPUT LENGTH PROCESSES

Prints the seconds by the clock and on processors, workers included, since all was imported."""
import itertools
import os
import pathlib
import resource
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                  HF_DATASETS_DISABLE_PROGRESS_BARS="1")
import datasets  # noqa: E402
import tensorflow as tf  # noqa: E402
import transformers  # noqa: E402

text, tokenizer_file, output, length, processes = sys.argv[1:]
output, length, processes = pathlib.Path(output), int(length), int(processes)
SHARD = 5000


def processor_seconds():
    return sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def cut(batch):
    """Joins the lists of a batch and cuts them; the remainder is dropped."""
    joined = {key: list(itertools.chain.from_iterable(batch[key])) for key in batch}
    whole = len(joined["input_ids"]) // length * length
    return {key: [ids[i:i + length] for i in range(0, whole, length)]
            for key, ids in joined.items()}


def feature(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


began, used = time.perf_counter(), processor_seconds()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=tokenizer_file)
lines = datasets.load_dataset("text", data_files=text, split="train",
                              cache_dir=str(output / "cache"))
encoded = lines.map(
    lambda batch: tokenizer(batch["text"], return_token_type_ids=False), batched=True,
    num_proc=processes, remove_columns=["text"], load_from_cache_file=False)
records = encoded.map(cut, batched=True, batch_size=1000, num_proc=processes,
                      load_from_cache_file=False)
for number, first in enumerate(range(0, len(records), SHARD)):
    shard = records[first:first + SHARD]
    count = len(shard["input_ids"])
    with tf.io.TFRecordWriter(str(output / f"dataset-{number}-{count}.tfrecord")) as writer:
        for ids, mask in zip(shard["input_ids"], shard["attention_mask"]):
            example = tf.train.Example(features=tf.train.Features(feature={
                "input_ids": feature(ids), "attention_mask": feature(mask)}))
            writer.write(example.SerializeToString())
print(time.perf_counter() - began, processor_seconds() - used)
