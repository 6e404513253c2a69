"""Each folder of src/ includes only itself and the folders below it; the order is the one in
CMakeLists.txt (ATHANOR_LAYERS), cli on top. Exits 1 and names each include that goes upwards."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
order = re.search(r"set\(ATHANOR_LAYERS ([^)]*)\)", (root / "CMakeLists.txt").read_text())
layers = order.group(1).split() + ["cli"]
rank = {name: place for place, name in enumerate(layers)}
faults, seen = [], 0
for path in sorted(root.glob("src/**/*.[ch]")):
    layer = path.relative_to(root / "src").parts[0]
    if layer not in rank:
        faults.append(f"{path.relative_to(root)}: folder {layer} is not in ATHANOR_LAYERS")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not include:
            continue
        seen += 1
        target = include.group(1).split("/")[0]
        where = f"{path.relative_to(root)}:{number}"
        if target == "athanor":
            continue
        if target not in rank:
            faults.append(f'{where}: include "{include.group(1)}" does not name its folder')
        elif rank[target] > rank[layer]:
            faults.append(f"{where}: {layer} includes {target}, which is above it")
if seen == 0:
    faults.append("no includes found: the check did not run")
print("\n".join(faults) or f"{seen} includes, all downwards")
sys.exit(1 if faults else 0)
