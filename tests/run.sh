#!/bin/bash
# Runs all tests: installs what is missing (NVIDIA's ptxas into build/), builds the release preset and
# the fuzz targets, then ctest. Running it again builds what has changed only. Arguments go to ctest: tests/run.sh -R unit
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/install-dependencies.sh
cuda_home=$(cmake/install-ptxas.sh "$PWD/build/ptxas") || echo "No ptxas; tests that need it are skipped" >&2
[[ -z $cuda_home ]] || export CUDA_HOME=$cuda_home
cmake --preset release -D TILEWRIGHT_BUILD_FUZZERS=ON
cmake --build --preset release
ctest --preset release --parallel "$(nproc)" "$@"
