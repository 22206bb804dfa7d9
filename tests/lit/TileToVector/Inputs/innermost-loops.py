"""Reads x86 assembly and prints, for each innermost loop that multiplies and adds, its instructions of
that kind, its broadcasts, and its accesses to the stack frame by name."""
import re
import sys

lines = [line.strip() for line in sys.stdin]
labels = {m[1]: i for i, line in enumerate(lines) if (m := re.match(r"(\.L\w+):", line))}
loops = []
for end, line in enumerate(lines):
    jump = re.match(r"j\w+\s+(\.L\w+)", line)
    if jump and labels.get(jump[1], end) < end:
        loops.append((labels[jump[1]], end))
for begin, end in loops:
    if any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops):
        continue
    body = lines[begin:end]
    multiply_adds = sum("vfmadd" in line for line in body)
    if multiply_adds:
        broadcasts = sum("vbroadcast" in line for line in body)
        frame = sum("(%rsp" in line or "(%rbp" in line for line in body)
        print(f"loop: {multiply_adds} multiply-adds, {broadcasts} broadcasts, {frame} frame accesses")
