#!/usr/bin/env bash
# Searches for inputs that break a fuzz target of tests/fuzz: libFuzzer under ASan and UBSan, from
# the seeds and from what earlier searches kept in build/fuzz/corpus. Prints how many inputs ran;
# what breaks a target is kept in build/fuzz and named.
#
#   scripts/fuzz.sh [SECONDS [TARGET…]]     600 s each of all targets, unless told
#
# Debian: apt-get install clang libclang-rt-14-dev libomp-dev
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
shift || true
CC=clang cmake -S . -B build/fuzz -G Ninja -DATHANOR_SANITIZE=ON -DATHANOR_FUZZ=ON >/dev/null
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/fuzz_*.c; do targets+=("$(basename "$source" .c)"); done
fi
cmake --build build/fuzz --target "${targets[@]}" >/dev/null
status=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  log=build/fuzz/$target.log
  if ! build/fuzz/tests/"$target" -max_total_time="$seconds" -max_len=65536 -timeout=25 \
      -rss_limit_mb=4096 -dict=tests/fuzz/json.dict -artifact_prefix=build/fuzz/"$target"- \
      "$corpus" tests/fuzz/seeds >"$log" 2>&1; then
    status=1
    echo "$target: broken, see $log"
  fi
  echo "$target: $(grep -Eo '^Done [0-9]+ runs|stat::number_of_executed_units: [0-9]+' "$log" |
    tail -n 1 || true) $(grep -Eo 'cov: [0-9]+' "$log" | tail -n 1)"
done
exit $status
