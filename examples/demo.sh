#!/bin/bash
# From a bare Debian 12 machine to a running kernel: installs what is missing, builds, makes a kernel
# for a mask that nobody has a name for, shows what it became, and runs it on tensors of a real model.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/install-dependencies.sh
echo "Building build/release (some minutes the first time)"
configured=$(cmake --preset release 2>&1) || { echo "$configured"; exit 1; }
cmake --build --preset release --target tilewright

# tilewright ARGUMENTS...: shows the command, then runs it.
exec 3>&1
bold="" plain=""
if [[ -t 1 ]]; then bold="\033[1m" plain="\033[0m"; fi
tilewright() {
  local argument shown="build/release/bin/tilewright"
  for argument in "$@"; do
    [[ $argument =~ ^[[:alnum:]_.,:/=-]+$ ]] || argument="'$argument'"
    shown+=" $argument"
  done
  printf "\n$bold\$ %s$plain\n" "$shown" >&3
  build/release/bin/tilewright "$@"
}
say() { printf '\n%s\n' "$*"; }

# A streaming model: a query sees a window of the past, and a few keys ahead.
mask=(--mask 'k <= q + ahead && q - k < window' --scalar ahead=4 --scalar window=64)
real=examples/data/minilm-qkv.safetensors:layer0

say "The problem as IR: one op, with the mask as a region (excerpt)."
tilewright compile --head-dim 32 "${mask[@]}" --emit=attn | sed -n '/mask {/,/attn.yield/p' | sed 's/.*mask {/... mask {/'

say "As a program on tiles: the loop over key blocks that the mask does not touch (types left out)."
tilewright compile --head-dim 32 "${mask[@]}" --emit=tile |
  sed -n -E 's/ : [tmif].*| -> \(.*//; s/^      //; /block_ranges/p; /for .* %full_begin to/,/yield/p'

say "Which blocks of the score matrix it visits, and what that costs."
tilewright explain --head-dim 32 "${mask[@]}" --lengths 150,150 --heads 12 --schedule block_q=8,block_kv=8

say "On queries, keys and values of a real model (examples/data), against a reference in f64."
tilewright run --head-dim 32 "${mask[@]}" --q $real.q --k $real.k --v $real.v --check

say "The same mask with widths nobody tunes for, bf16, grouped heads, and random tensors."
tilewright run --head-dim 40,24 --dtype bf16 "${mask[@]}" --random 2,8,2,1000,1000 --check
