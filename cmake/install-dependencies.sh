#!/bin/bash
# Installs the Debian 12 packages that Tilewright is built and tested with. Says what it is about to
# install, asks nothing, and does nothing when all of them are there.
set -euo pipefail

# LLVM and MLIR 22 come from Debian's own bookworm-security.
packages=(
  cmake ninja-build ccache                  # the build
  python3-pip                               # for ptxas, see cmake/install-ptxas.sh
  clang-22 lld-22 clang-format-22           # the compiler and the formatter
  libclang-rt-22-dev                        # sanitizers and fuzzing
  libmlir-22-dev llvm-22-dev mlir-22-tools  # what the compiler is made of; lit and FileCheck
  libfmt-dev libxxhash-dev libdlpack-dev    # libraries
  zlib1g-dev libzstd-dev                    # which LLVM's archives need
  libgtest-dev libgmock-dev                 # tests
)

if ! grep -qx 'VERSION_ID="12"' /etc/os-release 2>/dev/null || ! grep -qx 'ID=debian' /etc/os-release; then
  cat >&2 <<MESSAGE
This script installs packages on Debian 12 only and has changed nothing. Elsewhere, please install:
  CMake 3.25 or newer, Ninja, ccache (optional)
  Clang and lld 22 with the sanitizer runtimes, clang-format 22
  LLVM and MLIR 22.1 with headers, mlir-tblgen, lit and FileCheck
  fmt 9, DLPack's header, xxHash 0.8, GoogleTest with gmock, zlib and zstd with their archives
and build with: cmake --workflow --preset release
MESSAGE
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done
if (( ${#missing[@]} == 0 )); then
  exit 0
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if (( $(id -u) != 0 )); then
  if ! command -v sudo > /dev/null; then
    echo "Missing packages: ${missing[*]}" >&2
    echo "Installing them takes root or sudo; please run cmake/install-dependencies.sh as root." >&2
    exit 1
  fi
  as_root=(sudo "${as_root[@]}")
fi

echo "Installing with apt-get: ${missing[*]}"
"${as_root[@]}" apt-get -qq update
if [[ -z $(apt-cache madison clang-22) ]]; then
  echo "No package source of this machine has LLVM 22. Debian 12's security updates do:" >&2
  echo "  suite bookworm-security, component main" >&2
  exit 1
fi
"${as_root[@]}" apt-get -qq install -y --no-install-recommends "${missing[@]}"
