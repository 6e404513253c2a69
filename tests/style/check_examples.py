"""Compiles every public header by itself, as C and as C++, and the worked example that each
header's banner must hold (the indented code after " * Example")."""
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsyntax-only", "-I",
         str(root / "include")]
headers = sorted((root / "include/athanor").glob("*.h"))
faults = []


def compile_text(text, language, what):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(text)
        file.flush()
        standard = "gnu17" if language == "c" else "gnu++17"
        ran = subprocess.run(["gcc", "-x", language, f"-std={standard}", *FLAGS, file.name],
                             capture_output=True, text=True)
        if ran.returncode:
            faults.append(f"{what}:\n{ran.stderr}")


def example_of(text):
    banner = text[:text.index("*/")]
    match = re.search(r"^ \* Example\n \*\n((?: \*(?:     .*)?\n)+)", banner, re.M)
    return match and "".join(line[7:] + "\n" for line in match.group(1).splitlines())


for header in headers:
    include = f'#include "athanor/{header.name}"\n'
    compile_text(include, "c", f"{header.name} by itself")
    if subprocess.run(["which", "g++"], capture_output=True).returncode == 0:
        compile_text(include, "c++", f"{header.name} in C++")
    example = example_of(header.read_text())
    if not example:
        faults.append(f"{header.name}: no worked example in its banner")
        continue
    everything = "".join(f'#include "athanor/{h.name}"\n' for h in headers)
    compile_text("#include <stdio.h>\n#include <string.h>\n" + everything + example, "c",
                 f"the example of {header.name}")
if len(headers) < 5:
    faults.append("hardly any headers found: the check did not run")
print("\n".join(faults) or f"{len(headers)} headers and their examples compile")
sys.exit(1 if faults else 0)
