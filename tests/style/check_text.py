"""House rules that a program can check: no line over 100 columns, no tabs or trailing spaces in C,
no marks of unfinished work, no exit, abort or printing below cli/, a banner in every file."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
FORBIDDEN = re.compile(
    r"(?<![\w.>])(exit|_exit|abort|printf|puts|putchar|perror|system|strcpy|strcat|sprintf|gets)"
    r"\s*\("
    r"|\bstd(out|err)\b")
faults, files = [], 0


def fault(path, number, text):
    faults.append(f"{path.relative_to(root)}:{number}: {text}")


def without_comments_and_strings(text):
    keep_lines = lambda match: "\n" * match.group(0).count("\n") or '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', keep_lines, text, flags=re.S)


paths = [p for folder in ("src", "include", "tests", "bench", "scripts")
         for p in sorted((root / folder).rglob("*")) if p.suffix in (".c", ".h", ".py", ".sh")]
for path in paths:
    files += 1
    text = path.read_text()
    is_c = path.suffix in (".c", ".h")
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > 100:
            fault(path, number, f"{len(line)} columns; at most 100")
        if is_c and ("\t" in line or line != line.rstrip()):
            fault(path, number, "tab or trailing space")
        if UNFINISHED.search(line) and path.name != "check_text.py":
            fault(path, number, "mark of unfinished work")
    if is_c and not text.startswith("/* " + path.name):
        fault(path, 1, f'does not begin with "/* {path.name}: purpose"')
    if path.suffix == ".c" and path.is_relative_to(root / "src") and "cli" not in path.parts:
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            match = FORBIDDEN.search(line)
            if match:
                fault(path, number, f"{match.group(0).strip()} below cli/")
if files < 10:
    faults.append("hardly any files found: the check did not run")
print("\n".join(faults) or f"{files} files follow the rules")
sys.exit(1 if faults else 0)
