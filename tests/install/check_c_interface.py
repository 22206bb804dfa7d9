"""Compiles and runs kernels through the C interface of an installed Tilewright, by ctypes alone.

Usage: check_c_interface.py LIBTILEWRIGHT_RUNTIME

The structures are those of examples/pytorch/tilewright_torch.py, with a stand-in for torch: what is
tested here is that file's view of the interface and the way from it to the compiler library.
"""

import ctypes
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))


def import_example():
    """The example without PyTorch, which the machines that test this do not have."""
    torch = types.ModuleType("torch")
    for name in ("float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "Tensor"):
        setattr(torch, name, name)
    sys.modules.setdefault("torch", torch)
    sys.path.insert(0, os.path.join(HERE, "../../examples/pytorch"))
    import tilewright_torch
    return tilewright_torch


F32, SHAPE = 1, (1, 2, 7, 4)


def view(example, array, shape):
    tensor = example._Tensor(ctypes.cast(array, ctypes.c_void_p), F32, len(shape))
    step = 1
    for i in reversed(range(len(shape))):
        tensor.shape[i], tensor.strides[i] = shape[i], step
        step *= shape[i]
    return tensor


def right_row(q, k, v, head, row, window):
    _, _, length, width = SHAPE
    at = lambda x, t: x[(head * length + t) * width:(head * length + t + 1) * width]
    weights = {key: math.exp(sum(a * b for a, b in zip(at(q, row), at(k, key))) / math.sqrt(width))
               for key in range(length) if key <= row and row - key < window}
    total = sum(weights.values())
    return [sum(weight / total * at(v, key)[i] for key, weight in weights.items()) for i in range(width)]


def expect_refusal(example, kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), f"{text!r} is not in {error}"
    else:
        raise AssertionError(f"was not refused: {text}")


def expect_that_a_runtime_alone_says_so(runtime):
    """In a process of its own, since a compiler library that is loaded once would be found again."""
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(os.path.realpath(runtime), folder)
        code = (f"import sys; sys.path.insert(0, {HERE!r}); import check_c_interface as check\n"
                "example = check.import_example()\n"
                "try: example._compile('cpu', None, None, 4, 4, 1, 1, False, (), (), (), ())\n"
                "except example.Unsupported as error: print(error)\n")
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env=os.environ | {"TILEWRIGHT_LIBRARY": alone}).stdout
        assert said.startswith("this installation only runs kernels: the compiler library cannot be opened"), said


def main():
    os.environ["TILEWRIGHT_LIBRARY"] = sys.argv[1]
    expect_that_a_runtime_alone_says_so(sys.argv[1])
    example = import_example()
    compile_kernel = lambda mask, scalars: example._compile(
        "cpu", None, None, SHAPE[3], SHAPE[3], F32, F32, False, (), (mask,), scalars, ())
    kernel = compile_kernel("k <= q && q - k < window", (("window", False),))

    count = math.prod(SHAPE)
    random.seed(1)
    q, k, v = ((ctypes.c_float * count)(*[random.gauss(0, 1) for _ in range(count)]) for _ in range(3))
    out = (ctypes.c_float * count)(*[math.nan] * count)
    arguments = example._Arguments(*[view(example, x, SHAPE) for x in (q, k, v, out)])
    arguments.scalars = example._array(example._NamedScalar, [example._NamedScalar(b"window", 3)])
    arguments.scalar_count = 1
    library = example._library()
    sizes, size = example._Sizes(*SHAPE[:2], *SHAPE[1:3], SHAPE[2]), ctypes.c_size_t()
    example._check(library.tilewright_kernel_workspace_size(kernel.handle, ctypes.byref(sizes), ctypes.byref(size)))
    workspace = ctypes.create_string_buffer(size.value)
    launch = lambda execution=None: example._check(library.tilewright_kernel_launch(
        kernel.handle, ctypes.byref(arguments), workspace, size, execution))
    asked = []
    work_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    executor_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, work_type, ctypes.c_void_p, ctypes.c_uint32)

    @executor_type
    def executor(context, work, argument, threads):
        asked.append((context, threads))
        work(argument)

    with_executor = example._Execution(2, None, ctypes.cast(executor, ctypes.c_void_p), 7)
    launch(ctypes.byref(with_executor))
    assert asked and set(asked) == {(7, 2)}, asked
    on_executor, out[:] = list(out), [math.nan] * count
    launch()
    assert list(out) == on_executor, "the library's own threads compute other bits"
    width, length = SHAPE[3], SHAPE[2]
    for head in range(SHAPE[1]):
        for row in range(length):
            got = out[(head * length + row) * width:(head * length + row + 1) * width]
            for x, y in zip(got, right_row(q, k, v, head, row, 3)):
                assert abs(x - y) < 1e-5, (head, row, x, y)

    # What a caller does wrong is said in a sentence that names it.
    arguments.scalars = example._array(example._NamedScalar, [example._NamedScalar(b"window", 3)] * 2)
    arguments.scalar_count = 2
    expect_refusal(example, example.InvalidArgument, "scalars has 'window' twice", launch)
    arguments.scalar_count = 2**64 - 1
    expect_refusal(example, example.InvalidArgument, "no kernel takes more than 64", launch)
    arguments.scalar_count = 1
    with tempfile.TemporaryDirectory() as folder:
        fifo, empty = os.path.join(folder, "fifo"), os.path.join(folder, "empty")
        os.mkfifo(fifo)
        open(empty, "wb").close()
        expect_refusal(example, example.InvalidArgument, "a pipe, a socket or a device", lambda: example.load(fifo))
        expect_refusal(example, example.InvalidArgument, "it is empty", lambda: example.load(empty))
        expect_refusal(example, example.InvalidArgument, "it is a folder", lambda: example.load(folder))
    expect_refusal(example, example.InvalidArgument, "windw", lambda: compile_kernel("k < windw", ()))
    arguments.scalars[0].value = 2.5
    expect_refusal(example, example.InvalidArgument, "scalar 'window' is 2.5", launch)
    arguments.scalar_count = 0
    expect_refusal(example, example.InvalidArgument, "scalar 'window' is missing", launch)
    arguments.query.rank = 9
    expect_refusal(example, example.InvalidArgument, "query has rank 9; the limit is 8", launch)
    expect_refusal(example, example.InvalidArgument, "target", lambda: example._compile(
        "sm_1", None, None, 4, 4, F32, F32, False, (), (), (), ()))
    print("the C interface computes what it should and refuses what it must")


if __name__ == "__main__":
    main()
