#!/usr/bin/env python3
"""Times Tilewright's CPU kernels beside PyTorch's scaled_dot_product_attention, in one process and on the
same tensors.

usage: cpu_vs_pytorch.py [--peak-probe build/release/bin/tilewright-peak-probe] [--dtypes f32,bf16]
       [--threads 1,2] [--rounds 5] [--avx2] [--json FILE]

Outputs are compared with attention in f64 first. Then each round times PyTorch, Tilewright and the
machine's multiply-add peak, in turns; a cell's figures are medians over rounds, and its ratio is the median
of the rounds' ratios. One thread is timed by the process's processor time, since others may share the
machine; more by the clock on the wall. GFLOP/s count 4 T T d for each head, half of that for causal.
PyTorch gets a dense boolean mask where it has no other way to say a window. --avx2 keeps both libraries
from AVX-512. Needs PyTorch, and TILEWRIGHT_LIBRARY as examples/pytorch/tilewright_torch.py does;
ninja -C build/release tilewright-peak-probe builds the probe.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

if "--avx2" in sys.argv:  # read when these libraries are loaded
    os.environ.update(ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2", MKL_ENABLE_INSTRUCTIONS="AVX2",
                      DNNL_MAX_CPU_ISA="AVX2")

import torch  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/pytorch"))
import tilewright_torch as tilewright  # noqa: E402

SHAPES = [(1, 8, 2048, 64), (1, 16, 4096, 128), (1, 8, 1024, 80)]
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}
# Of ||out - right|| / ||right||: f32 sums of thousands of terms, and roundings of the output.
TOLERANCE = {"f32": 3e-6, "f64": 1e-14, "bf16": 8e-3, "f16": 1e-3}


def cases():
    for shape in SHAPES:
        yield shape, "full"
        yield shape, "causal"
    yield (1, 8, 2048, 64), "window 256"


class Contest:
    """Both libraries on one problem; `keys` is their number where it is not that of the queries."""

    def __init__(self, shape, kind, dtype, threads, keys=None, kv_heads=None, cpu=None):
        batch, heads, length, width = shape
        self.kind, self.dtype, self.threads = kind, dtype, threads
        kv_shape = (batch, kv_heads or heads, keys or length, width)
        self.q = torch.randn(shape).to(DTYPES[dtype])
        self.k, self.v = (torch.randn(kv_shape).to(DTYPES[dtype]) for _ in range(2))
        options = {"is_causal": kind == "causal", "enable_gqa": kv_shape[1] != heads}
        mask = "k <= q" if kind == "causal" else None
        if kind.startswith("window"):
            window = int(kind.split()[1])
            distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
            options["attn_mask"] = (distance >= 0) & (distance < window)
            mask = f"k <= q && q - k < {window}"
        self.visible = options.get("attn_mask")
        self.pytorch = lambda: torch.nn.functional.scaled_dot_product_attention(self.q, self.k, self.v, **options)
        self.tilewright = tilewright.prepare(self.q, self.k, self.v, mask=mask, threads=threads, cpu=cpu)

    def error(self):
        """||out - right|| / ||right|| of both libraries, on sampled rows of the first and last head."""
        length, keys = self.q.shape[2], self.k.shape[2]
        rows = torch.linspace(0, length - 1, min(length, 48)).long().unique()
        wrong, norm = [0.0, 0.0], 0.0
        outs = [self.tilewright(), self.pytorch()]
        group = self.q.shape[1] // self.k.shape[1]
        for head in {0, self.q.shape[1] - 1}:
            scores = self.q[-1, head, rows].double() @ self.k[-1, head // group].double().T / self.q.shape[3]**0.5
            if self.kind == "causal":
                scores.masked_fill_(torch.arange(keys)[None] > rows[:, None], -torch.inf)
            elif self.visible is not None:
                scores.masked_fill_(~self.visible[rows], -torch.inf)
            right = torch.softmax(scores, -1) @ self.v[-1, head // group].double()
            norm += right.square().sum().item()
            for i, out in enumerate(outs):
                wrong[i] += (out[-1, head, rows].double() - right).square().sum().item()
        return [(each / norm)**0.5 for each in wrong]

    def time(self, launch, seconds):
        clock = time.process_time if self.threads == 1 else time.perf_counter
        start = clock()
        launch()
        first = max(clock() - start, 1e-7)
        repeats = max(1, int(1e-3 / first))  # a clock's own cost is no part of it
        times, end = [], time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = clock()
            for _ in range(repeats):
                launch()
            times.append((clock() - start) / repeats)
        return statistics.median(times)

    def round(self, seconds=0.4):
        torch.set_num_threads(self.threads)
        return self.time(self.pytorch, seconds), self.time(self.tilewright, seconds)


def probe(program, what):
    return float(subprocess.run([program, what], check=True, capture_output=True, text=True).stdout)


def run_cell(shape, kind, dtype, threads, options):
    contest = Contest(shape, kind, dtype, threads, cpu="haswell" if options.avx2 else None)
    ours, theirs = contest.error()
    if not ours <= TOLERANCE[dtype]:
        sys.exit(f"{shape} {kind} {dtype}: the relative error is {ours:.1e}; the limit is {TOLERANCE[dtype]:.1e}")
    what = "avx2" if options.avx2 else "amx" if dtype == "bf16" and probe(options.peak_probe, "amx") else "f32"
    rounds, peaks = [], []
    for _ in range(options.rounds):
        rounds.append(contest.round())
        peaks.append(probe(options.peak_probe, what) * threads)
    pytorch, tilewright_time = (statistics.median(times) for times in zip(*rounds))
    batch, heads, length, width = shape
    work = 4 * batch * heads * length * length * width / (2 if kind == "causal" else 1) / 1e9
    counted = kind in ("full", "causal")
    return {"shape": shape, "kind": kind, "dtype": dtype, "threads": threads, "pytorch_ms": 1e3 * pytorch,
            "tilewright_ms": 1e3 * tilewright_time, "error": ours, "pytorch_error": theirs,
            "gflops": work / tilewright_time if counted else None, "peak": what,
            "of_peak": work / tilewright_time / statistics.median(peaks) if counted else None,
            "ratio": statistics.median(theirs / ours for theirs, ours in rounds)}


def describe(cell):
    speed, share = (f"{cell['gflops']:.0f}", f"{100 * cell['of_peak']:.0f} % of {cell['peak']}") if cell["gflops"] \
        else ("", "")
    return (f"| {','.join(map(str, cell['shape']))} | {cell['kind']} | {cell['dtype']} | {cell['threads']} | "
            f"{cell['pytorch_ms']:.1f} | {cell['tilewright_ms']:.1f} | {speed} | {share} | {cell['ratio']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: text.split(",")
    parser.add_argument("--peak-probe", default="build/release/bin/tilewright-peak-probe")
    parser.add_argument("--dtypes", type=names, default=["f32"])
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--avx2", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()}), {options.rounds} rounds")
    print("| (B,H,T,d) | mask | dtype | threads | PyTorch ms | Tilewright ms | GFLOP/s | of peak | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    cells = []
    for dtype in options.dtypes:
        for threads in options.threads:
            for shape, kind in cases():
                cells.append(run_cell(shape, kind, dtype, threads, options))
                print(describe(cells[-1]), flush=True)
                if options.json:  # after every cell, so that a run cut short leaves what it has
                    with open(options.json, "w") as file:
                        json.dump(cells, file, indent=1)


if __name__ == "__main__":
    main()
