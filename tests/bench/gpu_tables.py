#!/usr/bin/env python3
"""Prints what gpu_vs_peers.py measured as Markdown, for docs/performance.md.

    python3 tests/bench/gpu_tables.py figures.json
"""

import json
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        figures = json.load(file)
    names = list(dict.fromkeys(name for cell in figures["cells"] for name in cell["contestants"]))
    peers = [name for name in names if name != "tilewright"]
    print(f"{figures['date']}, {figures['device']}, PyTorch {figures['torch']}, cuDNN {figures['cudnn']}; medians of "
          f"{figures['rounds']} rounds of {figures['repeats']}; TFLOP/s, and how many times as fast Tilewright is.\n")
    print("| d | T | mask | tilewright | " + " | ".join(peers) + " |")
    print("|" + "---|" * (4 + len(peers)))
    for cell in figures["cells"]:
        columns = [str(cell["head_dim"]), str(cell["length"]), "causal" if cell["causal"] else "full"]
        for name in ["tilewright"] + peers:
            row = cell["contestants"].get(name, {})
            if "tflops" not in row:
                columns.append(row.get("refused", "not run"))
            else:
                columns.append(f"{row['tflops']:.0f}" + (f" ({row['ratio']:.2f})" if "ratio" in row else ""))
        print("| " + " | ".join(columns) + " |")


if __name__ == "__main__":
    main()
