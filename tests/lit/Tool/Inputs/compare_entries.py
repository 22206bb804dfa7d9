"""compare_entries.py FILE ENTRY FILE ENTRY LIMIT: fails if two f32 entries differ by more than LIMIT."""

import json
import struct
import sys


def read(path, name):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        entry = json.loads(file.read(length))[name]
        begin, end = entry["data_offsets"]
        file.seek(8 + length + begin)
        assert entry["dtype"] == "F32", entry
        return entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", file.read(end - begin))


(shape_a, a), (shape_b, b) = read(*sys.argv[1:3]), read(*sys.argv[3:5])
if shape_a != shape_b:
    sys.exit(f"shapes {shape_a} and {shape_b} differ")
error = max(abs(x - y) for x, y in zip(a, b))
if not error <= float(sys.argv[5]):
    sys.exit(f"the largest difference is {error}")
