"""Each form of statement that the writer knows, compiled by XLA and run, against numpy: what the
text means is said by others, not by the writer."""
import math

import ml_dtypes
import numpy as np
import pytest

import running

statements = running.program("stablehlo_program_statements")
names = statements().split()
random = np.random.default_rng(4)


def erf(x):
    return np.vectorize(math.erf)(x)


def compare(x, y):
    return ((x < y) * 1 + (x <= y) * 2 + (x == y) * 4 + (x != y) * 8 + (x >= y) * 16 + (x > y) * 32)


def bf16(x):
    """Rounded to bfloat16: to the nearest, ties to even."""
    return np.asarray(x, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)


def scatter(base, ids, rows):
    out = base.copy()
    for place in np.ndindex(ids.shape):
        if 0 <= ids[place] < len(base):
            out[ids[place]] += rows[place]
    return out


WHAT = {
    "fill": lambda x: np.full_like(x, 0.1),
    "fill_bf16": lambda x: bf16(np.full_like(x, 0.1)),
    "fill_nothing_but_infinity": lambda x: np.full_like(x, -np.inf),
    "iota": lambda x: np.broadcast_to(np.arange(5), (3, 5)),
    "reshape": lambda x: x.reshape(2, 2, 6),
    "broadcast": lambda x: np.broadcast_to(x[:, None, :], (3, 2, 4)),
    "broadcast_rows": lambda x, y: np.broadcast_to(x, y.shape),
    "broadcast_columns": lambda x, y: np.broadcast_to(x[..., None], y.shape),
    "broadcast_scalar": lambda x, y: np.broadcast_to(x, y.shape),
    "transpose": lambda x: x.transpose(2, 0, 1),
    "slice": lambda x: x[1:4, 2:5],
    "concatenate": lambda x, y: np.concatenate([x, y, x], axis=1),
    "to_bf16": bf16,
    "to_i32": lambda x: np.trunc(x).astype(np.int32),
    "same": lambda x: x,
    "exponential": np.exp, "negate": np.negative, "tanh": np.tanh, "sqrt": np.sqrt, "log": np.log,
    "rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: 1 / (1 + np.exp(-x)), "erf": erf,
    "abs": np.abs, "is_finite": np.isfinite,
    "add": np.add, "add_scalar": np.add, "subtract": np.subtract, "subtract_scalar": np.subtract,
    "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "power": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "remainder": np.remainder, "shift_left": np.left_shift, "shift_right": np.right_shift,
    "wrapping": lambda x: np.uint32(0x85EBCA6B) * x,
    "compare": compare, "compare_i32": compare, "compare_u32": compare,
    "select": lambda x, y: np.where(x < 0, y, np.float32(7)),
    "if_below": lambda x, y: y + x if x < 0 else None,
    "if_above": lambda x, y: 7 - y if x >= 0 else None,
    "barrier": bf16,
    "sum": lambda x: x.sum(axis=1), "sum_all": np.sum,
    "largest": lambda x: x.max(axis=(0, 2)), "smallest": lambda x: x.min(axis=2),
    "largest_i32": lambda x: x.max(axis=0), "smallest_u32": lambda x: x.min(axis=0),
    "dot": np.matmul, "dot_first": lambda x, y: x.T @ y, "dot_bf16": np.matmul,
    "dot_batch": lambda x, y: x @ y.swapaxes(2, 3),
    "gather": lambda x, ids: x[ids], "gather_bf16": lambda x, ids: x[ids],
    "scatter": scatter,
}
POSITIVE = {"sqrt", "log", "rsqrt", "power"}
BITS_NEED = {"shift_left": 32, "shift_right": 32}


def numbers(name, place, dtype, shape):
    """Inputs that a statement is defined for, the awkward ones among them."""
    if name in ("gather", "gather_bf16", "scatter") and dtype == "i32":
        ids = random.integers(0, 6, shape).astype(np.int32)
        if name == "scatter":
            ids.flat[:3] = [-1, 6, 2]  # two outside add nothing
        return ids
    if dtype == "ui32":
        values = random.integers(0, 2**32, shape, dtype=np.uint32)
        values.flat[:2] = [2**32 - 1, 1]
        if place == 1 and name in BITS_NEED:
            values %= 32
        return values | 1 if name == "remainder" else values
    if dtype == "i32":
        values = random.integers(-9, 9, shape).astype(np.int32)
        values.flat[0] = -2**31
        return values
    values = (random.standard_normal(shape) * 3).astype(np.float32)
    if name in POSITIVE:
        values = np.abs(values) + np.float32(0.1)
    if name.startswith("compare") and place == 0:
        values.flat[:2] = [np.nan, np.inf]
    if name.startswith("compare") and place == 1:
        values.flat[1:3] = [np.inf, -0.0]
    if name in ("if_below", "if_above") and place == 0:
        values = np.abs(values) * np.float32(-1 if name == "if_below" else 1)
    if name == "is_finite":
        values.flat[:3] = [np.nan, np.inf, -np.inf]
    return bf16(values) if dtype == "bf16" else values


@pytest.mark.parametrize("engine", running.ENGINES)
@pytest.mark.parametrize("name", names)
def test_statement(name, engine):
    text = statements(name)
    arguments, results = running.signature(text)
    inputs = [numbers(name, place, *argument) for place, argument in enumerate(arguments)]
    [out] = running.run(engine, text, inputs)
    with np.errstate(all="ignore"):
        wanted = np.asarray(WHAT[name](*inputs))
    assert out.shape == tuple(results[0][1]) == wanted.shape
    if results[0][0] in ("f32", "bf16"):
        np.testing.assert_allclose(out, wanted, rtol=2e-6, atol=2e-6)
    else:
        np.testing.assert_array_equal(out, wanted)


def test_every_statement_is_known_here_and_there():
    assert set(names) == set(WHAT)
