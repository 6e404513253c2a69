"""Runs every command that README.md prints in a ```sh block, as printed, in the order of the page
and in one shell per block; stops at the first that fails. Lines beginning with "# " are
comments. A block whose fence says "sh skip: reason" is not run, and listed with its reason."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[1]
readme = (root / "README.md").read_text()
blocks = re.findall(r"^```sh([^\n]*)\n(.*?)^```", readme, re.M | re.S)
ran = 0
for info, block in blocks:
    if info.strip().startswith("skip:"):
        print(f"-- not run ({info.strip()[5:].strip()}):\n{block}")
        continue
    print(f"-- running:\n{block}", flush=True)
    script = f'set -euo pipefail\nexport PATH="{root}/build:$PATH"\n{block}'
    if subprocess.run(["bash", "-c", script], cwd=root, stdin=subprocess.DEVNULL).returncode:
        print(f"the README's command failed:\n{block}")
        sys.exit(1)
    ran += 1
if ran == 0:
    print("no commands found in README.md")
    sys.exit(1)
print(f"{ran} blocks of the README ran as printed")
