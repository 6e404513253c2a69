"""Each awkward file of ../shared/data/irregular: the documents that its manifest, Python's readers
or pyarrow say are in it, or an error with file, physical line and column."""
import csv
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ATHANOR = os.environ["ATHANOR"]
FOLDER = pathlib.Path(os.environ["ATHANOR_SHARED"], "data/irregular")
MANIFEST = json.loads((FOLDER / "MANIFEST.json").read_text())
DUCKDB = next(pathlib.Path(pa.__file__).parents[1].glob("_duckdb*.so"))
csv.field_size_limit(1 << 30)


def show(path, *options, code=0):
    """The documents, and what was said; up to a failure, if one is expected."""
    done = subprocess.run([ATHANOR, "data", "show", "--json", *options, str(path)],
                          capture_output=True, timeout=60,
                          env=os.environ | {"ATHANOR_DUCKDB": str(DUCKDB)})
    assert done.returncode == code, done.stderr.decode()
    rows = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    return rows, done.stderr.decode()


def texts(rows):
    return [row["text"] for row in rows]


def skipped(message):
    found = re.search(r"skipped for errors: (\d+)", message)
    return int(found.group(1)) if found else 0


def of_kind(*kinds, valid=(True, False, None)):
    some = [e for e in MANIFEST if e["kind"] in kinds and e.get("valid_utf8") in valid]
    return pytest.mark.parametrize("entry", some, ids=[entry["name"] for entry in some])


def content(entry):
    data = (FOLDER / entry["stored_as"]).read_bytes()
    data = gzip.decompress(data) if entry["stored_as"] != entry["name"] else data
    assert hashlib.sha256(data).hexdigest() == entry["sha256"]
    return data


def lines_of(data):
    """LF, CRLF and a lone CR end a line, and nothing else."""
    lines = re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf"))
    return lines[:-1] if lines[-1] == b"" else lines


def is_utf8(line):
    try:
        line.decode()
        return True
    except UnicodeDecodeError:
        return False


def place_of_fault(data):
    """Line and column, from 1, of the first byte that is not UTF-8, by Python's decoder."""
    with pytest.raises(UnicodeDecodeError) as fault:
        data.decode()
    before = data[:fault.value.start].decode()
    begun = re.split(r"\r\n|\r|\n", before)
    return len(begun), len(begun[-1]) + 1, fault.value.start


# --- text -------------------------------------------------------------------------------------


@of_kind("txt")
def test_text_gives_its_lines_or_the_place_of_its_fault(entry):
    data = content(entry)
    path = FOLDER / entry["stored_as"]
    lines = lines_of(data)
    if entry["valid_utf8"]:
        rows, _ = show(path, "--format", "text")
        assert texts(rows) == [line.decode() for line in lines]
        assert [row["line"] for row in rows] == list(range(1, len(lines) + 1))
        return
    line, column, byte = place_of_fault(data)
    assert byte == entry["first_bad_byte"]
    rows, message = show(path, "--format", "text", code=3)
    assert f"{path}: line {line}, column {column}: byte {byte} (0x{data[byte]:02X})" in message
    assert texts(rows) == [text.decode() for text in lines[:line - 1]]


@of_kind("txt")
def test_lines_that_are_not_utf8_are_skipped_and_counted(entry):
    lines = lines_of(content(entry))
    whole = not entry["name"].startswith("utf16")  # these are refused as a whole
    good = [line.decode() for line in lines if is_utf8(line)] if whole else []
    rows, message = show(FOLDER / entry["stored_as"], "--format", "text", "--on-error", "skip")
    assert texts(rows) == good
    assert skipped(message) == (len(lines) - len(good) if whole else 1)


@pytest.mark.parametrize("name, guess", [
    ("latin1.txt", "ISO-8859-1"), ("utf16le_bom.txt", "UTF-16LE"), ("koi8r.txt", "KOI8-R"),
    ("utf16be_bom.txt", "UTF-16BE"), ("shift_jis.txt", "SHIFT_JIS")])
def test_the_conversion_that_is_proposed_makes_text_of_it(name, guess, tmp_path):
    _, message = show(FOLDER / name, code=3)
    command = re.search(r"iconv -f \S+ -t UTF-8", message).group(0)
    assert command.split()[2] == guess
    good = subprocess.run([*command.split(), FOLDER / name], capture_output=True).stdout
    (tmp_path / "good.txt").write_bytes(good)
    rows, _ = show(tmp_path / "good.txt")
    assert len(rows) > 5


