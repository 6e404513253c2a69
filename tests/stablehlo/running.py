"""Runs StableHLO text on the CPU plugins, with numpy arrays in and out; bf16 travels as f32. The
plugins lie where scripts/setup.sh check puts them."""
import atexit
import functools
import os
import pathlib
import re
import subprocess
import tempfile

import ml_dtypes
import numpy as np
import pytest

PROGRAMS = os.environ["ATHANOR_PROGRAMS"]
PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "build" / "pjrt"
ENGINES = ["cpu-0.81", "cpu-0.106", "cpu-0.115"]
DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "ui32": np.uint32}


def program(name):
    """A helper of the tests: its standard output, given words."""
    def run_it(*words):
        return subprocess.run([os.path.join(PROGRAMS, name), *words], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    return run_it


def types(text):
    """[("f32", [4, 8]), …] of the tensors in a piece of text."""
    found = re.findall(r"tensor<((?:\d+x)*)(\w+)>", text)
    return [(dtype, [int(d) for d in dims.split("x")[:-1]]) for dims, dtype in found]


def signature(text):
    """Types of @main's arguments and results."""
    head = text.split("@main(")[1].split(") {\n")[0]
    arguments, results = head.split(") -> (")
    return types(arguments), types(results)


def names(text):
    """The names of @main's arguments and results, the latter from the comments behind them."""
    head = text.split("@main(")[1].split(") {\n")[0]
    arguments, results = head.split(") -> (")
    return re.findall(r"%(\S+): tensor", arguments), re.findall(r" // (.*)\n", results)


@functools.cache
def runner(engine, devices):
    """One process for each engine: a plugin takes a while to load."""
    plugin = PLUGINS / f"{engine}.so"
    if not plugin.exists():
        text = f"{plugin} is missing (scripts/setup.sh check)"
        if os.environ.get("ATHANOR_REQUIRE_PLUGINS"):
            pytest.fail(text)
        pytest.skip(text)
    process = subprocess.Popen(
        [os.path.join(PROGRAMS, "backends_program_run_text"), str(plugin), str(devices)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    atexit.register(process.stdin.close)
    return process


def word(dtype, dims):
    """A type as the runner reads it."""
    return f"{dtype.replace('ui32', 'u32')}:{'x'.join(map(str, dims))}"


def run(engine, text, inputs, devices=1):
    """The results of a module; AssertionError with the plugin's words where it refuses it."""
    arguments, results = signature(text)
    assert len(arguments) == len(inputs)
    process = runner(engine, devices)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("module", "inputs", "results")]
        pathlib.Path(paths[0]).write_text(text)
        with open(paths[1], "wb") as file:
            for array, (dtype, dims) in zip(inputs, arguments):
                assert list(np.shape(array)) == dims
                file.write(np.ascontiguousarray(array, DTYPES[dtype]).tobytes())
        line = [*paths, *(word(*t) for t in arguments), "->", *(word(*t) for t in results)]
        process.stdin.write(" ".join(line) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer == "ok\n", answer
        data = pathlib.Path(paths[2]).read_bytes()
    out, at = [], 0
    for dtype, dims in results:
        kind = np.dtype(DTYPES[dtype])
        count = int(np.prod(dims))
        array = np.frombuffer(data, kind, count, at).reshape(dims)
        out.append(array.astype(np.float32) if dtype == "bf16" else array)
        at += count * kind.itemsize
    return out
