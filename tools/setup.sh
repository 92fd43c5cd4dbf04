#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs what building and testing stagecraft needs, on Debian 12 or newer. Says what it does, asks nothing, and changes
# nothing where all packages are there.
set -euo pipefail

packages=(
  g++ clang-19 libclang-rt-19-dev libc++-19-dev lld cmake ninja-build ccache pkg-config python3 git file dpkg-dev  # tools
  libtcmalloc-minimal4  # with which Clang is faster
  qemu-user g++-aarch64-linux-gnu  # other processors: what a program does on an older one, and on ARM
  libxtensor-dev libxsimd-dev xtl-dev zlib1g-dev nlohmann-json3-dev libzip-dev libpng-dev libjpeg-dev  # the library
  doctest-dev libcli11-dev libhdf5-dev libprotozero-dev libboost-dev libssl-dev                      # its tests, examples
  libopenmpi-dev openmpi-bin  # several processes
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc  # serving by gRPC
  doxygen                                                                                        # the reference
  curl openssl locales                                                                           # and tools
  libbenchmark-dev libeigen3-dev libopenblas-dev libdnnl-dev                                     # its benchmarks
)

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not Debian; install the counterparts of: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  # pkgconf is what newer releases have for pkg-config, and libraries with a new type of time have another name.
  if ! is_installed "$package" && ! is_installed "${package}t64" &&
     ! { [[ "$package" == pkg-config ]] && is_installed pkgconf; }; then
    missing+=("$package")
  fi
done

if [[ ${#missing[@]} -eq 0 ]]; then
  echo "setup: all ${#packages[@]} packages are installed; nothing to do"
  exit 0
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: not root and no sudo; as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

export DEBIAN_FRONTEND=noninteractive
echo "setup: installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
echo "setup: done"
