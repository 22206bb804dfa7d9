#!/usr/bin/env python3
"""Lists shapes where Tilewright's CPU kernels are slower than PyTorch's scaled_dot_product_attention.

usage: cpu_sweep.py [--threads 1] [--shapes 60] [--seed 1] [--rounds 3] [--dtype f32]

Draws lengths from 1 to 4096 and widths from 8 to 256, both evenly on a logarithmic scale, with one
query as often as with as many queries as keys, full and causal. Measures as cpu_vs_pytorch.py does.
"""

import argparse
import random
import statistics

from cpu_vs_pytorch import DTYPES, TOLERANCE, Contest


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shapes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    options = parser.parse_args()
    source = random.Random(options.seed)
    behind = 0
    for _ in range(options.shapes):
        shape, keys, kind = draw(source)
        contest = Contest(shape, kind, options.dtype, options.threads, keys=keys)
        error = contest.error()[0]
        ratio = statistics.median(theirs / ours
                                  for theirs, ours in (contest.round(0.1) for _ in range(options.rounds)))
        behind += ratio < 1
        note = "" if error <= TOLERANCE[options.dtype] else f", WRONG: relative error {error:.1e}"
        print(f"{'BEHIND' if ratio < 1 else '      '} {ratio:6.2f}  (B,H,Tq,d) = {shape}, Tk = {keys}, "
              f"{kind}{note}", flush=True)
    print(f"{behind} of {options.shapes} shapes are behind PyTorch")


if __name__ == "__main__":
    main()
