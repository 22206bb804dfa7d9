#!/usr/bin/env python3
"""Times Tilewright's GPU kernels beside those that people use instead, in one process.

    TILEWRIGHT_LIBRARY=build/release/lib/libtilewright_runtime.so \\
      python3 tests/bench/gpu_vs_peers.py [--head-dims 64,128,256] [--lengths 1024,4096,16384] \\
        [--fa3 libflash_attn_3.so] [--fa4 SITE_PACKAGES] --json figures.json
    python3 tests/bench/gpu_tables.py figures.json      # as Markdown, for docs/performance.md

Peers: PyTorch's scaled_dot_product_attention through cuDNN and through FlashAttention-2, and where
they are brought along FlashAttention-3 (a library that registers torch.ops.flash_attn_3) and
FlashAttention-4 (its package flash_attn.cute).

Method: random normal numbers, 16384 positions in all and 2048 / head_dim heads. Everybody's output is
compared with attention in f64 on sampled rows before anything is timed, and who is wrong is not
timed. Rounds of CUDA events, each starting with another contestant, the L2 cache overwritten before
every launch; a contestant's figure is the median of its rounds' medians, its ratio the median of the
ratios within a round. 4 T^2 d operations a head, half of them for causal. Clock and power are read
after each round.
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import site
import statistics
import subprocess
import sys

import torch
import torch.nn.functional
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/pytorch"))
import tilewright_torch as tilewright  # noqa: E402

POSITIONS, HIDDEN = 16384, 2048
# Of ||out - right|| / ||right||: a plain bf16 or f16 kernel stays below half of these.
TOLERANCE = {torch.bfloat16: 6e-3, torch.float16: 1e-3}


def torch_backend(backend):
    def attention(q, k, v, causal):
        with sdpa_kernel(backend), torch.no_grad():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return attention


def ours(q, k, v, causal):
    return tilewright.attention(q, k, v, mask="k <= q" if causal else None, return_lse=True)[0]


def flash_attention_3(library):
    torch.ops.load_library(library)

    def attention(q, k, v, causal):
        out = torch.ops.flash_attn_3.fwd(q, k, v, softmax_scale=q.shape[-1]**-0.5, is_causal=causal)
        return out[0]
    return attention


def flash_attention_4(packages):
    site.addsitedir(packages)
    from flash_attn.cute import interface

    def attention(q, k, v, causal):
        return interface._flash_attn_fwd(q, k, v, causal=causal)[0]
    return attention


class Contestant:
    """One kernel on one problem. FlashAttention-3 and -4 take [b, t, h, d]; each gets the layout it
    is made for."""

    def __init__(self, name, attention, transposed, inputs, causal):
        if transposed:
            inputs = [x.transpose(1, 2).contiguous() for x in inputs]
        self.name, self.transposed = name, transposed
        self.launch = lambda: attention(*inputs, causal)
        self.milliseconds, self.clocks, self.watts = [], [], []

    def output(self):
        out = self.launch()
        return out.transpose(1, 2) if self.transposed else out


def error_of(out, inputs, causal, samples=48):
    """||out - right|| / ||right|| on sampled rows of the first and the last head."""
    q, k, v = inputs
    length = q.shape[2]
    rows = torch.linspace(0, length - 1, samples, device=q.device).long().unique()
    wrong = norm = 0.0
    for head in (0, q.shape[1] - 1):
        queries, keys, values = (x[-1, head].double() for x in (q, k, v))
        scores = queries[rows] @ keys.T / math.sqrt(q.shape[3])
        if causal:
            scores.masked_fill_(torch.arange(length, device=q.device)[None] > rows[:, None], -math.inf)
        right = torch.softmax(scores, -1) @ values
        wrong += (out[-1, head, rows].double() - right).square().sum().item()
        norm += right.square().sum().item()
    return math.sqrt(wrong / norm)


class Clock:
    """Reads the SM clock (MHz) and the power (W); nothing where nvidia-smi is missing."""

    def read(self):
        with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
            text = subprocess.run(
                ["nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits", "-i", "0"],
                capture_output=True, text=True, timeout=5, check=True).stdout
            clock, watts = text.split(",")
            return float(clock), float(watts)
        return None, None


def time_once(contestant, flush, repeats):
    """The median of `repeats` launches in milliseconds, after as many unmeasured ones as warm up."""
    for _ in range(3):
        contestant.launch()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    for start, stop in events:
        flush.zero_()
        start.record()
        contestant.launch()
        stop.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(stop) for start, stop in events)


def run_cell(peers, dtype, head_dim, length, causal, options, flush, clock):
    shape = (max(1, POSITIONS // length), HIDDEN // head_dim, length, head_dim)
    generator = torch.Generator("cuda").manual_seed(head_dim * 31 + length)
    inputs = [torch.randn(shape, device="cuda", dtype=dtype, generator=generator) for _ in range(3)]
    cell = {"head_dim": head_dim, "length": length, "causal": causal, "dtype": str(dtype).split(".")[-1],
            "batch": shape[0], "heads": shape[1], "contestants": {}}
    runners = []
    for name, (attention, transposed) in peers.items():
        row = cell["contestants"][name] = {}
        try:
            contestant = Contestant(name, attention, transposed, inputs, causal)
            row["error"] = error_of(contestant.output(), inputs, causal)
        except Exception as error:  # a peer that refuses the problem is no reason to stop
            row["refused"] = f"{type(error).__name__}: {error}".splitlines()[0][:160]
            continue
        if row["error"] <= TOLERANCE[dtype]:
            runners.append(contestant)
        else:
            row["refused"] = "wrong result"
    operations = 4 * length**2 * head_dim * shape[0] * shape[1] / (2 if causal else 1)
    for round_number in range(options.rounds):
        first = round_number % max(1, len(runners))
        for contestant in runners[first:] + runners[:first]:
            contestant.milliseconds.append(time_once(contestant, flush, options.repeats))
            clock_mhz, watts = clock.read()
            contestant.clocks.append(clock_mhz)
            contestant.watts.append(watts)
    mine = next((c for c in runners if c.name == "tilewright"), None)
    for contestant in runners:
        rates = [operations / t / 1e9 for t in contestant.milliseconds]
        row = cell["contestants"][contestant.name]
        row.update(tflops=statistics.median(rates), spread=(max(rates) - min(rates)) / statistics.median(rates),
                   milliseconds=statistics.median(contestant.milliseconds), rounds=contestant.milliseconds,
                   clock_mhz=contestant.clocks, watts=contestant.watts)
        if mine and contestant is not mine:
            row["ratio"] = statistics.median(
                theirs / own for theirs, own in zip(contestant.milliseconds, mine.milliseconds))
    return cell


def describe(cell):
    parts = []
    for name, row in cell["contestants"].items():
        if "tflops" not in row:
            parts.append(f"{name}: {row.get('refused')}")
        else:
            ratio = f", x{row['ratio']:.2f}" if "ratio" in row else ""
            parts.append(f"{name} {row['tflops']:.0f} (spread {row['spread']:.0%}, error {row['error']:.1e}{ratio})")
    mask = "causal" if cell["causal"] else "full"
    return f"d={cell['head_dim']} T={cell['length']} {mask}: " + "; ".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    integers = lambda text: [int(part) for part in text.split(",")]
    parser.add_argument("--head-dims", type=integers, default=[64, 128, 256])
    parser.add_argument("--lengths", type=integers, default=[1024, 4096, 16384])
    parser.add_argument("--dtype", choices=["bfloat16", "float16"], default="bfloat16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20, help="launches a round")
    parser.add_argument("--fa3", metavar="LIBRARY")
    parser.add_argument("--fa4", metavar="SITE_PACKAGES")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("There is no GPU to measure.")

    peers = {"tilewright": (ours, False), "cudnn": (torch_backend(SDPBackend.CUDNN_ATTENTION), False),
             "fa2": (torch_backend(SDPBackend.FLASH_ATTENTION), False)}
    if options.fa3:
        peers["fa3"] = (flash_attention_3(options.fa3), True)
    if options.fa4:
        peers["fa4"] = (flash_attention_4(options.fa4), True)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")  # several times any L2
    figures = {"date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
               "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "rounds": options.rounds,
               "repeats": options.repeats, "cells": []}
    for head_dim in options.head_dims:
        for length in options.lengths:
            for causal in (False, True):
                cell = run_cell(peers, getattr(torch, options.dtype), head_dim, length, causal, options, flush, Clock())
                figures["cells"].append(cell)
                print(describe(cell), flush=True)
                if options.json:  # after every cell, so that a run cut short leaves what it has
                    with open(options.json, "w") as file:
                        json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
