"""One training step of bench/train_step.c's model as plain JAX: jit, donated state, AdamW with
clipping, dropout by the fast `rbg` generator, the chosen positions gathered before the projection.

    python bench/train_step_jax.py --plugin build/pjrt/cpu-0.115.so [--size mini|base] [--steps 6]

Prints one JSON line with the field names of bench/train_step.c. Without --plugin JAX's own CPU
client is used."""
import argparse
import json
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("--size", default="mini", choices=["mini", "base"])
parser.add_argument("--plugin")
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--warmup", type=int, default=2)
parser.add_argument("--random", default="rbg", choices=["rbg", "threefry2x32"])
arguments = parser.parse_args()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

if arguments.plugin:
    from jax._src import xla_bridge
    xla_bridge.register_plugin("given", library_path=arguments.plugin, priority=500, options={})
jax.config.update("jax_platforms", "given" if arguments.plugin else "cpu")
jax.config.update("jax_default_prng_impl", arguments.random)

SIZES = {"mini": (4, 256, 4, 1024, 8192, 32), "base": (12, 768, 12, 3072, 32000, 8)}
LAYERS, HIDDEN, HEADS, INNER, VOCABULARY, BATCH = SIZES[arguments.size]
LENGTH, RATE = 128, 0.1
PLACES = 20 * BATCH
numbers = np.random.default_rng(0)


def matrix(*shape):
    return numbers.normal(0, 0.02, shape).astype(np.float32)


def norm():
    return np.ones(HIDDEN, np.float32), np.zeros(HIDDEN, np.float32)


def layer():
    return {"qkv": (matrix(HIDDEN, 3 * HIDDEN), np.zeros(3 * HIDDEN, np.float32)),
            "out": (matrix(HIDDEN, HIDDEN), np.zeros(HIDDEN, np.float32)),
            "up": (matrix(HIDDEN, INNER), np.zeros(INNER, np.float32)),
            "down": (matrix(INNER, HIDDEN), np.zeros(HIDDEN, np.float32)),
            "norm1": norm(), "norm2": norm()}


parameters = {"words": matrix(VOCABULARY, HIDDEN), "places": matrix(514, HIDDEN),
              "type": matrix(HIDDEN), "norm": norm(), "layers": [layer() for _ in range(LAYERS)],
              "head": (matrix(HIDDEN, HIDDEN), np.zeros(HIDDEN, np.float32)),
              "head_norm": norm(), "bias": np.zeros(VOCABULARY, np.float32)}


def linear(x, weights):
    return x @ weights[0] + weights[1]


def layer_norm(x, weights):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * weights[0] + weights[1]


def dropout(x, key):
    return jnp.where(jax.random.bernoulli(key, 1 - RATE, x.shape), x / (1 - RATE), 0)


def attention(x, weights, mask, keys):
    def by_head(t):
        return t.reshape(BATCH, LENGTH, HEADS, -1).transpose(0, 2, 1, 3)
    q, k, v = (by_head(t) for t in jnp.split(linear(x, weights["qkv"]), 3, -1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / (HIDDEN // HEADS) ** 0.5 + mask
    weighted = dropout(jax.nn.softmax(scores), keys[0])
    o = jnp.einsum("bhqk,bhkd->bhqd", weighted, v).transpose(0, 2, 1, 3).reshape(x.shape)
    return dropout(linear(o, weights["out"]), keys[1])


def loss_of(p, batch, key):
    keys = iter(jax.random.split(key, 1 + 3 * LAYERS))
    mask = jnp.where(batch["mask"][:, None, None, :] > 0, 0, -1e9)
    x = p["words"][batch["ids"]] + p["places"][2 + jnp.arange(LENGTH)] + p["type"]
    x = dropout(layer_norm(x, p["norm"]), next(keys))
    for its in p["layers"]:
        x = layer_norm(x + attention(x, its, mask, (next(keys), next(keys))), its["norm1"])
        inner = jax.nn.gelu(linear(x, its["up"]), approximate=False)
        x = layer_norm(x + dropout(linear(inner, its["down"]), next(keys)), its["norm2"])
    x = x.reshape(-1, HIDDEN)[batch["positions"]]
    x = layer_norm(jax.nn.gelu(linear(x, p["head"]), approximate=False), p["head_norm"])
    logits = x @ p["words"].T + p["bias"]
    label = jnp.take_along_axis(logits, batch["labels"][:, None], 1)[:, 0]
    return (jax.nn.logsumexp(logits, axis=-1) - label).mean()


def step(state, batch, number, rate):
    p, m, v = state
    key = jax.random.fold_in(jax.random.key(42), number)
    loss, g = jax.value_and_grad(loss_of)(p, batch, key)
    length = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(g)))
    g = jax.tree.map(lambda x: x * jnp.minimum(1, 1 / (length + 1e-6)), g)
    t = number + 1.0
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)

    def update(p, m, v):
        decay = 0.01 if p.ndim > 1 else 0
        direction = (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
        return p - rate * (direction + decay * p)
    return (jax.tree.map(update, p, m, v), m, v), loss, length


ids = numbers.integers(5, VOCABULARY, (BATCH, LENGTH), dtype=np.int32)
positions = np.concatenate([r * LENGTH + np.sort(numbers.choice(LENGTH, 20, replace=False))
                            for r in range(BATCH)]).astype(np.int32)
batch = {"ids": ids, "mask": np.ones_like(ids), "positions": positions,
         "labels": ids.reshape(-1)[positions]}
zeros = jax.tree.map(np.zeros_like, parameters)
state = jax.device_put((parameters, zeros, zeros), jax.devices()[0])
begun = time.process_time()
run = jax.jit(step, donate_argnums=0).lower(state, batch, np.float32(0), np.float32(0)).compile()
compile_cpu = time.process_time() - begun
took = []
for i in range(arguments.warmup + arguments.steps):
    if i == arguments.warmup:
        cpu_begun = time.process_time()
    begun = time.perf_counter()
    state, loss, _ = run(state, batch, np.float32(i), np.float32(1e-4))
    loss = float(loss)
    took.append(time.perf_counter() - begun)
cpu = (time.process_time() - cpu_begun) / arguments.steps
later = took[arguments.warmup:]
print(json.dumps({"bench": "mlm_train", "lib": f"jax {jax.__version__}", "size": arguments.size,
                  "first_step_s": round(took[0], 3), "compile_cpu_s": round(compile_cpu, 3),
                  "step_cpu_s": round(cpu, 4), "step_s_median": round(statistics.median(later), 4),
                  "step_s_min": round(min(later), 4), "loss_last": round(loss, 3)}))
