#!/usr/bin/env python3
"""Times Tilewright's CPU kernels beside PyTorch's scaled_dot_product_attention, in one run.

usage: cpu_vs_pytorch.py [--bin build/release/bin] [--threads 1] [--rounds 5] [--dtype f32]

Each round times PyTorch, then Tilewright, then the machine's multiply-add peak, on random inputs of
the same shape; a shape's figures are medians over rounds, and its ratio is the median of the rounds'
ratios. GFLOP/s count 4 * T * T * d * heads operations, half of that for causal. PyTorch gets a dense
boolean mask where it has no other way to say a window. Needs PyTorch; ninja -C build/release
tilewright-peak-probe builds the probe.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import torch

SHAPES = [(1, 8, 2048, 64), (1, 16, 4096, 128), (1, 8, 1024, 80)]
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}


def cases():
    for shape in SHAPES:
        yield shape, "full", []
        yield shape, "causal", ["--preset", "causal"]
    yield (1, 8, 2048, 64), "window 256", ["--preset", "sliding-window=256"]


def time_pytorch(shape, kind, dtype, seconds=0.5, keys=None):
    """`keys` is their number where it is not that of the queries."""
    batch, heads, length, width = shape
    q = torch.randn(shape, dtype=dtype)
    k, v = (torch.randn((batch, heads, keys or length, width), dtype=dtype) for _ in range(2))
    options = {"is_causal": kind == "causal"}
    if kind.startswith("window"):
        distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        options = {"attn_mask": (distance >= 0) & (distance < int(kind.split()[1]))}
    attention = torch.nn.functional.scaled_dot_product_attention
    attention(q, k, v, **options)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        attention(q, k, v, **options)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def time_tilewright(bin_dir, shape, mask, dtype, threads, keys=None):
    batch, heads, length, width = shape
    command = [bin_dir / "tilewright", "run", "--head-dim", str(width), "--dtype", dtype, *mask,
               "--random", f"{batch},{heads},{heads},{length},{keys or length}",
               "--threads", str(threads), "--json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["time_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default="build/release/bin")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}, {arguments.dtype}, {arguments.threads} thread(s), "
          f"{arguments.rounds} rounds")
    print("| (B,H,T,d) | mask | PyTorch ms | Tilewright ms | GFLOP/s | of peak | ratio |")
    print("|---|---|---|---|---|---|---|")
    for shape, kind, mask in cases():
        ours, theirs, peaks = [], [], []
        for _ in range(arguments.rounds):
            theirs.append(time_pytorch(shape, kind, DTYPES[arguments.dtype]))
            ours.append(time_tilewright(arguments.bin, shape, mask, arguments.dtype,
                                        arguments.threads))
            probe = subprocess.run([arguments.bin / "tilewright-peak-probe"], check=True,
                                   capture_output=True, text=True)
            peaks.append(float(probe.stdout) * arguments.threads)
        batch, heads, length, width = shape
        work = 4 * batch * heads * length * length * width / (2 if kind == "causal" else 1) / 1e9
        speed = work / statistics.median(ours)
        counted = kind in ("full", "causal")
        share = f"{100 * speed / statistics.median(peaks):.0f} %" if counted else "-"
        ratio = statistics.median(t / o for t, o in zip(theirs, ours))
        print(f"| {','.join(map(str, shape))} | {kind} | {1e3 * statistics.median(theirs):.1f} | "
              f"{1e3 * statistics.median(ours):.1f} | {f'{speed:.0f}' if counted else '-'} | {share} | "
              f"{ratio:.2f} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
