#!/usr/bin/env bash
# Runs every test of the build folder and ends with "N passed, N failed". Tests that need the
# given data in ../shared (their names contain _shared_) are left out, and said to be, where that
# folder is missing, unless ATHANOR_REQUIRE_SHARED is set. Arguments go to ctest.
#
#   scripts/check.sh                 all
#   scripts/check.sh -R tokenizers   those of one folder
#   BUILD=build/sanitize scripts/check.sh -L unit
set -uo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
results=$PWD/$build/test-results.xml
rm -f "$results"

without_shared=()
if [ ! -d ../shared ]; then
  if [ -n "${ATHANOR_REQUIRE_SHARED:-}" ]; then
    echo "check: ../shared is missing, and ATHANOR_REQUIRE_SHARED asks for it" >&2
    echo "0 passed, 1 failed"
    exit 1
  fi
  echo "check: ../shared is not here; the tests that need it are left out" >&2
  without_shared=(-LE shared)
fi

ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" \
  --output-junit "$results" "${without_shared[@]}" "$@"
status=$?

count() { grep -c "<testcase .*status=\"$1\"" "$results" 2>/dev/null || true; }
passed=$(count run)
failed=$(count fail)
[ -s "$results" ] || { passed=0; failed=1; }
if [ "$status" -ne 0 ] && [ "${failed:-0}" -eq 0 ]; then failed=1; fi
echo "${passed:-0} passed, ${failed:-0} failed"
[ "$status" -eq 0 ] && [ "${failed:-0}" -gt 0 ] && status=1
exit "$status"
