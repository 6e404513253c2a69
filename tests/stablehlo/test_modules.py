"""Modules that are awkward for the printer, run on the CPU plugins."""
import numpy as np
import pytest

import running

module = running.program("stablehlo_program_modules")


def inputs(count):
    return [np.random.default_rng(i).standard_normal((4, 2)).astype(np.float32)
            for i in range(count)]


@pytest.mark.parametrize("engine", running.ENGINES)
def test_names_that_mlir_would_not_take_do_no_harm(engine):
    given = inputs(6)
    for out, x in zip(running.run(engine, module("names"), given), given, strict=True):
        np.testing.assert_array_equal(out, x + x)


@pytest.mark.parametrize("engine", running.ENGINES)
def test_variables_may_change_places_and_results_be_arguments(engine):
    text = module("swap")
    assert running.names(text) == (["a", "b", "c", "x"],
                                   ["a", "b", "c", "old a", "x", "sum", "sum again", "constant"])
    a, b, c, x = inputs(4)
    out = running.run(engine, text, [a, b, c, x])
    for have, want in zip(out, [b, a, a + a, a, x, a + a, a + a, np.full_like(a, 0.5)],
                          strict=True):
        np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("engine", running.ENGINES)
def test_a_value_that_is_held_to_a_sharding_is_the_same_value(engine):
    w, x = inputs(2)
    out = running.run(engine, module("held"), [w, x], devices=4)
    np.testing.assert_array_equal(out[0], 2 * (x * x))
    np.testing.assert_array_equal(out[1], w * w)
