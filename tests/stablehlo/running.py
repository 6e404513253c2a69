"""Runs StableHLO text on the CPU plugins, with numpy arrays in and out; bf16 travels as f32. The
plugins lie where scripts/setup.sh check puts them."""
import atexit
import functools
import itertools
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


def ask(engine, devices, text, arrays, arguments, results):
    """The results that the runner writes, for arrays of the types of the arguments, once or once
    for each device."""
    process = runner(engine, devices)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("module", "inputs", "results")]
        pathlib.Path(paths[0]).write_text(text)
        with open(paths[1], "wb") as file:
            for array, (dtype, dims) in zip(arrays, itertools.cycle(arguments)):
                assert list(np.shape(array)) == dims
                file.write(np.ascontiguousarray(array, DTYPES[dtype]).tobytes())
        line = [*paths, *(word(*t) for t in arguments), "->", *(word(*t) for t in results)]
        process.stdin.write(" ".join(line) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer == "ok\n", answer
        data = pathlib.Path(paths[2]).read_bytes()
    out, at, kinds = [], 0, itertools.cycle(results)
    while at < len(data):
        dtype, dims = next(kinds)
        kind = np.dtype(DTYPES[dtype])
        count = int(np.prod(dims))
        array = np.frombuffer(data, kind, count, at).reshape(dims)
        out.append(array.astype(np.float32) if dtype == "bf16" else array)
        at += count * kind.itemsize
    return out


def run(engine, text, inputs, devices=1):
    """The results of a module; AssertionError with the plugin's words where it refuses it."""
    arguments, results = signature(text)
    assert len(arguments) == len(inputs)
    return ask(engine, devices, text, inputs, arguments, results)


def cuts(sharding, dims, devices):
    """The part of a value that each device has, as slices: the text of an OpSharding, a list of
    devices made from 0, 1, 2, … by reshape, transpose and reshape."""
    found = re.fullmatch(r"\{devices=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?"
                         r"(?: last_tile_dim_replicate)?\}", sharding)
    if found is None:
        assert sharding == "{replicated}", sharding
        return [tuple(slice(0, dim) for dim in dims)] * devices
    tiles, first, order = ([int(n) for n in g.split(",")] if g else None for g in found.groups())
    grid = np.arange(devices).reshape(first).transpose(order).reshape(tiles)
    places = [np.argwhere(grid == device)[0] for device in range(devices)]
    return [tuple(slice(p * dim // n, (p + 1) * dim // n) for p, n, dim in zip(place, tiles, dims))
            for place in places]


def run_sharded(engine, text, inputs, devices):
    """The results of a module with shardings, put together from those of all devices."""
    arguments, results = signature(text)
    head = text.split("@main(")[1].split(") {\n")[0]
    shardings = re.findall(r'mhlo\.sharding = "([^"]*)"', head)
    assert len(inputs) == len(arguments) and len(shardings) == len(arguments + results)
    parts = [cuts(s, dims, devices) for s, (_, dims) in zip(shardings, arguments + results)]

    def part_types(all_types, their_cuts):
        return [(dtype, [s.stop - s.start for s in cut[0]])
                for (dtype, _), cut in zip(all_types, their_cuts)]

    mine, theirs = parts[:len(arguments)], parts[len(arguments):]
    arrays = [np.asarray(x)[cut[d]] for d in range(devices) for x, cut in zip(inputs, mine)]
    have = ask(engine, devices, text, arrays, part_types(arguments, mine),
               part_types(results, theirs))
    assert len(have) == devices * len(results)
    out = [np.empty(dims, have[i].dtype) for i, (_, dims) in enumerate(results)]
    for i, array in enumerate(have):
        out[i % len(out)][theirs[i % len(out)][i // len(out)]] = array
    return out
