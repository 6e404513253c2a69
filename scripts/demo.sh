#!/usr/bin/env bash
# The main job on real text, each step a printed command that works by hand as well:
#
#   scripts/demo.sh           a tokenizer, shards and a model in runs/demo, and answers
#   scripts/demo.sh my.txt    the same from your text, in runs/my
#
# A second run continues where the first stopped. DEMO_OPTIONS adds options to the training
# command ("--max-steps 40" for a short run).
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/build:$PATH
run=runs/demo
paths=() # what a run elsewhere has to say differently from examples/demo.yaml
text=$run/text.txt
vocabulary=2000
if [ $# -gt 0 ]; then
  text=$1
  run=runs/$(basename "${text%.*}")
  vocabulary=8000
  paths=(--tokenizer "$run/tokenizer" --train-dataset "$run/data/train"
         --eval-dataset "$run/data/validation" --output-dir "$run")
fi
mkdir -p "$run"

# Prints a command as one would type it, and runs it.
step() {
  local word plain='^[A-Za-z0-9_./:=,%+-]+$'
  printf '\n$' >&2
  for word in "$@"; do
    if [[ $word =~ $plain ]]; then printf ' %s' "$word"; else printf ' "%s"' "$word"; fi
  done >&2
  printf '\n' >&2
  "$@"
}

say() { printf '\n# %s\n' "$*" >&2; }

if [ $# -eq 0 ] && [ ! -s $text ]; then
  say "WordNet's definitions of places and people, one a line"
  scripts/demo_text.sh >$text.part
  mv $text.part $text
fi

# Tokenizer, records and model belong to one text; another one would go on training a model of this.
[ -s "$text" ] || { echo "demo: $text is missing or empty" >&2; exit 1; }
sum=$(cksum <"$text")
if [ -f "$run/text.cksum" ] && [ "$(cat "$run/text.cksum")" != "$sum" ]; then
  echo "demo: $run was made from another text; move it away or remove it first" >&2
  exit 1
fi
echo "$sum" >"$run/text.cksum"

begun=$SECONDS
say "1. A Unigram tokenizer from $(du -h "$text" | cut -f1) of text"
[ -f "$run/tokenizer/tokenizer.json" ] ||
  step athanor tokenizer train --model unigram --vocab-size $vocabulary --input "$text" \
    --output "$run/tokenizer"
step athanor tokenizer encode --tokenizer "$run/tokenizer" "a river that flows into the sea"

say "2. Records of 32 tokens in TFRecord shards"
step athanor data prepare --tokenizer "$run/tokenizer" --input "$text" --max-length 32 \
  --validation-split-percentage 5 --output "$run/data"
step athanor data inspect "$run/data/train"

say "3. A RoBERTa of 2 layers, trained to fill masks"
# shellcheck disable=SC2086
step athanor train --config examples/demo.yaml "${paths[@]}" ${DEMO_OPTIONS:-}
step athanor eval --model "$run" --data "$run/data/validation"

say "4. Its answers, to sentences that are not in the text"
step athanor fill-mask --model "$run" \
  "a [MASK] that flows into the Missouri" \
  "a mountain peak in the [MASK] in Chile" \
  "Russian [MASK] noted for his novels"
say "done in $((SECONDS - begun)) seconds; the model is in $run, and opens in transformers as it is"
