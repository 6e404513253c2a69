"""Our model, loss, gradients and optimiser against transformers + PyTorch on the same weights and
batch: dropout 0, f32."""
import os
import subprocess

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import RobertaConfig, RobertaForMaskedLM, get_linear_schedule_with_warmup

PROBE = os.path.join(os.environ["ATHANOR_PROGRAMS"], "train_program_step_probe")
STEPS, RATE, WARMUP, DECAY = 20, 1e-3, 4, 0.05

# Widths, heads and lengths that are not powers of two; padding; several micro-batches.
CASES = {
    "usual": dict(hidden=64, layers=2, heads=4, inner=128, act="gelu", pad=1, types=1, rows=4,
                  length=32, micro=1, clip=1.0, eps=1e-5),
    "odd_sizes": dict(hidden=36, layers=3, heads=3, inner=50, act="gelu_new", pad=3, types=2,
                      rows=3, length=19, micro=1, clip=0.05, eps=1e-12),
    "relu_no_clip": dict(hidden=32, layers=1, heads=1, inner=64, act="relu", pad=0, types=1,
                         rows=2, length=7, micro=1, clip=0.0, eps=1e-5),
    "accumulated": dict(hidden=48, layers=2, heads=2, inner=96, act="silu", pad=3, types=1, rows=2,
                        length=16, micro=3, clip=1.0, eps=1e-5),
}


def make_model(case, seed):
    torch.manual_seed(seed)
    config = RobertaConfig(
        vocab_size=131, hidden_size=case["hidden"], num_hidden_layers=case["layers"],
        num_attention_heads=case["heads"], intermediate_size=case["inner"],
        hidden_act=case["act"], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        max_position_embeddings=case["length"] + case["pad"] + 1, type_vocab_size=case["types"],
        layer_norm_eps=case["eps"], pad_token_id=case["pad"], bos_token_id=10, eos_token_id=11,
        initializer_range=0.2)
    model = RobertaForMaskedLM(config)
    with torch.no_grad():  # biases and norms away from 0 and 1, so that they matter
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name.lower():
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def make_batches(case, seed):
    """Micro-batches with very different counts of labels, and padded ends of rows."""
    rng = np.random.default_rng(seed)
    rows, length = case["rows"], case["length"]
    places = rows * length
    batches = []
    for micro in range(case["micro"]):
        ids = rng.integers(12, 131, (rows, length)).astype(np.int32)
        mask = np.ones((rows, length), np.int32)
        for row in range(1, rows):
            end = int(rng.integers(length // 2, length + 1))
            ids[row, end:], mask[row, end:] = case["pad"], 0
        chosen = np.flatnonzero((rng.random(ids.shape) < [0.3, 0.05, 0.6][micro]) & (mask == 1))
        if len(chosen) == 0:
            chosen = np.array([2])
        labels = rng.integers(12, 131, len(chosen))
        batch = dict(input_ids=ids, attention_mask=mask,
                     positions=np.zeros(places, np.int32), labels=np.zeros(places, np.int32),
                     weights=np.zeros(places, np.float32))
        batch["positions"][:len(chosen)] = chosen
        batch["labels"][:len(chosen)] = labels
        batch["weights"][:len(chosen)] = 1
        full = np.full(places, -100, np.int64)
        full[chosen] = labels
        batch["torch_labels"] = torch.from_numpy(full.reshape(rows, length))
        batch["count"] = len(chosen)
        batches.append(batch)
    return batches


def summed_loss(model, batch):
    out = model(input_ids=torch.from_numpy(batch["input_ids"]).long(),
                attention_mask=torch.from_numpy(batch["attention_mask"]).long())
    loss = torch.nn.functional.cross_entropy(
        out.logits.view(-1, out.logits.shape[-1]), batch["torch_labels"].view(-1),
        ignore_index=-100, reduction="sum")
    return loss, out.logits.view(-1, out.logits.shape[-1])


def decay_groups(model):
    plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "norm" in n.lower()]
    rest = [p for n, p in model.named_parameters()
            if not (n.endswith("bias") or "norm" in n.lower())]
    return [{"params": rest, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}]


def train_in_torch(model, batches, clip):
    optimizer = torch.optim.AdamW(decay_groups(model), lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    schedule = get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    total = sum(batch["count"] for batch in batches)
    losses, norms = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        step_loss = 0.0
        for batch in batches:
            loss, _ = summed_loss(model, batch)
            (loss / total).backward()
            step_loss += loss.item() / total
        norms.append(torch.nn.utils.clip_grad_norm_(
            model.parameters(), clip if clip > 0 else float("inf")).item())
        optimizer.step()
        schedule.step()
        losses.append(step_loss)
    return losses, norms


@pytest.fixture(scope="module", params=list(CASES))
def both(request, tmp_path_factory):
    """(ours, torch's) values for one case."""
    case = CASES[request.param]
    folder = str(tmp_path_factory.mktemp(request.param))
    model, batches = make_model(case, 7), make_batches(case, 3)
    model.save_pretrained(folder)
    names = ["input_ids", "attention_mask", "positions", "labels", "weights"]
    save_file({n: np.stack([b[n] for b in batches]) for n in names}, f"{folder}/input.safetensors")
    subprocess.run([PROBE, folder, f"{folder}/input.safetensors", f"{folder}/output.safetensors",
                    str(STEPS), str(RATE), str(WARMUP), str(DECAY), str(case["clip"])], check=True)
    ours = load_file(f"{folder}/output.safetensors")

    first = batches[0]
    loss, logits = summed_loss(model, first)
    loss.backward()
    theirs = {"loss": loss.item(), "count": first["count"],
              "logits": logits.detach().numpy()[first["positions"][:first["count"]]],
              "grads": {n: p.grad.numpy().copy() for n, p in model.named_parameters()}}
    theirs["losses"], theirs["norms"] = train_in_torch(model, batches, case["clip"])
    theirs["params"] = {n: p.detach().numpy().copy() for n, p in model.named_parameters()}
    return ours, theirs


def test_logits(both):
    ours, theirs = both
    assert np.abs(ours["logits"][:theirs["count"]] - theirs["logits"]).max() < 1e-4


def test_loss(both):
    ours, theirs = both
    assert ours["loss_and_weight"][1] == theirs["count"]
    assert abs(ours["loss_and_weight"][0] - theirs["loss"]) < 1e-5 * theirs["loss"]


def test_every_gradient(both):
    ours, theirs = both
    names = {n[5:] for n in ours if n.startswith("grad.")}
    assert names == set(theirs["grads"])
    whole = np.sqrt(sum((g ** 2).sum() for g in theirs["grads"].values()))
    for name, wanted in theirs["grads"].items():
        norm = np.linalg.norm(wanted)
        # The key's bias has no gradient in exact arithmetic; what is left of it is rounding.
        allowed = 1e-4 * norm if not name.endswith("key.bias") else 1e-6 * whole
        assert np.linalg.norm(ours["grad." + name] - wanted) <= allowed, name


def test_losses_and_norms_of_each_step(both):
    ours, theirs = both
    np.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=2e-5)
    np.testing.assert_allclose(ours["norms"], theirs["norms"], rtol=1e-3)


def test_parameters_after_twenty_steps(both):
    ours, theirs = both
    for name, wanted in theirs["params"].items():
        if name.endswith("key.bias"):
            continue  # AdamW makes steps of full size out of the rounding in its gradient
        assert np.abs(ours["param." + name] - wanted).max() < 1e-4, name
