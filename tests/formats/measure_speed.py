"""Reading shards: records per second of processor time, Athanor beside TensorFlow in one run.

    ATHANOR_PROGRAMS=build/tests build/venv/bin/python tests/formats/measure_speed.py
"""

import json
import os
import subprocess
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

LENGTH, RECORDS, VOCABULARY, BATCH = 128, 20000, 32000, 256
PROGRAM = os.path.join(os.environ["ATHANOR_PROGRAMS"], "formats_program_speed")


def write(path):
    draw = np.random.default_rng(1)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(RECORDS):
            lists = {"input_ids": draw.integers(0, VOCABULARY, LENGTH),
                     "attention_mask": np.ones(LENGTH, np.int64)}
            feature = {name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
                       for name, values in lists.items()}
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


def tensorflow_speed(path):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    features = {name: tf.io.FixedLenFeature([LENGTH], tf.int64)
                for name in ("input_ids", "attention_mask")}
    data = tf.data.TFRecordDataset(path).batch(BATCH)
    data = data.map(lambda batch: tf.io.parse_example(batch, features))
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    data = data.with_options(options)
    for _ in data.take(2):
        pass
    begin = time.process_time()
    for _ in data:
        pass
    return RECORDS / (time.process_time() - begin)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records.tfrecord")
        write(path)
        theirs = tensorflow_speed(path)
        done = subprocess.run([PROGRAM, path, str(LENGTH)], capture_output=True, text=True,
                              check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines[:-1]:
        print(f"crc32c by {line['crc']:<12} {line['bytes']:>6} bytes  {line['gb_per_s']:7.2f} GB/s")
    ours = lines[-1]["records_per_s"]
    print(f"reading, checking and parsing records of {LENGTH} tokens, one thread:")
    print(f"  TensorFlow {theirs:,.0f} records/s   Athanor {ours:,.0f} records/s   "
          f"ratio {ours / theirs:.1f}")


main()
