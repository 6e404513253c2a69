"""The program as a person or a script meets it: help, errors and their exit codes, what goes to
standard output and what to standard error."""
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import pytest

from program import DEADLINE, Run, arguments_of, fail, objects, run, succeed

# What each command promises, from the README and the names of Hugging Face's TrainingArguments.
TRAIN_OPTIONS = """config json train-dataset eval-dataset tokenizer output-dir config-name
    model-name-or-path hidden-size num-hidden-layers num-attention-heads intermediate-size
    initializer-range
    hidden-act max-position-embeddings pad-vocab-to-multiple-of hidden-dropout-prob
    attention-probs-dropout-prob per-device-train-batch-size per-device-eval-batch-size
    gradient-accumulation-steps bf16 vocab-size max-seq-length max-predictions-per-seq
    num-train-epochs max-steps max-train-minutes learning-rate
    lr-scheduler-type warmup-steps warmup-ratio weight-decay adam-beta1 adam-beta2 adam-epsilon
    max-grad-norm mlm-probability seed logging-steps eval-steps save-steps save-total-limit
    max-eval-samples resume-from-checkpoint overwrite-output-dir device mesh threads"""
READING = """ input format documents text-column sql delimiter header drop-markup on-error"""
PROFILE = " profile profile-steps"
HUB = " push-to-hub hub-model-id hub-strategy hub-private-repo hub-token"
OPTIONS = {
    "tokenizer train": READING + """ output model vocab-size special-tokens memory threads seed-size
        max-token-length min-frequency lowercase initial-alphabet limit-alphabet""",
    "tokenizer encode": READING + """ tokenizer json details offsets view special-tokens pair
        max-length windows stride padding replace-invalid threads""",
    "tokenizer decode": "tokenizer skip-special-tokens",
    "tokenizer info": "tokenizer json",
    "tokenizer bench": "tokenizer input offsets threads json",
    "tokenizer convert": "lowercase pattern",
    "data show": READING + " label-column limit json",
    "data prepare": READING + """ tokenizer output max-length validation-split-percentage
        validation-by deduplicate near-similarity deduplicate-memory worker shard-size compression
        keep-blank-lines seed threads overwrite json""",
    "data inspect": "tokenizer limit features-of max-record-bytes json",
    "data verify": "max-record-bytes json",
    "data convert": "output compression max-record-bytes",
    "train": TRAIN_OPTIONS + PROFILE + HUB,
    "eval": "model data batch-size mlm-probability seed max-samples device mesh json",
    "fill-mask": "model top-k device json",
    "run": "output-dir set skip dry-run",
    "export": TRAIN_OPTIONS.replace(" json ", " stablehlo what output ").replace(" device ", " "),
    "plan": TRAIN_OPTIONS.replace(" device ", " ") + (
        " topology largest-batch batch-sizes plot top price prices jobs"),
    "hub pull": "revision dataset include exclude workers json",
    "hub push": "revision dataset message private include exclude json",
    "hub login": "token json",
    "hub logout": "",
    "hub whoami": "json",
    "storage ls": "json",
    "storage cp": "recursive",
    "storage rm": "recursive",
    "plugins list": "json",
    "plugins install": "index wheel",
    "devices": "json",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("commands"))


# --- help ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", OPTIONS)
def test_help_names_every_option(command):
    text = succeed(*command.split(), "--help")
    named = [line.split()[0][2:] for line in text.splitlines() if line.startswith("  --")]
    assert sorted(named) == sorted(OPTIONS[command].split())
    assert f"athanor {command}" in text and "Example" in text
    assert max(map(len, text.splitlines())) <= 96


def test_the_help_of_train_is_in_groups_with_what_is_required_and_the_defaults():
    groups = succeed("train", "--help").split("\n\n")
    titles = [group.splitlines()[0] for group in groups]
    data, model = (groups[titles.index(title)] for title in ("Data:", "Model:"))
    assert data.count("(required") == 3 and "(required" not in model
    assert "--hidden-size" in model and "--hidden-size" not in data
    assert succeed("export", "--help").count("(required") == 0  # nor has it a device
    assert succeed("plan", "--help").count("(required") == 1  # the topology
    optimisation = groups[titles.index("Optimisation:")]
    assert "Peak learning rate [5e-05]" in optimisation  # the default of TrainingArguments


