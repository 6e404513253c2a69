#!/usr/bin/env bash
# Writes the demo's text: the definitions of WordNet's nouns (package wordnet-base), one a line,
# without the examples that follow some. Format: wndb(5WN).
set -euo pipefail
data=/usr/share/wordnet/data.noun
if [ ! -r "$data" ]; then
  echo "demo: $data is missing; run scripts/setup.sh demo" >&2
  exit 1
fi
# The first 29 lines are the licence; they begin with spaces. The file goes from the general to the
# particular; sorting by a checksum of each entry's number mixes it, the same way everywhere.
LC_ALL=C awk -F' [|] ' '!/^  / {
  gloss = $2; sub(/; ".*/, "", gloss); sub(/ +$/, "", gloss)
  hash = 0
  for (i = 1; i <= 8; i++) hash = (hash * 31 + substr($1, i, 1) * 7919 + i) % 1000003
  printf "%07d\t%s\n", (hash * 7919) % 1000003, gloss
}' "$data" | LC_ALL=C sort | cut -f2-
