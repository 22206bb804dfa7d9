"""compare.py FILE FILE ENTRY LIMIT: prints how far an entry of two safetensors files differs, and
fails beyond LIMIT. The entry is bf16 or f32."""

import json
import struct
import sys


def read(path, name):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        entry = json.loads(file.read(length))[name]
        begin, end = entry["data_offsets"]
        file.seek(8 + length + begin)
        data = file.read(end - begin)
    if entry["dtype"] == "BF16":  # the upper half of an f32
        halves = (data[i : i + 2] for i in range(0, len(data), 2))
        data = b"".join(b"\0\0" + half for half in halves)
    return entry["shape"], struct.unpack(f"<{len(data) // 4}f", data)


first, second, name, limit = sys.argv[1:]
(shape, a), (other_shape, b) = read(first, name), read(second, name)
if shape != other_shape:
    sys.exit(f"shapes {shape} and {other_shape} differ")
error = max(abs(x - y) for x, y in zip(a, b))
print(f"{name}: the largest difference of {len(a)} elements is {error:.2g}")
if not error <= float(limit):
    sys.exit(f"the limit is {limit}")