@pytest.mark.parametrize("command", OPTIONS)
def test_every_command_is_in_the_help_of_the_program(command):
    assert f"  {command} " in succeed("--help")


def test_exit_codes_are_in_the_help():
    text = succeed("--help")
    for code in range(14):
        assert any(line.split()[:1] == [str(code)] for line in text.splitlines()), code


def test_a_group_alone_lists_its_commands():
    text = succeed("tokenizer")
    assert all(f"tokenizer {name} " in text for name in ("train", "encode", "decode", "info"))
    assert "data prepare" not in text


def test_version_is_one_line():
    assert succeed("--version").startswith("athanor ")


# --- exit codes ------------------------------------------------------------------------------


@pytest.mark.parametrize("command, near", [
    ("tokeniser encode", "tokenizer encode"),
    ("tokenizer encoed", "tokenizer encode"),
    ("trian", "train"),
    ("fillmask", "fill-mask"),
    ("eval --modle x", "--model"),
    ("train --learning-rte 1", "--learning-rate"),
    ("data prepare --maxlength 8", "--max-length"),
])
def test_2_a_wrong_name_is_answered_with_the_nearest(command, near):
    fail(2, near, *command.split())


@pytest.mark.parametrize("command, part", [
    ("", "no command given"),
    ("eval --model x", "--data"),
    ("tokenizer --bogus", "athanor tokenizer needs a command"),
    ("eval --model", "--model wants a value"),
    ("eval --model x --data y --batch-size 0", "between 1 and 65536"),
    ("eval --model x --data y --batch-size 1.5", "whole number"),
    ("eval --model x --data y --json=yes", "takes no value"),
    ("eval --model x --data y z", 'no argument "z"'),
    ("data verify", "one folder"),
    ("tokenizer train --input a --output b --vocab-size 99999999", "between 6 and 16777216"),
    ("tokenizer train --input a --output b --seed-size 14000001", "between 1 and 14000000"),
    ("tokenizer train --input a --output b --threads 1025", "--threads is 1025"),
    ("data prepare --tokenizer t --input a --output b --threads 1025", "--threads is 1025"),
    ("train --threads 1025", "--threads is 1025"),
])
def test_2_a_value_that_cannot_be_is_refused(command, part):
    fail(2, part, *command.split())


def test_3_text_that_is_not_utf8(made):
    fail(3, "line 2", "tokenizer", "encode", "--tokenizer", made.tokenizer, data=b"a\nb\xff\n")


def test_3_a_line_without_end(made):
    fail(3, "longer than 67108864 bytes", "tokenizer", "encode", "--tokenizer", made.tokenizer,
         data=b"a" * ((64 << 20) + 1))


def test_3_an_unknown_key_in_the_configuration_names_the_nearest(tmp_path):
    (tmp_path / "c.yaml").write_text("max_steps: 1\nlearnin_rate: 1\n")
    fail(3, "c.yaml:2: unknown key 'learnin_rate'; did you mean 'learning_rate'?",
         "train", "--config", tmp_path / "c.yaml")


def test_3_text_too_short_for_a_record(made, tmp_path):
    (tmp_path / "short.txt").write_text("fox\n")
    fail(3, "max_length", "data", "prepare", "--tokenizer", made.tokenizer, "--output",
         tmp_path / "data", tmp_path / "short.txt")


