#!/usr/bin/env bash
# Installs what is missing, and nothing else: Debian packages by name, and for the tests a Python
# environment in build/venv with the reference libraries.
#
#   scripts/setup.sh build          the compiler and the libraries
#   scripts/setup.sh build demo     and the demo's text
#   scripts/setup.sh build check    and what the tests compare with (about 6 GB)
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A packages=(
  [build]="gcc libc6-dev make cmake ninja-build libdnnl-dev libdivsufsort-dev libjansson-dev
           libutf8proc-dev libyaml-dev nettle-dev"
  [demo]="wordnet-base"
  [check]="libcmocka-dev python3 python3-venv"
)

install_packages() {
  local missing=()
  local name
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' ||
      missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    echo "setup: no apt-get here; install what these Debian packages hold:" >&2
    echo "  ${missing[*]}" >&2
    exit 1
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "setup: these packages are missing; install them as root:" >&2
      echo "  apt-get install ${missing[*]}" >&2
      exit 1
    }
    sudo=(sudo)
  fi
  echo "setup: installing ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq
  # By env, because sudo does not hand the caller's environment on.
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

make_venv() {
  local stamp=build/venv/requirements.txt
  cmp -s tests/requirements.txt "$stamp" && return
  echo "setup: installing the reference libraries into build/venv (a few minutes, 6 GB)" >&2
  rm -rf build/venv
  python3 -m venv build/venv
  build/venv/bin/python -m pip install -q --disable-pip-version-check --no-cache-dir \
    -r tests/requirements.txt
  cp tests/requirements.txt "$stamp"
}

wanted=()
for group in "$@"; do
  [ -n "${packages[$group]:-}" ] || { echo "setup: no group \"$group\"" >&2; exit 2; }
  wanted+=(${packages[$group]})
done
install_packages "${wanted[@]}"
mkdir -p build
for group in "$@"; do
  if [ "$group" = check ]; then make_venv; fi
done
