"""athanor plan with the TPU compiler in libtpu and no TPU: a tiny model on four chips. Its cycles
are added up a second time here, by TensorFlow reading the program that the compiler returned."""
import json
import os
import pathlib
import re
import resource
import subprocess
import xml.etree.ElementTree

import pytest

ATHANOR = os.environ.get("ATHANOR", "build/athanor")
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBTPU = ROOT / "build" / "pjrt" / "libtpu.so"
TINY = """--hidden-size 64 --num-hidden-layers 1 --num-attention-heads 1 --intermediate-size 128
    --vocab-size 200 --max-seq-length 32 --max-position-embeddings 34 --max-predictions-per-seq 8
    --per-device-train-batch-size 4 --max-steps 1000 --topology v5e:2x2""".split()
V5E = {"hertz": 1.5e9, "flops": 197e12}
PROMISED = """topology chips fits memory_bytes memory_limit_bytes step_seconds mfu tokens_per_second
    largest_batch_per_chip compile_seconds""".split()


def plan(cache, *words, code=0, **variables):
    environment = {**os.environ, "ATHANOR_COMPILE_CACHE": str(cache),
                   "ATHANOR_PJRT_TPU": str(LIBTPU), **variables}
    ran = subprocess.run([ATHANOR, "plan", str(ROOT / "examples" / "roberta-base.yaml"), *TINY,
                          *words], env=environment, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=1000)
    assert ran.returncode == code, ran.stderr
    return ran.stdout if code == 0 else ran.stderr


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    if not LIBTPU.exists():
        text = f"{LIBTPU} is missing (scripts/setup.sh check)"
        pytest.fail(text) if os.environ.get("ATHANOR_REQUIRE_PLUGINS") else pytest.skip(text)
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def report(cache):
    lines = plan(cache, "--json", "--no-largest-batch", "--top", "1000").splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def test_json_has_what_is_promised(report):
    assert [key for key in report if key in PROMISED] == PROMISED
    assert report["topology"] == "v5e:2x2" and report["chips"] == 4 and report["fits"] is True
    assert report["largest_batch_per_chip"] is None
    assert report["times_are"] == "estimates"


def parameters():
    """Numbers that the tiny model learns, counted as in transformers' RobertaForMaskedLM."""
    hidden, inner, vocabulary, positions = 64, 128, 200, 34
    embeddings = (vocabulary + positions + 1) * hidden + 2 * hidden
    layer = 4 * (hidden * hidden + hidden) + 2 * 2 * hidden
    layer += hidden * inner + inner + inner * hidden + hidden
    head = hidden * hidden + hidden + 2 * hidden + vocabulary
    return embeddings + layer + head


def test_memory_by_kind_is_what_the_model_has(report):
    kinds = report["memory"]
    assert kinds["parameters"] == 4 * parameters()
    assert kinds["optimizer"] == 8 * parameters()
    assert report["memory_bytes"] == sum(kinds[k] for k in kinds if k != "unit")
    assert 16.8e9 < report["memory_limit_bytes"] < 17.0e9


def test_flops_are_those_of_the_forward_pass_three_times(report):
    hidden, inner, vocabulary, length, batch, predicted = 64, 128, 200, 32, 4, 8
    token = 2 * 3 * hidden * hidden + 4 * length * hidden  # queries, keys, values; attention
    # What follows in the last layer is computed where something is predicted only.
    prediction = 2 * (hidden * hidden + 2 * hidden * inner)
    prediction += 2 * (hidden * hidden + hidden * vocabulary)
    forward = batch * (length * token + predicted * prediction)
    assert report["model_flops_per_chip"] == pytest.approx(3 * forward, rel=1e-9)
    assert report["mfu"] == pytest.approx(
        3 * forward / report["step_seconds"] / V5E["flops"], rel=1e-9)
    assert report["tokens_per_second"] == pytest.approx(
        4 * batch * length / report["step_seconds"], rel=1e-9)


def test_the_run_and_its_cost_follow_from_the_step(cache, report):
    hours = 1000 * report["step_seconds"] / 3600
    assert report["hours"] == pytest.approx(hours, rel=1e-9)
    priced = json.loads(plan(cache, "--json", "--no-largest-batch", "--price", "2.5"))
    assert priced["cost"] == pytest.approx(2.5 * 4 * hours, rel=1e-9)


def stored_programs(cache):
    """The programs in the cache: field 12 of each answer, field 1 of what is in it."""
    def varint(data, at):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    def field(data, number):
        at = 0
        while at < len(data):
            tag, at = varint(data, at)
            size, at = varint(data, at)
            if tag & 7 != 2:
                continue
            if tag >> 3 == number:
                return data[at:at + size]
            at += size
        raise AssertionError(f"no field {number}")

    header = len("ATHXLA1\n") + 2 * 64 + 1
    return [field(field(entry.read_bytes()[header:], 12), 1)
            for entry in (cache / "plans").iterdir()]


def cycles_by_tensorflow(program):
    hlo_pb2 = pytest.importorskip("tensorflow.compiler.xla.service.hlo_pb2")
    module = hlo_pb2.HloModuleProto.FromString(program)
    (entry,) = (c for c in module.computations if c.id == module.entry_computation_id)
    computations = {c.id: c for c in module.computations}

    def cycles(computation):
        total = 0
        for i in computation.instructions:
            assert i.opcode not in ("while", "call")
            found = re.search(r'"estimated_cycles":"(\d+)"', i.backend_config.decode())
            total += int(found[1]) if found else 0
            if i.opcode == "conditional":
                total += min(cycles(computations[c]) for c in i.called_computation_ids)
        return total

    return cycles(entry)


