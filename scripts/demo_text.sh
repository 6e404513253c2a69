#!/usr/bin/env bash
# Writes the demo's text: WordNet's definitions (package wordnet-base) of places and of people and
# other things with a name of their own, one a line. They are built alike, which a small model
# learns in minutes. Format: wndb(5WN).
set -euo pipefail
data=/usr/share/wordnet/data.noun
if [ ! -r "$data" ]; then
  echo "demo: $data is missing; run scripts/setup.sh demo" >&2
  exit 1
fi
# The licence's lines begin with spaces. File 15 holds the nouns of location, the pointer "@i" says
# what an entry is an instance of. Of a definition only what comes before the first ";" is kept, and
# nothing in parentheses. The file goes from the general to the particular; sorting by a checksum of
# each entry's number mixes it, the same way everywhere.
LC_ALL=C awk -F' [|] ' '!/^  / {
  split($1, field, " ")
  if (field[2] != "15" && $1 !~ / @i /) next
  gloss = $2
  gsub(/ *\([^()]*\)/, "", gloss); sub(/;.*/, "", gloss); gsub(/^ +| +$/, "", gloss)
  if (split(gloss, words, " ") < 3) next
  hash = 0
  for (i = 1; i <= 8; i++) hash = (hash * 31 + substr($1, i, 1) * 7919 + i) % 1000003
  printf "%07d\t%s\n", (hash * 7919) % 1000003, gloss
}' "$data" | LC_ALL=C sort | cut -f2-
