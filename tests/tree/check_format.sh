#!/bin/bash
# Fails if a C++ file is not formatted as .clang-format says. Run from the root of the repository:
#   tests/tree/check_format.sh CLANG_FORMAT [-i]      (-i formats the files in place)
set -euo pipefail
find lib dialect runtime compiler tests examples -name '*.cpp' -o -name '*.h' |
  xargs "$1" "${2:---dry-run}" --Werror
