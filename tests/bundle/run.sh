#!/bin/bash
# Runs every test of this bundle and writes one report.
#
#   run.sh [FOLDER]      report.txt, report.json and the logs go to FOLDER, ./report unless given
#
# JOBS=8 sets how many processes share the tests. The exit code is 0 if nothing failed.
set -uo pipefail
bundle=$(cd "$(dirname "$0")" && pwd)
report=${1:-report}
jobs=${JOBS:-$(( ($(nproc) + 1) / 2 ))}
mkdir -p "$report"
report=$(cd "$report" && pwd)
rm -f "$report"/{unit,gpu}.*
export TILEWRIGHT_SOURCE_DIR=$bundle/data
tilewright=$bundle/tilewright
failed=0
steps=()

# step NAME COMMAND...: runs a command with its output in NAME.log.
step() {
  local name=$1 start=$SECONDS
  shift
  "$@" > "$report/$name.log" 2>&1
  local code=$?
  local seconds=$((SECONDS - start))
  (( code == 0 )) || failed=1
  printf '%-12s %-6s %4d s\n' "$name" "$( (( code == 0 )) && echo passed || echo FAILED)" $seconds |
    tee -a "$report/report.txt"
  (( code == 0 )) || tail -n 5 "$report/$name.log" | sed 's/^/    /' | tee -a "$report/report.txt"
  steps+=("$(printf '{"name": "%s", "exit_code": %d, "seconds": %d}' "$name" $code $seconds)")
}

# shards NAME SUITE: a suite of tests in as many processes as `jobs` says.
shards() {
  local name=$1 suite=$2 pids=() code=0
  for (( shard = 0; shard < jobs; ++shard )); do
    GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$shard "$tilewright" "$suite" --gtest_color=no \
      --gtest_output="json:$report/$name.$shard.json" > "$report/$name.$shard.log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    wait "$pid" || code=1
  done
  cat "$report/$name".*.log
  return $code
}

# The four tools of compute-sanitizer on a small set of tests.
sanitize() {
  local tool=$1 sanitizer
  sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
  "$sanitizer" --tool "$tool" --error-exitcode 1 "$tilewright" gpu-tests --gtest_color=no \
    --gtest_filter='OnGpuSmall.*'
}

{
  date -u '+%Y-%m-%d %H:%M UTC'
  "$tilewright" --version
  uname -srm
  if command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>&1
  fi
} | tee "$report/report.txt"

step unit-tests shards unit unit-tests
step gpu-tests shards gpu gpu-tests
step launch-cost "$tilewright" launch-cost
tee -a "$report/report.txt" < "$report/launch-cost.log"
if ! command -v compute-sanitizer > /dev/null &&
   [[ ! -x ${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer ]]; then
  echo "compute-sanitizer not run: the CUDA Toolkit's compute-sanitizer was not found" |
    tee -a "$report/report.txt"
else
  for tool in memcheck racecheck synccheck initcheck; do
    step "$tool" sanitize "$tool"
  done
fi

{
  grep -hE '^\[  (FAILED|SKIPPED) +\] [A-Za-z]+[/.][^(]*$' "$report"/*.*.log | sort | uniq -c
  grep -hoE 'no GPU: .*' "$report"/*.*.log | sort | uniq -c
  grep -h '^emulator and GPU' "$report"/gpu.*.log | sort -V
} | tee -a "$report/report.txt"

{
  printf '{"passed": %s, "steps": [' "$( (( failed == 0 )) && echo true || echo false)"
  (IFS=,; printf '%s' "${steps[*]}")
  printf '], "tests": ['
  first=1
  for file in "$report"/{unit,gpu}.*.json; do
    [[ -s $file ]] || continue # a process that crashed leaves none
    (( first )) || printf ','
    first=0
    cat "$file"
  done
  printf ']}\n'
} > "$report/report.json"
exit $failed