def test_cycles_add_up_to_what_tensorflow_reads(cache, report):
    (program,) = stored_programs(cache)
    total = cycles_by_tensorflow(program)
    assert total > 0
    assert report["compute_seconds"] == pytest.approx(total / V5E["hertz"], rel=1e-9)
    assert sum(o["seconds"] for o in report["operations"]) == pytest.approx(
        report["compute_seconds"], rel=1e-6)


def test_operations_have_the_graphs_names(report):
    names = [o["name"] for o in report["operations"]]
    assert "layer.N.attention.attention" in names
    assert "layer.N.attention.attention_backward" in names
    assert sum(o["share"] for o in report["operations"]) == pytest.approx(1, rel=1e-6)


def test_a_second_plan_comes_from_the_cache(cache, report):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    again = json.loads(plan(cache, "--json", "--no-largest-batch", "--top", "1000"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert again == report
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 2, "seconds of a processor"


def test_people_are_told_that_times_are_estimates(cache, report):
    text = plan(cache, "--no-largest-batch")
    for line in text.splitlines():
        if re.search(r"\bms\b|tokens/s|hours|utilisation", line):
            assert "estimate" in line


def test_the_drawing_has_the_numbers_of_the_report(cache, report, tmp_path):
    path = tmp_path / "plan.svg"
    told = json.loads(plan(cache, "--json", "--no-largest-batch", "--batch-sizes", "8,4,2",
                           "--plot", str(path)))
    assert [b["batch_per_chip"] for b in told["batches"]] == [2, 4, 8]
    own = told["batches"][1]
    assert (own["memory_bytes"], own["step_seconds"]) == (
        report["memory_bytes"], report["step_seconds"])
    marks = [m.attrib for m in xml.etree.ElementTree.parse(path).iter() if m.tag.endswith("circle")]
    limits = re.findall(r'data-limit="(\d+)"', path.read_text())
    assert limits == [str(report["memory_limit_bytes"])]
    for attribute, key in (("data-seconds", "step_seconds"), ("data-bytes", "memory_bytes")):
        drawn = [m for m in marks if attribute in m]
        assert {int(m["data-batch"]): float(m[attribute]) for m in drawn} == {
            b["batch_per_chip"]: b[key] for b in told["batches"]}
        # On the page the distances are in proportion.
        x, y, value = ([float(m[k]) for m in drawn] for k in ("cx", "cy", attribute))
        assert (x[1] - x[0]) / (x[2] - x[0]) == pytest.approx(1 / 3, abs=1e-3)
        assert (y[0] - y[1]) * (value[2] - value[0]) == pytest.approx(
            (y[0] - y[2]) * (value[1] - value[0]), abs=0.02 * abs(value[2] - value[0]))


def test_out_of_memory_names_the_buffers_and_what_helps(cache):
    words = ("--vocab-size", "4000000", "--hidden-size", "1024", "--no-largest-batch")
    text = plan(cache, *words)
    assert "DOES NOT FIT" in text
    assert re.search(r"15\.26GiB .*f32\[4000000,1024\].*embeddings\.sum", text)
    assert "per_device_train_batch_size" in text
    refused = json.loads(plan(cache, *words, "--json"))
    assert refused["fits"] is False and refused["step_seconds"] is None
    assert refused["memory_bytes"] > 3 * 4 * 4000000 * 1024 > refused["memory_limit_bytes"]


@pytest.mark.parametrize("words, code, part", [
    (["--topology", "v7:2x2"], 2, "generations known"),
    (["--topology", ""], 2, "no topology"),
    (["--topology", "v5e:2x2,"], 2, "no shape"),
    (["--vocab-size", "0"], 6, "tokenizer"),
    (["--price", "-1"], 2, "price"),
])
def test_wrong_words_are_refused(cache, words, code, part):
    assert part in plan(cache, *words, code=code)


@pytest.mark.parametrize("name, value, code, part", [
    ("ATHANOR_XLA_OPTIONS", "xla_no_such_flag=1", 3, "xla_no_such_flag"),
    ("ATHANOR_XLA_OPTIONS", "xla_no_such_flag", 2, "name=value"),
    ("ATHANOR_PARTITIONER", "nonsense", 2, "gspmd and shardy"),
])
def test_the_compilers_variables_hold_for_a_plan_too(cache, report, name, value, code, part):
    """They are part of the key as well: the same plan without them is in the cache."""
    text = plan(cache, "--no-largest-batch", code=code, **{name: value})
    assert name in text and part in text


def test_another_devices_plugin_is_told(cache):
    plugin = LIBTPU.parent / "cpu-0.115.so"
    text = plan(cache, "--no-largest-batch", code=5, ATHANOR_PJRT_TPU=str(plugin))
    assert "no TPU compiler" in text and str(plugin) in text


def test_micro_batches_before_the_last_cost_what_their_own_program_does(cache, report, tmp_path):
    words = ("--json", "--no-largest-batch", "--gradient-accumulation-steps")
    five = json.loads(plan(tmp_path, *words, "5"))
    add, apply = sorted(map(cycles_by_tensorflow, stored_programs(tmp_path)))
    assert five["compute_seconds"] == pytest.approx((4 * add + apply) / V5E["hertz"], rel=1e-9)
    assert five["tokens_per_second"] == pytest.approx(
        5 * 4 * 4 * 32 / five["step_seconds"], rel=1e-9)
    # Beside the moments there are the sums of the gradients, and of three numbers.
    assert five["memory"]["optimizer"] == 12 * parameters() + 3 * 4
    assert five["memory_bytes"] > report["memory_bytes"]