def test_4_a_damaged_shard(made, tmp_path):
    shutil.copytree(made.train, tmp_path / "train")
    shard = next((tmp_path / "train").glob("*.tfrecord"))
    damaged = bytearray(shard.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    shard.write_bytes(damaged)
    fail(4, shard.name, "data", "verify", tmp_path / "train")


def test_5_a_tokenizer_and_shards_that_do_not_belong_together(made, tmp_path):
    succeed("tokenizer", "train", "--vocab-size", 50, "--input", made.text, "--output", tmp_path)
    fail(5, "prepare the data again", "data", "inspect", "--tokenizer", tmp_path, made.train)


@pytest.mark.parametrize("command", [
    "tokenizer encode --tokenizer NONE a", "tokenizer train --input NONE --output x",
    "data inspect NONE", "eval --model NONE --data NONE", "fill-mask --model NONE a",
    "train --config NONE"])
def test_6_a_missing_file_is_named(command, tmp_path):
    none = str(tmp_path / "none")
    fail(6, none, *command.replace("NONE", none).split(), cwd=tmp_path)


def test_a_place_that_cannot_be_written_is_found_before_the_work(made):
    folder = made.text / "inside-a-file"
    _, _, messages = run("tokenizer", "train", "--input", made.text, "--output", folder)
    assert messages.startswith("athanor: ") and str(folder) in messages


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do all")
def test_7_no_permission(made, tmp_path):
    tmp_path.chmod(0o500)
    fail(7, str(tmp_path), *made.prepare(tmp_path / "data"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("lines", [1, 20000])
def test_8_output_to_a_full_disk(made, lines):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            arguments_of(["tokenizer", "encode", "--tokenizer", made.tokenizer]),
            input=b"the fox\n" * lines, stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE)
    assert done.returncode == 8 and b"standard output" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_8_even_the_help_notices_a_full_disk():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(arguments_of(["train", "--help"]), stdout=full,
                              stderr=subprocess.PIPE, timeout=DEADLINE)
    assert done.returncode in (8, 9) and b"standard output" in done.stderr


def test_9_a_file_that_cannot_grow(made, tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    fail(9, "tokenizer.json", "tokenizer", "train", "--vocab-size", 60, "--input", made.text,
         "--output", tmp_path, preexec_fn=limit, restore_signals=False)
    assert list(tmp_path.iterdir()) == []


def test_11_a_kind_of_tokenizer_that_is_not_supported(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "Elephant"}}')
    fail(11, "Elephant", "tokenizer", "info", "--tokenizer", tmp_path)


def test_12_training_that_diverges(made, tmp_path):
    fail(12, "step", *made.training(tmp_path / "run", "--learning-rate", 1e30, "--max-steps", 50,
                                    "--max-grad-norm", 0))


# --- standard output and standard error ------------------------------------------------------


def test_json_of_prepare_and_train_is_one_line(made):
    for code, output, messages in (made.prepared, made.trained):
        assert code == 0, messages
        assert len(objects(output)) == 1
    counts, = objects(made.prepared[1])
    assert counts["lines"] == 400 and counts["bytes"] == made.text.stat().st_size
    assert counts["train_records"] > 0 and counts["validation_records"] > 0
    assert objects(made.trained[1])[0]["global_step"] == 3


def test_lines_of_standard_input_end_at_lf_and_crlf_only(made, tmp_path):
    """However the bytes arrive: in one piece, or with a line's end apart from the line."""
    encode = ("tokenizer", "encode", "--tokenizer", made.tokenizer, "--json")
    lines = ["the fox", "", "a\rdog\u2028and", *(c * 99999 for c in "xyz"), "red \x00 tree",
             "the end"]
    text = "\r\n".join(lines[:3]) + "\n" + "\n".join(lines[3:])
    expected = [objects(succeed(*encode, line))[0] if "\0" not in line else None for line in lines]
    for pieces in ([text.encode()], [text[i:i + 1].encode() for i in range(30)] +
                   [text[30:].encode()]):
        with open(tmp_path / "out", "wb") as out:
            child = subprocess.Popen(arguments_of(encode), stdin=subprocess.PIPE, stdout=out,
                                     bufsize=0)
            for piece in pieces:
                child.stdin.write(piece)
                time.sleep(0.005)
            child.stdin.close()
            assert child.wait(DEADLINE) == 0
        got = objects((tmp_path / "out").read_text())
        assert len(got) == len(lines)
        assert all(g == e for g, e in zip(got, expected) if e is not None)


def test_encoding_on_several_threads_keeps_the_order_of_the_lines(made):
    draw = random.Random(7)
    words = made.text.read_text().split()
    lines = [" ".join(draw.choices(words, k=draw.randrange(30))) for _ in range(9000)]
    encode = ("tokenizer", "encode", "--tokenizer", made.tokenizer)
    data = "\n".join(lines).encode()
    one = succeed(*encode, "--threads", 1, data=data)
    assert succeed(*encode, "--threads", 4, data=data) == one
    for number in range(0, len(lines), 1500):
        assert succeed(*encode, "--", lines[number]) == one.splitlines(True)[number]
    bad = data.replace(lines[5000].encode(), b"\xff", 1)  # the lines before it are still printed
    at = bad[:bad.index(b"\xff")].count(b"\n")
    shown = fail(3, f"standard input: line {at + 1}:", *encode, "--threads", 4, data=bad)
    assert shown == "".join(one.splitlines(True)[:at])


def test_json_of_the_other_commands(made):
    encode = ("tokenizer", "encode", "--tokenizer", made.tokenizer, "--json")
    for encoding in objects(succeed(*encode, data=b"the fox\n\na \"dog\"\n")):
        assert set(encoding) == {"ids", "tokens", "offsets"}
        assert len(encoding["ids"]) == len(encoding["tokens"]) == len(encoding["offsets"])
    assert len(objects(succeed(*encode, "a", "b"))) == 2
    info, = objects(succeed("tokenizer", "info", "--tokenizer", made.tokenizer, "--json"))
    assert info["special"] == {"cls": 0, "sep": 1, "unk": 2, "pad": 3, "mask": 4}
    first, *records = objects(succeed("data", "inspect", "--json", "--limit", 2, "--tokenizer",
                                      made.tokenizer, made.train))
    assert first["max_length"] == 16 and [r["record"] for r in records] == [0, 1]
    result, = objects(succeed("eval", "--model", made.model, "--data", made.validation, "--json"))
    assert set(result) == {"loss", "perplexity", "accuracy", "scored"}
    one, two = objects(succeed("fill-mask", "--model", made.model, "--json", "the [MASK] fox",
                               "[MASK] and [MASK]"))
    assert len(one) == 5 and [len(m) for m in two] == [5, 5]
    assert set(one[0]) == {"score", "token", "token_str", "sequence"}


def test_a_bare_word_mark_is_shown_and_its_string_kept(made):
    """Case C7: `▁` alone decodes to nothing; a person sees a sign, a program the string."""
    info, = objects(succeed("tokenizer", "info", "--tokenizer", made.tokenizer, "--json"))
    fill = ("fill-mask", "--model", made.model, "--top-k", info["tokens"], "the [MASK] fox")
    shown = [line for line in succeed(*fill).splitlines() if "␣" in line]
    fillings, = objects(succeed(*fill, "--json"))
    assert len(shown) == 1 and len(fillings) == info["tokens"]
    assert sum(f["token_str"] == "" for f in fillings) == 1


def test_what_steers_a_terminal_is_shown_and_not_sent(made, tmp_path):
    """ESC and the C1 control CSI (U+009B) begin commands to a terminal; BEL rings it."""
    text = tmp_path / "text.txt"
    text.write_text("a\x1b[31mfox\x07\x9bJ dog\n" * 60)
    succeed("tokenizer", "train", "--vocab-size", 40, "--input", text, "--output", tmp_path / "t")
    succeed("data", "prepare", "--tokenizer", tmp_path / "t", "--input", text, "--max-length", 32,
            "--validation-split-percentage", 0, "--output", tmp_path / "d")
    inspect = ("data", "inspect", "--tokenizer", tmp_path / "t", tmp_path / "d/train")
    fill = ("fill-mask", "--model", made.model, "a\x1b[31m \x9bJ [MASK]")
    info = ("tokenizer", "info", "--tokenizer", tmp_path / "t")
    for command in (inspect, fill, info):
        shown = succeed(*command)
        assert not set("\x1b\x07\x9b") & set(shown), command
    assert "\\x1B[31m" in succeed(*inspect) and "\\u009BJ" in succeed(*inspect)
    assert "\\x1B[31m \\u009BJ [MASK]" in succeed(*fill).splitlines()[0]
    record = objects(succeed(*inspect, "--json"))[1]
    assert "\x1b[31mfox\x07\x9bJ dog" in record["text"]


def test_names_of_files_do_not_steer_a_terminal_either(tmp_path):
    """Nor do they break a message into lines, or JSON's rules."""
    name = os.fsencode(tmp_path) + b"/a\x1b[31m\n\xff.txt"
    with open(name, "wb") as file:
        file.write(b"fox\n\xff\n")
    fail(3, "/a\\x1B[31m\\x0A\\xFF.txt: line 2, column 1: byte", "data", "show", os.fsdecode(name))
    code, output, _ = run("data", "show", os.fsdecode(name))
    assert output == f"{tmp_path}/a\\x1B[31m\\x0A\\xFF.txt:1: fox\n"
    shown, = objects(run("data", "show", "--json", os.fsdecode(name))[1])
    assert shown["file"] == f"{tmp_path}/a\x1b[31m\n\ufffd.txt"
