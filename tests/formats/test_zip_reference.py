"""One file out of archives that Python's zipfile writes, and out of damaged ones."""
import os
import random
import subprocess
import zipfile

import pytest

UNZIP = os.path.join(os.environ["ATHANOR_PROGRAMS"], "formats_program_unzip")
OK, CORRUPT, NOT_FOUND, UNSUPPORTED = 0, 4, 6, 11


def extract(archive, entry, target):
    done = subprocess.run([UNZIP, archive, entry, target], capture_output=True, timeout=60)
    return done.returncode, done.stderr.decode()


CONTENTS = {
    "empty": b"",
    "a/short.txt": b"hello",
    "a/long.bin": random.Random(1).randbytes(1_000_003),
    "a/packs well": b"abcd" * 700_000,
    "umlaut-\u00fc": b"x",
}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("comment", [b"", b"PK\5\6 a comment that looks like an end record" * 20])
def test_every_entry_comes_out_as_it_went_in(tmp_path, method, comment):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", method) as file:
        for name, content in CONTENTS.items():
            file.writestr(name, content)
        file.comment = comment
    for name, content in CONTENTS.items():
        code, text = extract(archive, name, tmp_path / "out")
        assert code == OK, text
        assert (tmp_path / "out").read_bytes() == content


class Unseekable:
    """As when an archive is written to a pipe: sizes then stand behind the data."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def test_sizes_behind_the_data(tmp_path):
    with open(tmp_path / "a.zip", "wb") as file, \
            zipfile.ZipFile(Unseekable(file), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/long.bin", CONTENTS["a/long.bin"])
    code, text = extract(tmp_path / "a.zip", "a/long.bin", tmp_path / "out")
    assert code == OK, text
    assert (tmp_path / "out").read_bytes() == CONTENTS["a/long.bin"]


def test_a_missing_entry_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("there", b"x")
    code, text = extract(tmp_path / "a.zip", "not there", tmp_path / "out")
    assert code == NOT_FOUND and "not there" in text and "a.zip" in text
    assert not (tmp_path / "out").exists()


def test_another_method_is_unsupported(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("x", b"x" * 1000)
    code, text = extract(tmp_path / "a.zip", "x", tmp_path / "out")
    assert code == UNSUPPORTED and "method 12" in text


def test_damage_never_gives_a_wrong_file(tmp_path):
    """Each byte changed, and the archive cut at each place: the right content or a failure, and
    after a failure neither the file nor a part of it."""
    content = bytes(range(40)) * 3
    with zipfile.ZipFile(tmp_path / "good.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x", content)
    good = (tmp_path / "good.zip").read_bytes()
    damaged, target = tmp_path / "bad.zip", tmp_path / "out"
    cases = [good[:i] for i in range(len(good))]
    cases += [good[:i] + bytes([good[i] ^ 0x55]) + good[i + 1:] for i in range(len(good))]
    failures = 0
    for case in cases:
        damaged.write_bytes(case)
        code, text = extract(damaged, "x", target)
        assert code in (OK, CORRUPT, NOT_FOUND, UNSUPPORTED), (code, text)
        if code == OK:
            assert target.read_bytes() == content
            target.unlink()
        failures += code != OK
        assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.zip", "good.zip"]
    assert failures > len(good)  # every cut fails, and most changes do
