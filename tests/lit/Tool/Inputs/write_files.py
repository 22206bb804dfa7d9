"""Writes tensor files and files of IR, sound and hostile, into the folder given."""

import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)


def safetensors(name, entries, data=b"", length=None):
    header = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    length = len(header) if length is None else length
    (folder / name).write_bytes(struct.pack("<Q", length) + header + data)


def entry(shape, begin, end):
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


def npy(name, shape, data, length=None, dtype="<f4", fortran=False):
    header = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    length = len(header) if length is None else length
    (folder / name).write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", length) + header + data)


def floats(count):
    return struct.pack(f"<{count}f", *range(count))


# Sound: slopes of four heads, tensors of two positions and width 2.
npy("slopes.npy", (4,), floats(4))
npy("slopes-f64.npy", (4,), struct.pack("<4d", 0.5, 0.25, 0.125, 0), dtype="<f8")
npy("rank3.npy", (1, 2, 2), floats(4))
npy("qkv.npy", (1, 1, 2, 2), floats(4))
npy("fortran.npy", (1, 1, 2, 2), floats(4), fortran=True)

# Tensor files that end early, or say what is not so.
safetensors("truncated.safetensors", {"x": entry([4], 0, 16)}, floats(3))
safetensors("past-end.safetensors", {"x": entry([4], 1000, 1016)}, floats(4))
safetensors("overlap.safetensors", {"x": entry([2], 0, 8), "y": entry([2], 4, 12)}, floats(3))
safetensors("huge.safetensors", {"x": entry([2**62, 2**62], 0, 16)}, floats(4))
safetensors("long-header.safetensors", b"{}", length=2**63)
safetensors("nested.safetensors", b"[" * 200000)
npy("long-header.npy", (4,), b"", length=2**32 - 1)

# Files of IR.
(folder / "nested.mlir").write_text("func.func private @f() -> " + "tuple<" * 100000)
(folder / "other.mlir").write_text('func.func @f() {\n  "gpu.barrier"() : () -> ()\n  return\n}\n')
(folder / "empty.mlir").write_text("")
(folder / "bytecode.mlir").write_bytes(b"ML\xefR" + bytes(64))