@of_kind("txt", valid=(True,))
def test_blocks_and_files_hold_the_lines_between_blank_ones_and_all(entry):
    path = FOLDER / entry["stored_as"]
    lines = [line.decode() for line in lines_of(content(entry))]
    joined = "\n".join(lines)
    blocks = [b.strip("\n") for b in re.split(r"(?:(?:^|\n)[ \t]*(?=\n|$))+", joined)]
    right = [block for block in blocks if block.strip(" \t\n")]
    assert texts(show(path, "--format", "text", "--documents", "block")[0]) == right
    assert texts(show(path, "--format", "text", "--documents", "file")[0]) == (
        [joined] if lines else [])


# --- gzip -------------------------------------------------------------------------------------


def test_members_of_gzip_follow_one_another():
    data = gzip.decompress((FOLDER / "gz_two_members.jsonl.gz").read_bytes())
    right = [json.loads(line)["text"] for line in data.splitlines()]
    assert texts(show(FOLDER / "gz_two_members.jsonl.gz")[0]) == right and len(right) == 2


def test_truncated_gzip_gives_what_is_whole_and_the_place():
    path = FOLDER / "gz_truncated.txt.gz"
    data = zlib_prefix(path)
    whole = data.split(b"\n")[:-1]
    rows, message = show(path, code=4)
    rest = data[len(b"\n".join(whole)) + 1:].decode()
    assert texts(rows) == [line.decode() for line in whole]
    assert f"{path}: line {len(whole) + 1}, column {len(rest) + 1}: cut short" in message
    rows, message = show(path, "--on-error", "skip")
    assert len(rows) == len(whole) and skipped(message) == 1


def zlib_prefix(path):
    import zlib
    return zlib.decompressobj(31).decompress(path.read_bytes())


def test_what_follows_gzip_is_told_apart_from_it():
    path = FOLDER / "gz_trailing_garbage.txt.gz"
    rows, message = show(path, code=4)
    right = zlib_prefix(path).decode().splitlines()
    assert texts(rows) == right
    assert re.search(rf"line {len(right) + 1}, column 1: near byte \d+ of the file: what follows",
                     message)


# --- JSONL ------------------------------------------------------------------------------------


def json_of(line):
    try:
        text = json.loads(line)["text"]
        text.encode()  # half a surrogate pair is no text
        return text
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


@of_kind("jsonl")
def test_jsonl_gives_the_texts_that_python_reads(entry):
    path = FOLDER / entry["stored_as"]
    lines = [line for line in content(entry).decode("utf-8-sig").split("\n") if line.strip()]
    right = [json_of(line) for line in lines]
    good = [text for text in right if text is not None]
    rows, message = show(path, "--on-error", "skip")
    assert texts(rows) == good and skipped(message) == right.count(None)
    if None not in right:
        assert entry["ok_with_string_text"] == len(show(path)[0]) == len(good)
        return
    rows, message = show(path, code=3)
    first = right.index(None)
    assert texts(rows) == right[:first]
    assert re.search(rf"{re.escape(str(path))}: line {first + 1}, column \d+: not JSON", message)


