#!/usr/bin/env python3
"""Lists shapes where Tilewright's CPU kernels are slower than PyTorch's scaled_dot_product_attention.

usage: cpu_sweep.py [--bin build/release/bin] [--threads 1] [--shapes 60] [--seed 1] [--rounds 3]

Draws lengths from 1 to 4096 and widths from 8 to 256, both evenly on a logarithmic scale, with one
query as often as with as many queries as keys, full and causal. Both libraries take turns on a shape;
its ratio is the median of the rounds' ratios. Needs PyTorch.
"""

import argparse
import pathlib
import random
import statistics

import torch

from cpu_vs_pytorch import DTYPES, time_pytorch, time_tilewright


def draw(source):
    def between(low, high):
        return round(low * (high / low) ** source.random())

    keys = between(1, 4096)
    width = min(256, 8 * max(1, round(between(8, 256) / 8)))
    heads = source.choice([1, 4, 8])
    is_decode = source.random() < 0.5
    kind = "full" if is_decode else source.choice(["full", "causal"])
    return (1, heads, 1 if is_decode else keys, width), keys, kind


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default="build/release/bin")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shapes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    source = random.Random(arguments.seed)
    behind = 0
    for _ in range(arguments.shapes):
        shape, keys, kind = draw(source)
        mask = ["--preset", "causal"] if kind == "causal" else []
        ratios = []
        for _ in range(arguments.rounds):
            theirs = time_pytorch(shape, kind, DTYPES[arguments.dtype], seconds=0.2, keys=keys)
            ours = time_tilewright(arguments.bin, shape, mask, arguments.dtype, arguments.threads,
                                   keys=keys)
            ratios.append(theirs / ours)
        ratio = statistics.median(ratios)
        behind += ratio < 1
        print(f"{'BEHIND' if ratio < 1 else '      '} {ratio:6.2f}  (B,H,Tq,d) = {shape}, Tk = {keys}, "
              f"{kind}", flush=True)
    print(f"{behind} of {arguments.shapes} shapes are behind PyTorch")


if __name__ == "__main__":
    main()
