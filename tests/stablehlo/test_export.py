"""`athanor export --stablehlo`: the text of a model's programs, run by XLA with the weights of a
model of transformers, gives what transformers and PyTorch give."""
import os
import subprocess

import numpy as np
import pytest
import torch
from transformers import RobertaConfig, RobertaForMaskedLM

import running

ATHANOR = os.environ["ATHANOR"]
ROWS, LENGTH, VOCABULARY, PAD = 2, 7, 29, 1
RATE, DECAY = 1e-3, 0.05
MESHES = [None, "data=2,model=2"]  # of one device and of four, which share a batch by two
SHARES, DEVICES = 2, 4


def export(*words, code=0):
    done = subprocess.run([ATHANOR, "export", *map(str, words)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(3)
    config = RobertaConfig(
        vocab_size=VOCABULARY, hidden_size=12, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=20, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        max_position_embeddings=LENGTH + PAD + 1, type_vocab_size=1, pad_token_id=PAD,
        bos_token_id=0, eos_token_id=2, initializer_range=0.2)
    model = RobertaForMaskedLM(config).eval()
    with torch.no_grad():  # biases and norms away from 0 and 1, so that they matter
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name.lower():
                parameter.add_(0.1 * torch.randn_like(parameter))
    folder = tmp_path_factory.mktemp("model")
    config.save_pretrained(folder)
    model.folder = folder
    return model


def shape(model, mesh=None):
    rows = ROWS // SHARES if mesh else ROWS
    return ["--stablehlo", "--config-name", model.folder, "--max-seq-length", LENGTH,
            "--per-device-train-batch-size", rows, "--per-device-eval-batch-size", rows,
            "--max-predictions-per-seq", 3, "--weight-decay", DECAY,
            *(["--mesh", mesh] if mesh else [])]


def parameter(state, name):
    """A tensor of ours; query, key and value lie side by side in one of them."""
    if ".self.qkv." in name:
        return torch.cat([state[name.replace("qkv", part)] for part in ("query", "key", "value")])
    return state[name]


def batch():
    random = np.random.default_rng(8)
    ids = random.integers(3, VOCABULARY, (ROWS, LENGTH)).astype(np.int32)
    mask = np.ones((ROWS, LENGTH), np.int32)
    ids[1, 5:], mask[1, 5:] = PAD, 0
    places = (np.cumsum(mask, axis=1) * mask + PAD).astype(np.int32)  # as create_position_ids does
    return dict(input_ids=ids, attention_mask=mask, position_ids=places,
                positions=np.array([1, 3, 6, 8, 7, 7], np.int32),  # three of each row
                labels=np.array([4, 9, 28, 3, 0, 0], np.int32),
                weights=np.array([1, 1, 1, 1, 0, 0], np.float32),
                learning_rate=np.float32(RATE), correction1=np.float32(1 - 0.9),
                correction2=np.float32(1 - 0.999))


def run(engine, text, model, values, mesh=None):
    """Results by name; variables that have no value yet are zeros."""
    state = model.state_dict()
    arguments, results = running.names(text)
    inputs = []
    for name, (dtype, dims) in zip(arguments, running.signature(text)[0]):
        if name in values:
            inputs.append(values[name])
        elif name[:2] in ("m.", "v."):
            inputs.append(np.zeros(dims, np.float32))
        else:
            inputs.append(parameter(state, name).numpy())
    out = (running.run_sharded(engine, text, inputs, DEVICES) if mesh
           else running.run(engine, text, inputs))
    return dict(zip(results, out, strict=True))


def torch_logits(model, values):
    return model(input_ids=torch.from_numpy(values["input_ids"]).long(),
                 attention_mask=torch.from_numpy(values["attention_mask"]).long()).logits


def torch_loss(model, values):
    logits = torch_logits(model, values).view(-1, VOCABULARY)[values["positions"][:4]]
    labels = torch.from_numpy(values["labels"][:4]).long()
    return torch.nn.functional.cross_entropy(logits, labels, reduction="sum"), logits, labels


@pytest.mark.parametrize("engine", running.ENGINES)
def test_the_forward_pass_gives_the_logits_of_transformers(engine, model):
    values = batch()
    one = {name: values[name][1:] for name in ("input_ids", "attention_mask", "position_ids")}
    one["positions"] = np.array([0, 3, 4, 1], np.int32)
    out = run(engine, export("--what", "fill-mask", *shape(model)), model, one)
    with torch.no_grad():
        wanted = torch_logits(model, one)[0, one["positions"]].numpy()
    np.testing.assert_allclose(out["logits"], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("engine", running.ENGINES)
def test_an_evaluation_gives_the_sums_of_torch(engine, mesh, model):
    values = batch()
    out = run(engine, export("--what", "eval", *shape(model, mesh)), model, values, mesh)
    with torch.no_grad():
        loss, logits, labels = torch_loss(model, values)
    assert out["loss"] == pytest.approx(loss.item(), rel=1e-5)
    assert out["weight"] == 4
    assert out["correct"] == (logits.argmax(1) == labels).sum().item()


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("engine", running.ENGINES)
def test_a_training_step_gives_the_gradients_and_weights_of_torch(engine, mesh, model, tmp_path):
    values = batch()
    export(*shape(model, mesh), "--output", tmp_path / "step.mlir")
    text = (tmp_path / "step.mlir").read_text()
    assert f"num_partitions = {DEVICES if mesh else 1} " in text
    assert ("mhlo.sharding" in text) == (mesh is not None)
    out = run(engine, text, model, values, mesh)
    theirs = RobertaForMaskedLM(model.config).eval()
    theirs.load_state_dict(model.state_dict())
    plain = [p for n, p in theirs.named_parameters() if n.endswith("bias") or "norm" in n.lower()]
    rest = [p for n, p in theirs.named_parameters()
            if not (n.endswith("bias") or "norm" in n.lower())]
    optimizer = torch.optim.AdamW([{"params": rest, "weight_decay": DECAY},
                                   {"params": plain, "weight_decay": 0.0}], lr=RATE)
    loss, _, _ = torch_loss(theirs, values)
    (loss / 4).backward()
    norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
    optimizer.step()
    assert out["loss"] == pytest.approx(loss.item(), rel=1e-5)
    assert out["norm"] == pytest.approx(norm.item(), rel=1e-5)
    state = theirs.state_dict()
    gradients = {n: p.grad for n, p in theirs.named_parameters()}
    names = [n[2:] for n in out if n.startswith("m.")]
    assert len(names) == len(gradients) - 4  # weights and biases of q, k and v lie together
    for name in names:  # after one step m is a tenth of the clipped gradient
        gradient = parameter(gradients, name).numpy()
        np.testing.assert_allclose(out["m." + name], 0.1 * gradient, rtol=1e-4, atol=2e-7)
        # Where a gradient is no more than rounding, Adam's step has any size up to the rate.
        certain = np.abs(gradient) > 1e-5
        np.testing.assert_allclose(out[name][certain], parameter(state, name).numpy()[certain],
                                   rtol=1e-5, atol=1e-6)


def test_what_is_missing_is_said():
    assert "needs --stablehlo" in export(code=2)
    assert "max_seq_length" in export("--stablehlo", code=2)
    assert "vocab_size" in export("--stablehlo", "--max-seq-length", 8, code=2)
    assert "no option --device" in export("--stablehlo", "--device", "tpu", code=2)  # not ignored
    small = ["--stablehlo", "--max-seq-length", 8, "--vocab-size", 9]
    assert "--what is train" in export(*small, "--what", "everything", code=2)
    assert "gradient_accumulation_steps" in export(*small, "--what", "accumulate", code=2)
    assert "attention heads" in export(*small, "--mesh", "model=5", code=3)
    assert "mesh" in export(*small, "--mesh", "data=x", code=2)


def test_fill_mask_is_for_one_device_whatever_the_mesh(model):
    words = ["--what", "fill-mask", *shape(model)]
    assert export(*words) == export(*words, "--mesh", "data=2,model=2")