def suite():
    with zipfile.ZipFile(FOLDER / "real_JSONTestSuite.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".json")}


def test_the_json_test_suite_is_accepted_and_refused_as_its_names_say(tmp_path):
    """Each file as a member of an object on one line: y_ is valid, n_ is not; i_ may be either."""
    seen = 0
    for name, value in suite().items():
        kind = pathlib.Path(name).name[:2]
        if kind == "i_" or b"\n" in value or b"\r" in value:
            continue
        (tmp_path / "one.jsonl").write_bytes(b'{"text": "x", "v": ' + value + b'}\n')
        wanted = 0 if kind == "y_" else 3
        if value.strip() in (b"", b"1 true", b'"a",') or value.startswith((b"\xef", b'{"a":"b"}')):
            continue  # the object around it makes something else of these
        done = subprocess.run([ATHANOR, "data", "show", tmp_path / "one.jsonl"],
                              capture_output=True, timeout=60)
        assert done.returncode == wanted, (name, value[:80], done.stderr)
        seen += 1
    assert seen > 150


# --- CSV and TSV ------------------------------------------------------------------------------

# What RFC 4180 does not allow, which Python's reader repairs: where the fault is, and which rows
# are left when it is skipped.
FAULTS = {
    "quote_midfield.csv": ((3, 4), 2, ['he said "hi" there']),
    "unclosed_quote.csv": ((3, 1), 1, ["ok", "next"]),
    "tabs_inside.tsv": ((2, 5), 1, [""]),
}


def table_of(entry):
    text = content(entry).decode("utf-8-sig")
    dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if entry["kind"] == "tsv" else {}
    if entry["name"] == "semicolon.csv":
        dialect["delimiter"] = ";"
    return list(csv.reader(io.StringIO(text, newline=""), **dialect)), dialect


@of_kind("csv", "tsv")
def test_tables_give_the_rows_that_python_reads(entry):
    path, (table, dialect) = FOLDER / entry["stored_as"], table_of(entry)
    options = ["--delimiter", dialect["delimiter"]] if entry["kind"] == "csv" and dialect else []
    if entry["name"] in FAULTS:
        (line, column), _, _ = FAULTS[entry["name"]]
        _, message = show(path, "--text-column", table[0][0], code=3)
        assert f"{path}: line {line}, column {column}: " in message
        return
    for number, name in enumerate(table[0]):
        rows, _ = show(path, *options, "--text-column", name, "--label-column", table[0][-1])
        assert texts(rows) == [row[number] for row in table[1:]]
        assert [row["label"] for row in rows] == [row[-1] for row in table[1:]]
    rows, _ = show(path, *options, "--no-header", "--text-column", "1")
    assert texts(rows) == [row[0] for row in table]


@pytest.mark.parametrize("name", FAULTS)
def test_rows_that_are_not_valid_are_skipped_and_counted(name):
    _, count, right = FAULTS[name]
    rows, message = show(FOLDER / name, "--text-column", "sentence", "--on-error", "skip")
    assert texts(rows) == right and skipped(message) == count


@of_kind("expected")
def test_csv_spectrum_is_read_as_it_says(entry):
    path = FOLDER / entry["name"].replace(".expected.json", ".csv")
    right = json.loads(content(entry).replace(b"\\r\\n", b"\\n"))  # the CRs of the files were lost
    right = right if isinstance(right, list) else [right]
    for name in right[0]:
        if name == "Contact Phone Number":
            continue  # another one than in the CSV
        rows, _ = show(path, "--text-column", name)
        assert texts(rows) == [row[name] for row in right]


def test_a_wrong_delimiter_is_seen_by_the_names():
    _, message = show(FOLDER / "semicolon.csv", "--text-column", "sentence", code=3)
    assert '"sentence;label"' in message and "--delimiter" in message


# --- parquet ----------------------------------------------------------------------------------


def columns_of_text(table):
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return [field.name for field in table.schema if any(kind(field.type) for kind in kinds)]


def decoded(value):
    return value.decode() if isinstance(value, bytes) else value


@of_kind("parquet")
def test_parquet_gives_what_pyarrow_reads_or_is_refused_by_its_name(entry):
    path = FOLDER / entry["stored_as"]
    try:
        table = pq.read_table(path)
        names, first = columns_of_text(table), table.schema.names[0]
        right = {name: [decoded(v) for v in table.column(name).to_pylist()] for name in names}
        if "map_no_value" in entry["name"]:
            raise OSError  # DuckDB does not know maps without values
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        done = subprocess.run([ATHANOR, "data", "show", path], capture_output=True, timeout=60,
                              env=os.environ | {"ATHANOR_DUCKDB": str(DUCKDB)})
        assert done.returncode in (3, 4) and str(path) in done.stderr.decode()
        return
    for name in names:
        rows, message = show(path, "--text-column", name, "--on-error", "skip")
        assert texts(rows) == [value for value in right[name] if value is not None]
        assert skipped(message) == right[name].count(None)
    if not names:  # numbers and lists are text once they are named, a row for a row
        rows, message = show(path, "--text-column", first, "--on-error", "skip")
        assert len(rows) + skipped(message) == table.num_rows
