#!/bin/bash
# Runs all tests: installs what is missing, builds the release preset and the fuzz targets, then
# ctest. Running it again builds what has changed only. Arguments go to ctest: tests/run.sh -R unit
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/install-dependencies.sh
cmake --preset release -D TILEWRIGHT_BUILD_FUZZERS=ON
cmake --build --preset release
ctest --preset release --parallel "$(nproc)" "$@"
