#!/bin/bash
# Usage: install-ptxas.sh FOLDER. Where this machine has no CUDA Toolkit, brings NVIDIA's assembler into
# FOLDER, from the Python package that holds it. Prints what CUDA_HOME must be for it to be found, or
# nothing where the toolkit is found by itself.
set -euo pipefail

if [[ -x ${CUDA_HOME:-/usr/local/cuda}/bin/ptxas || -x /usr/local/cuda/bin/ptxas ]] || command -v ptxas > /dev/null; then
  exit 0
fi
home=$1/nvidia/cu13
if [[ ! -x $home/bin/ptxas ]]; then
  echo "Installing the Python package nvidia-cuda-nvcc into $1" >&2
  python3 -m pip install --quiet --no-deps --target "$1" 'nvidia-cuda-nvcc==13.0.*' >&2
fi
echo "$home"
