#!/usr/bin/env python3
"""Runs a forward kernel on a Hopper GPU and compares it with attention in f64.

    tilewright-ptx kernel.mlir --emit=cubin -o kernel.cubin
    tilewright-ptx kernel.mlir --emit=kernels -o kernel.json
    python3 run_forward.py kernel.cubin kernel.json [--causal] [--time]

The kernel's arguments are query, key, value, out [b, h, t, d], lse [b, h, t] and scale, one block
for as many queries as its query box has rows. Needs numpy and NVIDIA's driver, nothing else.
"""

import argparse
import ctypes
import json
import math
import sys

import numpy

TENSOR_MAP_DTYPE = {"bf16": 9, "f16": 6}
SWIZZLE_128B, PROMOTE_128B = 3, 2
MAX_DYNAMIC_SHARED_MEMORY = 8


class Driver:
    """The calls of the CUDA driver that a launch takes; a failure names the call."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else code}")

    def upload(self, array):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 16)))
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(array.nbytes))
        return address

    def download(self, address, array):
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), address,
                  ctypes.c_size_t(array.nbytes))

    def free(self, address):
        self.call("cuMemFree_v2", address)

    def load(self, cubin, name, shared_memory):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_MEMORY, shared_memory)
        return function

    def tensor_map(self, dtype, address, shape, strides, rows):
        """Of a tensor [.., t, d] of 2-byte elements; shape and strides outermost first."""
        rank = len(shape)
        raw = (ctypes.c_uint8 * 192)()
        offset = -ctypes.addressof(raw) % 64
        encoded = (ctypes.c_uint8 * 128).from_buffer(raw, offset)
        extents = (ctypes.c_uint64 * rank)(*reversed(shape))
        bytes_between = (ctypes.c_uint64 * (rank - 1))(*[2 * s for s in reversed(strides[:-1])])
        box = (ctypes.c_uint32 * rank)(64, rows, *[1] * (rank - 2))
        ones = (ctypes.c_uint32 * rank)(*[1] * rank)
        self.call("cuTensorMapEncodeTiled", ctypes.byref(encoded), TENSOR_MAP_DTYPE[dtype], rank,
                  address, extents, bytes_between, box, ones, 0, SWIZZLE_128B, PROMOTE_128B, 0)
        return encoded


def to_bits(values, dtype):
    if dtype == "f16":
        return values.astype(numpy.float16).view(numpy.uint16)
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def from_bits(bits, dtype):
    if dtype == "f16":
        return bits.view(numpy.float16).astype(numpy.float64)
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)


def row_major(shape):
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def launch_arguments(driver, kernel, dtype, tensors, scale):
    """One ctypes value a parameter. `tensors`: address, shape and strides of each argument."""
    values = []
    for parameter in kernel["parameters"]:
        kind, argument, detail = parameter["kind"], parameter["argument"], parameter["detail"]
        if kind == "scalar":
            values.append(ctypes.c_float(scale))
            continue
        address, shape, strides = tensors[argument]
        if kind == "address":
            values.append(ctypes.c_uint64(address.value))
        elif kind == "extent":
            values.append(ctypes.c_int64(shape[detail]))
        elif kind == "stride":
            values.append(ctypes.c_int64(strides[detail]))
        else:
            values.append(driver.tensor_map(dtype, address, shape, strides, detail))
    return values


def attention(query, key, value, scale, causal, rows):
    """O and LSE in f64 for chosen rows of one head."""
    scores = scale * query[rows] @ key.T
    if causal:
        scores = numpy.where(numpy.arange(key.shape[0])[None, :] <= rows[:, None], scores, -numpy.inf)
    top = scores.max(axis=1, keepdims=True)
    weights = numpy.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total @ value, (top + numpy.log(total))[:, 0]


class Case:
    def __init__(self, driver, options, kernel, function, batch, heads, key_heads, q_len, kv_len):
        self.driver, self.kernel, self.function = driver, kernel, function
        self.dtype, self.causal = options.dtype, options.causal
        d = self.d = options.head_dim
        self.heads, self.group = heads, heads // key_heads
        random = numpy.random.default_rng(q_len * 7 + kv_len)
        shapes = [(batch, heads, q_len, d), (batch, key_heads, kv_len, d), (batch, key_heads, kv_len, d)]
        self.inputs = [to_bits(random.standard_normal(s, dtype=numpy.float32), self.dtype) for s in shapes]
        self.out = numpy.full((batch, heads, q_len, d), 0x7FFF, numpy.uint16)  # NaN
        self.lse = numpy.full((batch, heads, q_len), numpy.nan, numpy.float32)
        self.scale = 1 / math.sqrt(d)
        arrays = self.inputs + [self.out, self.lse]
        self.addresses = [driver.upload(a) for a in arrays]
        tensors = [(x, a.shape, row_major(a.shape)) for x, a in zip(self.addresses, arrays)]
        self.values = launch_arguments(driver, kernel, self.dtype, tensors, self.scale)
        self.pointers = (ctypes.c_void_p * len(self.values))(*[ctypes.addressof(v) for v in self.values])
        block_q = next(p["detail"] for p in kernel["parameters"]
                       if p["kind"] == "tensor_map" and p["argument"] == 0)
        self.blocks = batch * heads * -(-q_len // block_q)

    def launch(self):
        self.driver.call("cuLaunchKernel", self.function, self.blocks, 1, 1, self.kernel["threads"], 1, 1,
                         self.kernel["shared_memory"], None, self.pointers, None)

    def check(self):
        self.launch()
        self.driver.call("cuCtxSynchronize")
        self.driver.download(self.addresses[3], self.out)
        self.driver.download(self.addresses[4], self.lse)
        query, key, value = [from_bits(x, self.dtype) for x in self.inputs]
        q_len = query.shape[2]
        rows = numpy.unique(numpy.linspace(0, q_len - 1, min(q_len, 64)).astype(int))
        out = from_bits(self.out, self.dtype)
        error = norm = lse_error = 0.0
        for b in range(query.shape[0]):
            for h in range(query.shape[1]):
                o, lse = attention(query[b, h], key[b, h // self.group], value[b, h // self.group],
                                   self.scale, self.causal, rows)
                error += float(((out[b, h][rows] - o) ** 2).sum())
                norm += float((o**2).sum())
                lse_error = max(lse_error, float(numpy.abs(self.lse[b, h][rows] - lse).max()))
        relative = math.sqrt(error / norm)
        passed = relative < (0.004 if self.dtype == "bf16" else 0.001) and lse_error < 1e-4
        passed &= bool(numpy.isfinite(out).all() and numpy.isfinite(self.lse).all())
        print(f"{'ok  ' if passed else 'FAIL'} q {query.shape} k {key.shape}: O {relative:.2e} LSE {lse_error:.1e}")
        return passed

    def time(self, repeats=20):
        start, stop = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (start, stop):
            self.driver.call("cuEventCreate", ctypes.byref(event), 0)
        for _ in range(5):
            self.launch()
        best = []
        for _ in range(repeats):
            self.driver.call("cuEventRecord", start, None)
            self.launch()
            self.driver.call("cuEventRecord", stop, None)
            self.driver.call("cuEventSynchronize", stop)
            elapsed = ctypes.c_float()
            self.driver.call("cuEventElapsedTime_v2" if hasattr(self.driver.library, "cuEventElapsedTime_v2")
                             else "cuEventElapsedTime", ctypes.byref(elapsed), start, stop)
            best.append(elapsed.value)
        milliseconds = sorted(best)[len(best) // 2]
        batch, heads, q_len, d = self.out.shape
        flop = 4 * batch * heads * q_len * self.inputs[1].shape[2] * d / (2 if self.causal else 1)
        print(f"     median {milliseconds:.3f} ms, {flop / milliseconds / 1e9:.0f} TFLOP/s")

    def free(self):
        for address in self.addresses:
            self.driver.free(address)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cubin")
    parser.add_argument("kernels")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--dtype", choices=["bf16", "f16"], default="bf16")
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    driver = Driver()
    with open(options.kernels) as file:
        kernel = json.loads(file.readline())
    with open(options.cubin, "rb") as file:
        function = driver.load(file.read(), kernel["name"], kernel["shared_memory"])
    passed = True
    sizes = [(1, 1, 1, 64, 64), (1, 2, 1, 128, 128), (2, 4, 2, 1, 1), (1, 2, 2, 63, 65), (1, 2, 2, 129, 127),
             (2, 3, 1, 300, 300), (1, 4, 4, 1000, 1000), (1, 2, 2, 4097, 4097)]
    for size in sizes:
        case = Case(driver, options, kernel, function, *size)
        passed &= case.check()
        case.free()
    if options.time:
        for q_len in (1024, 4096, 16384):
            heads = 2048 // options.head_dim
            case = Case(driver, options, kernel, function, 16384 // q_len, heads, heads, q_len, q_len)
            case.time()
            case.free()
    sys.exit(0 if passed else 1)


main()
