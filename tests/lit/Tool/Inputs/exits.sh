#!/bin/bash
# exits.sh CODE COMMAND...: runs the command and fails unless it exits with that code.
expected=$1
shift
"$@"
code=$?
if [ "$code" != "$expected" ]; then
  echo "exit code $code instead of $expected: $*" >&2
  exit 1
fi
