#!/usr/bin/env bash
# Writes the demo's text: the definitions and example sentences of WordNet's four data files
# (package wordnet-base), one entry a line, "word: definition; "example"". Format: wndb(5WN).
set -euo pipefail
folder=/usr/share/wordnet
if [ ! -r "$folder/data.noun" ]; then
  echo "demo: $folder/data.noun is missing; run scripts/setup.sh demo" >&2
  exit 1
fi
# The first 29 lines of each file are its licence; they begin with spaces. Field 5 is the word.
# Sorting by a checksum of the line mixes the parts of speech, the same way on every machine.
LC_ALL=C awk -F' [|] ' '!/^  / {
  split($1, field, " "); word = field[5]; gsub(/_/, " ", word); sub(/\([a-z]+\)$/, "", word)
  gloss = $2; sub(/ +$/, "", gloss)
  hash = 0
  for (i = 1; i <= 8; i++) hash = (hash * 31 + substr($1, i, 1) * 7919 + i) % 1000003
  printf "%07d\t%s: %s\n", (hash * 7919) % 1000003, word, gloss
}' "$folder"/data.noun "$folder"/data.verb "$folder"/data.adj "$folder"/data.adv |
  LC_ALL=C sort | cut -f2-
